"""The tables of a campaign as a data set: a file for each hundred trials of each table.

A chunk is sealed as soon as its trials are finished: its tables are written, and the trials' own
files go. So a campaign needs the memory of one chunk, whatever its size, and what is sealed can
be queried while the rest runs. Chunks are counted off in the order of trials rather than made of
conditions: their number is known beforehand, no value of a condition must be fit for a file's
name, and neighbours share what the outer loops vary, which is what a filter asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.files import write_atomically
from aqmlab.parts import is_whole
from aqmlab.store import Columns, Folder, Trial
from aqmlab.tables import OF_TRIALS, TRIALS, Finished, TableFile, fitted, widen

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 100
"""Trials in a chunk: of 1500 trials, fifteen files of some megabytes for each table."""


@dataclass(slots=True)
class Found:
    """What a campaign's folder holds."""

    digests: dict[int, str] = field(default_factory=dict)
    """The digest of each finished trial, by its index."""
    events: int = 0
    packets: int = 0
    tables: list[str] = field(default_factory=list)


class Dataset:
    """The finished trials of a campaign in its folder."""

    def __init__(self, folder: Folder, trials: Sequence[Trial]) -> None:
        self._folder = folder
        self._columns = Columns(trials)
        self.chunks = [trials[start : start + CHUNK] for start in range(0, len(trials), CHUNK)]
        self._recorded = [self._recorded_in(chunk) for chunk in range(len(self.chunks))]
        self._sealing: Future[None] | None = None
        self._sealer: ThreadPoolExecutor

    def has(self, trial: Trial) -> bool:
        """Whether a trial is finished."""
        return trial.index in self._recorded[trial.index // CHUNK]

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within, trials can be kept; chunks are sealed beside what else is done."""
        with ThreadPoolExecutor(1, thread_name_prefix="aqmlab-seal") as self._sealer:
            yield
            self._wait()

    def keep(self, trial: Trial, data: bytes) -> None:
        """Records a finished trial; raises `DiskError`."""
        chunk = trial.index // CHUNK
        write_atomically(self._folder.part_path(trial.index), data, synced=False)
        self._recorded[chunk].add(trial.index)
        if self.is_full(chunk):
            self._wait()  # so that no more than one chunk is in memory
            self._sealing = self._sealer.submit(self._seal, chunk)

    def is_complete(self) -> bool:
        """Whether all trials are finished and in the tables."""
        return all(map(self._is_sealed, range(len(self.chunks))))

    def is_full(self, chunk: int) -> bool:
        """Whether all trials of a chunk are finished."""
        return len(self._recorded[chunk]) == len(self.chunks[chunk])

    def complete(self) -> Found:
        """Writes what is not in the tables yet, and says what there is."""
        for chunk in range(len(self.chunks)):
            if any(self._folder.part_path(one.index).is_file() for one in self.chunks[chunk]):
                self._seal(chunk)
        if all(map(self.is_full, range(len(self.chunks)))):
            self._make_alike()
            self._folder.remove_trials()
        return self.found()

    def found(self) -> Found:
        """What the tables hold."""
        found = Found(tables=self._tables())
        for chunk, trials in enumerate(self.chunks):
            indices = {one.id: one.index for one in trials}
            rows = _read(self._folder.chunk_path(TRIALS, chunk), ["trial", *OF_TRIALS[:3]])
            for row in rows.to_pylist() if rows is not None else ():
                if row["trial"] not in indices:
                    path = self._folder.chunk_path(TRIALS, chunk)
                    raise self._folder.unreadable(
                        path, f"it holds a trial `{row['trial']}`, which the manifest has not"
                    )
                found.digests[indices[row["trial"]]] = row["digest"]
                found.events += row["events"]
                found.packets += row["packets"]
        return found

    def unsealed(self, chunk: int) -> Finished | None:
        """The trials of a chunk from their own files, if they are not all in its tables."""
        return None if self._is_sealed(chunk) else self._finished(chunk)

    def _finished(self, chunk: int) -> Finished:
        trials = [one for one in self.chunks[chunk] if self.has(one)]
        return Finished(self._folder, trials, self._columns)

    def _recorded_in(self, chunk: int) -> set[int]:
        trials = self.chunks[chunk]
        if self._is_sealed(chunk):
            return {one.index for one in trials}
        path = self._folder.part_path
        return {one.index for one in trials if is_whole(path(one.index), one.spec)}

    def _is_sealed(self, chunk: int) -> bool:
        rows = _read(self._folder.chunk_path(TRIALS, chunk), ["trial"])
        return rows is not None and rows.num_rows == len(self.chunks[chunk])

    def _seal(self, chunk: int) -> None:
        """Writes the tables of what is finished in a chunk; with all of it, parts are removed."""
        trials = [one for one in self.chunks[chunk] if self.has(one)]
        before = _read(self._folder.chunk_path(TRIALS, chunk), ["trial"])
        # Of a chunk that is in the tables, some parts may be gone already.
        if before is None or before["trial"].to_pylist() != [one.id for one in trials]:
            self._finished(chunk).write(chunk)
        if self.is_full(chunk):
            self._folder.remove_parts([one.index for one in trials])

    def _wait(self) -> None:
        if self._sealing is not None:
            self._sealing.result()
        self._sealing = None

    def _tables(self) -> list[str]:
        return sorted(self._folder.table_names(), key=lambda name: (name == TRIALS, name))

    def _make_alike(self) -> None:
        """Gives all files of a table the same columns, for readers that look at one only."""
        import pyarrow.parquet as pq

        files = {name: self._folder.table_files(name) for name in self._tables()}
        schemas = {path: pq.read_schema(path) for paths in files.values() for path in paths}
        front, taken = self._columns.count, set(OF_TRIALS)
        for schema in schemas.values():
            taken.update(schema.names[front:])
        for paths in files.values():
            known: dict[str, Any] = {}
            for path in paths:
                widen(known, list(schemas[path])[front:])
            wanted = _with(self._columns.schema(taken), known)
            for path in paths:
                if not schemas[path].equals(wanted):
                    _rewrite(path, front, wanted)


def refuse_damaged(folder: Folder, tables: Iterable[str] = ("*",)) -> None:
    """Raises `RequestError` for a file of the tables of which any page is not as it was written.

    Other readers leave the pages' checksums alone. Folders from before there were any pass.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in (path for table in tables for path in folder.chunk_files(table)):
        folder.refuse_unreadable(path)
        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for _ in file.iter_batches():  # one at a time, whatever the file's size
                    pass
        except (OSError, pa.ArrowException) as error:
            raise folder.unreadable(path, error) from None


def is_in_tables(folder: Folder, trial: Trial) -> bool:
    """Whether there are tables of the chunk that a recorded trial belongs to."""
    return folder.chunk_path(TRIALS, trial.index // CHUNK).is_file()


def _with(front: pa.Schema, columns: dict[str, pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([*front, *(pa.field(*one) for one in columns.items())])


def _rewrite(path: Path, front: int, schema: pa.Schema) -> None:
    """Gives a file's table the columns of `schema`, of which so many are in front."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path, partitioning=None)
    own = fitted(table.select(table.column_names[front:]), pa.schema(list(schema)[front:]))
    with TableFile(path, schema) as file:
        arrays = [*table.columns[:front], *own.columns]
        file.add(pa.Table.from_arrays(arrays, schema=schema))


def _read(path: Path, columns: list[str]) -> pa.Table | None:
    """Columns of a file; `None` if it is not there, or cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():  # as a pipe, which would be waited for
        return None
    try:
        return pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowException):
        return None
