"""The files of a campaign's tables, each verified before it is read."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aqmlab.base.checksums import FileChecksum, mismatch
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store import chunk_record
from aqmlab.campaign.store.chunk_record import Alternatives
from aqmlab.campaign.store.folder import CATALOGUE, TABLES, Folder
from aqmlab.campaign.store.parquet import TRIALS


class TableFiles:
    """The files that hold the tables of a campaign, and the checksums that they must have."""

    def __init__(self, folder: Folder, files: Mapping[str, Alternatives], *, all_listed: bool):
        self._folder, self._files, self._all_listed = folder, files, all_listed
        self._verified: dict[Path, tuple[int, ...]] = {}
        self._by_table: dict[str, list[Path]] = defaultdict(list)
        for name in sorted(files):
            if name != CATALOGUE:
                self._by_table[name.split("/")[1]].append(folder.path / name)

    @property
    def names(self) -> list[str]:
        """The tables, the one of trials last."""
        return tables_in(self._files)

    def chunks(self) -> list[str]:
        """The chunks of which there are files, as their folders are called."""
        return sorted({path.parent.name for path in self._listed()})

    def paths(self, table: str, chunk: str | None = None) -> list[Path]:
        """The files of a table, or of one chunk of it, in the order of trials.

        Raises `RequestError` for the first that is not as it was written.
        """
        self._refuse_unlisted(table)
        wanted = [one for one in self._by_table[table] if chunk in (None, one.parent.name)]
        for path in wanted:
            self._verify(path)
        return wanted

    def recorded(self, table: str) -> list[tuple[Path, Alternatives]]:
        """The files of a table and their checksums, for a reader that verifies them itself."""
        self._refuse_unlisted(table)
        return [(path, self._files[self._folder.relative(path)]) for path in self._by_table[table]]

    def of_chunk(self, chunk: str) -> dict[str, Alternatives]:
        """The files of a chunk and their checksums."""
        return {name: known for name, known in self._files.items() if f"/{chunk}/" in name}

    def verify(self) -> None:
        """Raises `RequestError` for the first file that is not as it was written."""
        self._refuse_unlisted("*")
        for name in self._files:
            self._verify(self._folder.path / name)

    def lost_chunks(self) -> list[str]:
        """The chunks of which no file is left, as after somebody removed a damaged chunk."""
        left = {path.parent.name for path in self._listed() if os.path.lexists(path)}
        return sorted({path.parent.name for path in self._listed()} - left)

    def without(self, chunks: list[str]) -> TableFiles:
        """The files of the other chunks."""
        kept = {
            name: known
            for name, known in self._files.items()
            if (self._folder.path / name).parent.name not in chunks
        }
        return TableFiles(self._folder, kept, all_listed=self._all_listed)

    def _listed(self) -> Iterator[Path]:
        for paths in self._by_table.values():
            yield from paths

    def _verify(self, path: Path) -> None:
        state = _state(path)
        if state is not None and self._verified.get(path) == state:
            return
        problem = mismatch(path, self._files[self._folder.relative(path)])
        if problem is not None:
            raise self._folder.damaged(path, problem)
        if state is not None:
            self._verified[path] = state

    def _refuse_unlisted(self, table: str) -> None:
        """Raises `RequestError` for a file beside the tables' own, which other readers read too."""
        if not self._all_listed:
            return
        for found in sorted(self._folder.path.glob(f"{TABLES}/{table}/**/*")):
            listed = self._folder.relative(found) in self._files
            if not listed and not found.name.startswith(".") and not found.is_dir():
                problem = f"{found}: is not one of the campaign's files"
                raise RequestError(problem, "remove it: readers of the folder take it for results")


def tables_in(files: Iterable[str]) -> list[str]:
    """The tables that the named files hold, the one of trials last."""
    names = {name.split("/")[1] for name in files if name != CATALOGUE}
    return sorted(names, key=lambda name: (name == TRIALS, name))


def table_files(folder: Folder, manifest: Mapping[str, Any]) -> TableFiles:
    """The files of a campaign's tables: of its sealed chunks only, while it runs."""
    if "files" in manifest:
        listed = {name: (FileChecksum(*one),) for name, one in manifest["files"].items()}
        return TableFiles(folder, listed, all_listed=True)
    sealed: dict[str, Alternatives] = {}
    for path in sorted(folder.path.glob("trials/chunk=*.json")):
        record = chunk_record.read(path)
        if record is not None and record.campaign == manifest["campaign"]:
            sealed |= record.files
    return TableFiles(folder, sealed, all_listed=False)


def _state(path: Path) -> tuple[int, ...] | None:
    """Changes whenever a program writes the file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)
