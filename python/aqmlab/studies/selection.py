"""Presents some trials of several campaigns as the results of one campaign."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.manifest import Manifest, TrialEntry
from aqmlab.campaign.store.parquet_guard import size_of
from aqmlab.campaign.store.snapshot import Snapshot, take
from aqmlab.campaign.store.table_files import FileState, TableFiles, state_of
from aqmlab.campaign.trial_facts import kinds_in
from aqmlab.results.narrowing import trials_named, with_digests
from aqmlab.results.results import CampaignResults
from aqmlab.results.spans import of_trial
from aqmlab.results.stored_tables import refuse_fork, scan_files

if TYPE_CHECKING:
    import polars as pl

SCENARIO = "scenario"
"""The condition that distinguishes trials of several scenarios."""


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign's folder, its wanted trials, and their scenario."""

    folder: Path
    wanted: frozenset[str]
    scenario: str


_MOST_KEPT_BYTES = 2**26
"""The maximum memory of all tables that are kept for several selections, in bytes."""


@dataclass(frozen=True)
class _Kept:
    """A table that was read, and the states of its files at that time."""

    states: Sequence[FileState | None]
    size_bytes: int
    """The memory of the rows, estimated before they were read."""
    rows: pl.DataFrame | None
    """The rows, or `None` if they are read for each query."""


class Snapshots:
    """The snapshots of complete campaigns, which the selections of several figures share.

    Each figure would otherwise read the manifest and verify the table files again, and decode the
    same tables.
    """

    def __init__(self) -> None:
        self._taken: dict[Path, tuple[FileState | None, Snapshot]] = {}
        self._kept: dict[tuple[Path, ...], _Kept] = {}
        self._left_bytes = _MOST_KEPT_BYTES

    def take(self, path: Path) -> Snapshot:
        """The snapshot of the folder at `path`.

        It is taken again if the manifest has changed or the campaign was not complete.
        """
        folder = Folder(path)
        state = state_of(folder.manifest_path)
        known = self._taken.get(path)
        if known is not None and known[0] == state:
            return known[1]
        found = take(folder, whole=False)
        if not found.is_running:
            self._taken[path] = (state, found)
        return found

    def scan(self, files: TableFiles, name: str, trials: Collection[str]) -> pl.LazyFrame:
        """The rows of `trials` in a table, as a lazy query.

        The first query of a small table reads all its rows, and later queries use these rows.
        Raises `RequestError` if a file has changed since it was written, and `LabError` in a fork
        of a process that has read tables.
        """
        import polars as pl

        rows, wanted = scan_files(files, name), pl.col("trial").is_in(list(trials))
        paths = tuple(files.paths(name))
        states = tuple(state_of(path) for path in paths)
        kept = self._kept.get(paths)
        if kept is None or kept.states != states:
            self._left_bytes += kept.size_bytes if kept is not None else 0
            kept = self._kept[paths] = self._collected(rows, paths, states)
            self._left_bytes -= kept.size_bytes
        return rows.filter(wanted) if kept.rows is None else kept.rows.filter(wanted).lazy()

    def _collected(
        self, rows: pl.LazyFrame, paths: Sequence[Path], states: Sequence[FileState | None]
    ) -> _Kept:
        """The rows of the files, unless they take too much memory or cannot be read."""
        import polars as pl

        refuse_fork()
        try:
            size = sum(size_of(path).memory_bytes for path in paths)
            if size <= self._left_bytes:
                return _Kept(states, size, rows.collect())
        except (OSError, ValueError, pl.exceptions.PolarsError):
            pass  # The reader of the query states the problem.
        return _Kept(states, 0, None)


