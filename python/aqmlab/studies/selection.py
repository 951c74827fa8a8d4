"""Some trials of several campaigns, as if they were one campaign's results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.failures import RequestError
from aqmlab.results import Results
from aqmlab.store import Folder, Trial, digest_of

if TYPE_CHECKING:
    import polars as pl


class Selection(Results):
    """The trials called `wanted` of the campaigns in `folders`, one for each seed.

    Only the rows of these trials are read, and only of the tables that are asked for.
    """

    def __init__(self, folders: Sequence[Path], wanted: Collection[str]) -> None:
        self._folders = [Folder(path) for path in folders]
        self._folder = self._folders[0]
        self._owned = None
        self._wanted = frozenset(wanted)
        self._frames: dict[str, pl.DataFrame] = {}
        self.memo: dict[str, Any] = {}
        self.manifest = _merged([folder.manifest() for folder in self._folders], self._wanted)

    def table(self, name: str) -> pl.DataFrame:
        """A table of the selected trials; raises `RequestError` if there is none of the name."""
        import polars as pl

        if name not in self._frames:
            if name not in self.tables:
                known = ", ".join(self.tables)
                raise RequestError(f"there is no table `{name}`", f"there are {known}")
            frames = [
                pl.scan_parquet(folder.table_path(name)).filter(
                    pl.col("trial").is_in(list(self._wanted))
                )
                for folder in self._folders
            ]
            self._frames[name] = pl.concat(frames, how="diagonal_relaxed").collect()
        return self._frames[name]

    def only(self, wanted: Collection[str]) -> Selection:
        """Fewer of the trials."""
        return Selection([folder.path for folder in self._folders], self._wanted & set(wanted))


def _merged(manifests: Sequence[dict[str, Any]], wanted: frozenset[str]) -> dict[str, Any]:
    """A manifest for the selected trials of several."""
    pairs = [
        (entry, digest)
        for manifest in manifests
        for entry, digest in zip(manifest["trials"], manifest["digests"], strict=True)
        if entry["id"] in wanted
    ]
    entries = [entry for entry, _ in pairs]
    digests = [digest for _, digest in pairs]
    trials = [
        Trial(index, entry["id"], entry["seed"], entry["conditions"], "")
        for index, entry in enumerate(entries)
    ]
    complete = bool(digests) and None not in digests
    failed = {name: text for one in manifests for name, text in one.get("failed", {}).items()}
    tables = [set(manifest["tables"]) for manifest in manifests]
    return {
        **manifests[0],
        "trials": entries,
        "digests": digests,
        "complete": complete,
        "digest": digest_of(trials, digests) if complete else None,
        "failed": {name: text for name, text in failed.items() if name in wanted},
        "tables": [name for name in manifests[0]["tables"] if all(name in one for one in tables)],
    }
