"""The table files of a campaign, each verified before it is read."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from aqmlab.base.checksums import mismatch, unreadable
from aqmlab.base.failures import DamagedError
from aqmlab.campaign.store.chunk_record import Alternatives
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import CATALOGUE, ROWS, TABLES, TRIALS, linked
from aqmlab.campaign.store.manifest import Manifest
from aqmlab.campaign.store.parquet_guard import FileSize, growth, size_of

FileState = tuple[int, ...]
"""A value that changes with every write to a file: see `state_of`."""


class _Folders(NamedTuple):
    """The subfolders of `tables` or of a folder within it."""

    listed: tuple[Path, ...]
    """The subfolders that contain files of the campaign."""
    others: tuple[Path, ...]


class TableFiles:
    """The table files of a campaign with their valid checksums.

    `all_listed` states that `files` lists every file of the campaign. Any other file is then an
    error.
    """

    def __init__(self, folder: Folder, files: Mapping[str, Alternatives], *, all_listed: bool):
        self._folder, self._files, self._all_listed = folder, files, all_listed
        self._verified: dict[Path, FileState] = {}
        self._sizes: dict[Path, FileSize] = {}
        self._seen: dict[Path, tuple[FileState, _Folders]] = {}
        self._by_table: dict[str, list[Path]] = defaultdict(list)
        self._by_place: dict[tuple[str, str], list[Path]] = defaultdict(list)
        self._known: set[str] = set()
        """The paths of all files and of their parent folders, as text."""
        for name in sorted(files):
            path = folder.path / name
            self._known.update((str(path), str(path.parent), str(path.parent.parent)))
            if name != CATALOGUE:
                _, table, chunk, _ = name.split("/")
                self._by_table[table].append(path)
                self._by_place[table, chunk].append(path)

    @property
    def names(self) -> list[str]:
        """The names of the tables, with `trials` last."""
        return tables_in(self._files)

    def chunks(self) -> list[str]:
        """The names of the folders of the listed chunks, sorted."""
        return sorted({path.parent.name for path in self._listed()})

    def has(self, table: str, chunk: str) -> bool:
        """Returns whether a file is listed for a chunk of a table."""
        return (table, chunk) in self._by_place

    def paths(self, table: str, chunk: str | None = None) -> list[Path]:
        """The files of a table, or of one of its chunks, in the order of trials.

        Verifies these files. Raises `RequestError` for the first damaged or unlisted file.
        """
        place = self._folder.path / TABLES / table
        if chunk is None:
            self._refuse_unlisted(place)
            wanted = self._by_table.get(table, [])
        else:
            self._refuse_unlisted(place, place / chunk)
            wanted = self._by_place.get((table, chunk), [])
        for path in wanted:
            self._verify(path)
        self._refuse_growth(wanted)
        return list(wanted)

    def recorded(self, table: str) -> list[tuple[Path, Alternatives]]:
        """The files and checksums of a table, for a reader that verifies the files itself.

        Raises `RequestError` for an unlisted file.
        """
        self._refuse_unlisted(self._folder.path / TABLES / table)
        paths = self._by_table.get(table, [])
        return [(path, self._files[self._folder.relative(path)]) for path in paths]

    def of_chunk(self, chunk: str) -> dict[str, Alternatives]:
        """The checksums of each file of a chunk, by the file's path in the campaign's folder."""
        return {name: known for name, known in self._files.items() if f"/{chunk}/" in name}

    def verify(self) -> None:
        """Raises `RequestError` for the first damaged or unlisted file."""
        self._refuse_unlisted(self._folder.path / TABLES)
        for name in self._files:
            self._verify(self._folder.path / name)
        for paths in self._by_table.values():
            self._refuse_growth(paths)

    def lost_chunks(self) -> list[str]:
        """The listed chunks of which no file exists, for example because the user removed them."""
        left = {path.parent.name for path in self._listed() if os.path.lexists(path)}
        return sorted({path.parent.name for path in self._listed()} - left)

    def without(self, chunks: list[str]) -> TableFiles:
        """The files of all chunks except `chunks`."""
        kept = {
            name: known
            for name, known in self._files.items()
            if name == CATALOGUE or name.split("/")[2] not in chunks
        }
        return TableFiles(self._folder, kept, all_listed=self._all_listed)

    def _listed(self) -> Iterator[Path]:
        for paths in self._by_table.values():
            yield from paths

    def _verify(self, path: Path) -> None:
        state = state_of(path)
        if state is not None and self._verified.get(path) == state:
            return
        problem = mismatch(path, self._files[self._folder.relative(path)])
        if problem is not None:
            raise self._folder.damaged(path, problem)
        if path.name == ROWS:
            self._sizes[path] = self._size_of(path)
        if state is not None:
            self._verified[path] = state

    def _size_of(self, path: Path) -> FileSize:
        try:
            return size_of(path, path.parent.parent.name)
        except ValueError as error:
            raise self._folder.damaged(path, str(error)) from None

    def _refuse_growth(self, paths: Sequence[Path]) -> None:
        """Raises `DamagedError` for verified files whose rows would take far too much memory."""
        problem = growth(self._sizes[path] for path in paths)
        if problem is not None:
            largest = max(paths, key=lambda path: self._sizes[path].memory_bytes)
            raise self._folder.damaged(largest, f"in all files of its table, {problem}")

    def refuse_replaced(self, table: str, chunk: str | None = None) -> None:
        """Raises `RequestError` if a verified file of a table, or of its `chunk`, has changed.

        Callers use this method after a read of the files.
        """
        found = self._by_table.get(table, [])
        for path in found if chunk is None else self._by_place.get((table, chunk), []):
            if state_of(path) != self._verified.get(path):
                raise self._folder.damaged(path, "it was replaced while it was read")

    def _refuse_unlisted(self, folder: Path, only: Path | None = None) -> None:
        """Raises `RequestError` for a file in `folder` that does not belong to the campaign.

        Other programs that read the folder treat every file there as results, including hidden
        files and files in linked folders. With `only`, this method skips all other folders that
        contain files of the campaign. It does nothing unless `all_listed` is set.
        """
        if not self._all_listed:
            return
        within = self._folders_in(folder)
        listed = within.listed if only is None else (only,)
        for one in (*within.others, *listed):
            self._refuse_unlisted(one)

    def _folders_in(self, folder: Path) -> _Folders:
        """The subfolders of a folder, cached until the entries of the folder change.

        Raises `RequestError` for a file in the folder that is not listed.
        """
        state = state_of(folder)
        if state is None:
            return _Folders((), ())
        before = self._seen.get(folder)
        if before is not None and before[0] == state:
            return before[1]
        if str(folder) in self._known and folder.is_symlink():
            raise linked(folder)
        listed: list[Path] = []
        others: list[Path] = []
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:  # a cycle of symbolic links is also an error
            raise unreadable(folder, error) from None
        for entry in entries:
            if _leads_to_folder(entry):
                (listed if entry.path in self._known else others).append(Path(entry.path))
            elif entry.path not in self._known:
                raise DamagedError(
                    f"{entry.path}: is not one of the campaign's files",
                    "remove it: readers of the folder would treat it as results",
                )
        self._seen[folder] = (state, _Folders(tuple(listed), tuple(others)))
        return self._seen[folder][1]


def tables_in(files: Iterable[str]) -> list[str]:
    """The names of the tables to which `files` belong, with `trials` last."""
    names = {name.split("/")[1] for name in files if name != CATALOGUE}
    return sorted(names, key=lambda name: (name == TRIALS, name))


def table_files(folder: Folder, manifest: Manifest) -> TableFiles:
    """The table files that a campaign's manifest lists."""
    listed = {name: (checksum,) for name, checksum in (manifest.files or {}).items()}
    return TableFiles(folder, listed, all_listed=True)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # the folder may be a link to itself
        return False


def state_of(path: Path) -> FileState | None:
    """A state that changes with every write to a file or to the entries of a folder.

    The state includes the time of the last change (ctime), because programs can set the time of the
    last write (mtime). Returns `None` if the path does not exist or cannot be examined.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