class Selection(CampaignResults):
    """The wanted trials of several campaigns. Each campaign has one seed of one scenario.

    Only the requested tables are read, and of large tables only the rows of these trials. Trials of
    several scenarios have the condition `scenario`, and their names begin with the scenario's name.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        app_order: Sequence[str] = (),
        shared: Snapshots | None = None,
    ) -> None:
        self._sources = list(sources)
        self._shared = shared or Snapshots()
        self.app_order = app_order
        self._folder = Folder(self._sources[0].folder)
        self._owned = None
        self._several = len({one.scenario for one in self._sources}) > 1
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, pl.DataFrame] = {}
        snapshots = [self._shared.take(one.folder) for one in self._sources]
        self._opened = [one.files for one in snapshots]
        self.tables = tuple(_common([files.names for files in self._opened]))
        self.manifest = self._merged([one.manifest for one in snapshots])

    def _stored(self, name: str) -> pl.LazyFrame:
        """A table of the selected trials."""
        import polars as pl

        frames = [
            self._scan(source, files, name)
            for source, files in zip(self._sources, self._opened, strict=True)
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    def _opened_files(self) -> Sequence[TableFiles]:
        return self._opened

    def _damage(self) -> list[RequestError]:
        """An empty list, because all wanted trials are in tables."""
        return []

    def _renewed(self) -> bool:
        """Returns false, because nothing changes the files of the selected trials meanwhile."""
        return False

    def only(self, wanted: Collection[str]) -> Selection:
        """The selection of the trials in `wanted`; raises `RequestError` for an unknown name."""
        names = {one.id for one in trials_named(self.manifest.trials, wanted)}
        return Selection(
            [
                replace(one, wanted=frozenset(n for n in one.wanted if self._name(one, n) in names))
                for one in self._sources
            ],
            self.app_order,
            self._shared,
        )

    def by_chunk(self) -> Iterator[CampaignResults]:
        """Yields the whole selection in one step, because it has few trials of each campaign."""
        yield self

    def _scan(self, source: Source, files: TableFiles, name: str) -> pl.LazyFrame:
        import polars as pl

        rows = self._shared.scan(files, name, source.wanted)
        if not self._several:
            return rows
        named = (pl.lit(f"{source.scenario}/") + pl.col("trial")).alias("trial")
        return rows.select(named, pl.lit(source.scenario).alias(SCENARIO), pl.exclude("trial"))

    def _name(self, source: Source, trial: str) -> str:
        return f"{source.scenario}/{trial}" if self._several else trial

    def _merged(self, manifests: Sequence[Manifest]) -> Manifest:
        """A manifest for the selected trials of all campaigns."""
        entries: list[TrialEntry] = []
        digests: list[str | None] = []
        failed: dict[str, str] = {}
        for source, manifest in zip(self._sources, manifests, strict=True):
            known = manifest.digest_by_trial()
            own = [one for one in manifest.trials if one.id in source.wanted]
            entries += [self._entry(source, manifest, one) for one in own]
            digests += [known[one.id] for one in own]
            failed |= {
                self._name(source, name): text
                for name, text in manifest.failed.items()
                if name in source.wanted
            }
        conditions = dict.fromkeys(name for one in manifests for name in one.conditions)
        self._refuse_taken(conditions)
        merged = structs.replace(
            manifests[0],
            apps=_union(one.apps for one in manifests),
            app_groups=_union(one.app_groups for one in manifests),
            conditions=(*([SCENARIO] if self._several else []), *conditions),
            trials=tuple(entries),
            failed=failed,
        )
        return with_digests(merged, digests)

    def _entry(self, source: Source, manifest: Manifest, entry: TrialEntry) -> TrialEntry:
        """The entry of a trial, with the facts that its own campaign states for all trials."""
        conditions = {SCENARIO: source.scenario} if self._several else {}
        return structs.replace(
            entry,
            id=self._name(source, entry.id),
            conditions={**conditions, **entry.conditions},
            apps=kinds_in(manifest, entry),
            stated_tolerances_ms=manifest.stated_tolerances_ms,
            stated_rates_mbit=manifest.stated_rates_mbit,
            stated_requirements=manifest.stated_requirements,
            **of_trial(manifest, entry)._asdict(),
        )

    def _refuse_taken(self, conditions: Iterable[str]) -> None:
        """Raises `RequestError` if a condition has the name of the column for scenarios."""
        for name in conditions if self._several else ():
            if name.casefold() == SCENARIO:
                problem = f"condition `{shown(name)}`: `{SCENARIO}` is reserved for scenarios"
                raise RequestError(problem, "rename the loop; table columns ignore case")


def _union(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    return {name: text for part in parts for name, text in part.items()}


def _common(tables: Sequence[Sequence[str]]) -> list[str]:
    """The tables that all campaigns have."""
    return [name for name in tables[0] if all(name in own for own in tables)]
