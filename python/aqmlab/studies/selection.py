"""Some trials of several campaigns, as the results of one campaign."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.snapshot import take
from aqmlab.campaign.store.table_files import TableFiles
from aqmlab.campaign.trial_facts import kinds_in
from aqmlab.results.narrowing import digest_of_entries, trials_named
from aqmlab.results.results import Results, scan_files

if TYPE_CHECKING:
    import polars as pl

_OF_CAMPAIGNS = ("duration_s", "measure_from_s", "measure_to_s")
_LIMITS = ("stated_tolerances_ms", "stated_rates_mbit")
"""Members of a manifest that apply to all trials without their own value."""

SCENARIO = "scenario"
"""The condition that distinguishes trials of several scenarios."""


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign's folder, its wanted trials, and their scenario."""

    folder: Path
    wanted: frozenset[str]
    scenario: str


class Selection(Results):
    """The wanted trials of several campaigns, one per seed and scenario.

    Only the rows of these trials are read, and only from the requested tables. Trials of several
    scenarios have the condition `scenario`, and their names begin with it.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self._folder = Folder(self._sources[0].folder)
        self._owned = None
        self._several = len({one.scenario for one in self._sources}) > 1
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, Any] = {}
        snapshots = [take(Folder(one.folder), whole=False) for one in self._sources]
        manifests = [dict(one.manifest) for one in snapshots]
        self._opened = [one.files for one in snapshots]
        self.tables = tuple(_common([files.names for files in self._opened]))
        self.manifest = self._merged(manifests)

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
        """An empty list: all wanted trials are in tables."""
        return []

    def _renewed(self) -> bool:
        """False: the trials ran before this object was created."""
        return False

    def only(self, wanted: Collection[str]) -> Selection:
        """A selection of fewer trials; raises `RequestError` for an unknown name."""
        names = {one["id"] for one in trials_named(self.manifest["trials"], wanted)}
        return Selection(
            [
                replace(one, wanted=frozenset(n for n in one.wanted if self._name(one, n) in names))
                for one in self._sources
            ]
        )

    def by_chunk(self) -> Iterator[Results]:
        """The whole selection at once because it needs few trials of each campaign."""
        yield self

    def _scan(self, source: Source, files: TableFiles, name: str) -> pl.LazyFrame:
        import polars as pl

        rows = scan_files(files, name).filter(pl.col("trial").is_in(list(source.wanted)))
        if not self._several:
            return rows
        named = pl.format("{}/{}", pl.lit(source.scenario), pl.col("trial")).alias("trial")
        return rows.select(named, pl.lit(source.scenario).alias(SCENARIO), pl.exclude("trial"))

    def _name(self, source: Source, trial: str) -> str:
        return f"{source.scenario}/{trial}" if self._several else trial

    def _merged(self, manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """A manifest for the selected trials of all campaigns."""
        entries: list[dict[str, Any]] = []
        digests: list[str | None] = []
        failed: dict[str, str] = {}
        for source, manifest in zip(self._sources, manifests, strict=True):
            # A campaign that stopped before its first trial has no digests.
            known = manifest.get("digests") or [None] * len(manifest["trials"])
            for entry, digest in zip(manifest["trials"], known, strict=True):
                if entry["id"] in source.wanted:
                    entries.append(self._entry(source, manifest, entry))
                    digests.append(digest)
            failed |= {
                self._name(source, name): text
                for name, text in manifest.get("failed", {}).items()
                if name in source.wanted
            }
        complete = bool(digests) and None not in digests
        conditions = dict.fromkeys(name for one in manifests for name in one["conditions"])
        self._refuse_taken(conditions)
        return {
            **manifests[0],
            "apps": _union(manifests, "apps"),
            "app_groups": _union(manifests, "app_groups"),
            "conditions": [*([SCENARIO] if self._several else []), *conditions],
            "trials": entries,
            "digests": digests,
            "complete": complete,
            "digest": digest_of_entries(entries, digests) if complete else None,
            "failed": failed,
        }

    def _entry(
        self, source: Source, manifest: dict[str, Any], entry: dict[str, Any]
    ) -> dict[str, Any]:
        """A trial with the members that its own campaign states for all trials."""
        own = {name: manifest[name] for name in _OF_CAMPAIGNS if name in manifest}
        own |= {name: manifest.get(name, {}) for name in _LIMITS}
        told = {**own, **entry, "apps": kinds_in(manifest, entry)}
        if not self._several:
            return told
        conditions = {SCENARIO: source.scenario, **entry["conditions"]}
        return {**told, "id": self._name(source, entry["id"]), "conditions": conditions}

    def _refuse_taken(self, conditions: Iterable[str]) -> None:
        """Raises `RequestError` if a condition has the name of the column for scenarios."""
        for name in conditions if self._several else ():
            if name.casefold() == SCENARIO:
                problem = f"condition `{shown(name)}`: `{SCENARIO}` is reserved for scenarios"
                raise RequestError(problem, "rename the loop; table columns ignore case")


def _union(manifests: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    return {name: value for one in manifests for name, value in one.get(key, {}).items()}


def _common(tables: Sequence[Sequence[str]]) -> list[str]:
    """The tables that all campaigns have."""
    return [name for name in tables[0] if all(name in own for own in tables)]
