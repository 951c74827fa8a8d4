"""Some trials of several campaigns, as if they were one campaign's results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.campaign.store.folder import Folder, Trial, digest_of
from aqmlab.campaign.store.table_files import TableFiles, table_files
from aqmlab.results.results import Results, scan_files

if TYPE_CHECKING:
    import polars as pl

SCENARIO = "scenario"
"""The condition that tells trials of several scenarios apart."""


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign's folder, the trials that are wanted of it, and the scenario they are of."""

    folder: Path
    wanted: frozenset[str]
    scenario: str


class Selection(Results):
    """The wanted trials of several campaigns, one for each seed and scenario.

    Only the rows of these trials are read, and only of the tables that are asked for. Trials of
    several scenarios have the condition `scenario`, and their names begin with it.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self._folder = Folder(self._sources[0].folder)
        self._owned = None
        self._several = len({one.scenario for one in self._sources}) > 1
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, Any] = {}
        manifests = [Folder(one.folder).manifest() for one in self._sources]
        self._opened = [
            table_files(Folder(source.folder), manifest)
            for source, manifest in zip(self._sources, manifests, strict=True)
        ]
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

    def verify(self) -> None:
        """Raises `RequestError` for the first file that is not as it was written."""
        for files in self._opened:
            files.verify()

    def only(self, wanted: Collection[str]) -> Selection:
        """Fewer of the trials."""
        names = set(wanted)
        return Selection(
            [
                replace(one, wanted=frozenset(n for n in one.wanted if self._name(one, n) in names))
                for one in self._sources
            ]
        )

    def by_chunk(self) -> Iterator[Results]:
        """All at once, as few trials of many campaigns are wanted."""
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
        """A manifest for the selected trials of all."""
        entries: list[dict[str, Any]] = []
        digests: list[str | None] = []
        failed: dict[str, str] = {}
        for source, manifest in zip(self._sources, manifests, strict=True):
            # Without digests it was stopped before any trial was recorded.
            known = manifest.get("digests") or [None] * len(manifest["trials"])
            for entry, digest in zip(manifest["trials"], known, strict=True):
                if entry["id"] in source.wanted:
                    entries.append(self._entry(source, entry))
                    digests.append(digest)
            failed |= {
                self._name(source, name): text
                for name, text in manifest.get("failed", {}).items()
                if name in source.wanted
            }
        complete = bool(digests) and None not in digests
        conditions = dict.fromkeys(name for one in manifests for name in one["conditions"])
        return {
            **manifests[0],
            "apps": _union(manifests, "apps"),
            "app_groups": _union(manifests, "app_groups"),
            "conditions": [*([SCENARIO] if self._several else []), *conditions],
            "trials": entries,
            "digests": digests,
            "complete": complete,
            "digest": _digest(entries, digests) if complete else None,
            "failed": failed,
        }

    def _entry(self, source: Source, entry: dict[str, Any]) -> dict[str, Any]:
        if not self._several:
            return entry
        conditions = {SCENARIO: source.scenario, **entry["conditions"]}
        return {**entry, "id": self._name(source, entry["id"]), "conditions": conditions}


def _digest(entries: Sequence[dict[str, Any]], digests: Sequence[str | None]) -> str:
    trials = [
        Trial(index, entry["id"], entry["seed"], entry["conditions"], "", recorded=entry["spec"])
        for index, entry in enumerate(entries)
    ]
    return digest_of(trials, digests)


def _union(manifests: Sequence[dict[str, Any]], key: str) -> dict[str, Any]:
    return {name: value for one in manifests for name, value in one.get(key, {}).items()}


def _common(tables: Sequence[Sequence[str]]) -> list[str]:
    """The tables that all have."""
    return [name for name in tables[0] if all(name in own for own in tables)]
