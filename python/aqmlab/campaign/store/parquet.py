"""Converts trial files to the tables of a chunk of trials.

Trials are read one at a time and rows are written in groups, so memory does not grow with the
campaign. A table has the columns of all its trials. A value is null if its trial lacks the
column, such as a gauge of one discipline.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from aqmlab.base.checksums import FileChecksum, checksum_of
from aqmlab.base.failures import RequestError
from aqmlab.base.files import create, disk_errors, reason_of, sync_folder, unfinished
from aqmlab.campaign.store.columns import Columns, leading_columns
from aqmlab.campaign.store.folder import Folder, Trial
from aqmlab.campaign.store.layout import OF_TRIALS, TRIALS
from aqmlab.campaign.store.trial_file import UNREADABLE, TrialFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_GROUP = 131_072

KEPT_BYTES = 2**26
"""The memory in bytes for trial files that are read once for the columns and rows of a chunk."""


class Finished:
    """Finished trials that still have trial files, and the tables made from these files."""

    def __init__(
        self,
        folder: Folder,
        trials: Sequence[Trial],
        columns: Columns,
        campaign: str,
        kept_bytes: int = 0,
    ) -> None:
        """Reads the heads of the files of `trials`. `campaign` is the campaign's key.

        Files of a total size of at most `kept_bytes` are read whole, so that `write` need not open
        them again. This and the other methods raise `RequestError` for a damaged file.
        """
        self._folder, self._columns, self._campaign = folder, columns, campaign
        self.trials = trials
        self._heads: list[tuple[str, int, int, str]] = []
        self._without_rows: dict[FileChecksum, pa.Table] = {}
        self._kept: dict[int, TrialFile] = {}
        schemas: dict[str, dict[str, pa.DataType]] = {}
        forms: set[str] = set()
        for trial in self.trials:
            with self._part(trial) as part:
                head = part.head
                self._heads.append((head.digest, head.events, head.packets, head.spec))
                if head.form not in forms:
                    forms.add(head.form)
                    for name in part.names():
                        table = self._table(part, trial, name)
                        widen(schemas.setdefault(name, {}), table.schema)
                if part.size_bytes <= kept_bytes:
                    kept_bytes -= part.size_bytes
                    with self._refusing(trial):
                        self._kept[trial.index] = part.in_memory()
        self._own = {name: _schema_of(columns) for name, columns in schemas.items()}
        own_names = {name for own in self._own.values() for name in own.names}
        self._taken = {*own_names, *OF_TRIALS}

    def names(self) -> list[str]:
        """The names of the tables."""
        return [*self._own, TRIALS]

    def schema(self, name: str) -> pa.Schema:
        """The leading and other columns of a table other than `trials`, over all these trials."""
        import pyarrow as pa

        own = self._own[name]
        return pa.schema([*self._columns.schema(self._taken, own.names), *own])

    def totals(self) -> tuple[tuple[str, ...], int, int]:
        """The digest of each trial, and the total numbers of events and packets."""
        digests = tuple(digest for digest, *_ in self._heads)
        return digests, sum(one[1] for one in self._heads), sum(one[2] for one in self._heads)

    def write(self, chunk: int) -> dict[Path, FileChecksum]:
        """Writes every table of the chunk and returns the checksum of each file.

        Raises `DiskError` if a write fails, and leaves no partial file.
        """
        with ExitStack() as stack:
            waiting = {name: _Waiting(ROWS_PER_GROUP) for name in self._own}
            files = {
                name: stack.enter_context(
                    table_file(self._folder.chunk_path(name, chunk), self.schema(name))
                )
                for name in self._own
            }
            for trial in self.trials:
                with self._part(trial) as part:
                    for name in part.names():
                        if name not in self._own:  # another process has replaced the file
                            raise self._damaged(trial, "its contents are not those recorded")
                        table = self._table(part, trial, name)
                        if not table.num_rows:
                            continue
                        if waiting[name].add(trial, fitted(table, self._own[name])):
                            files[name].add(self._joined(name, waiting[name].take()))
            for name, rest in waiting.items():
                files[name].add(self._joined(name, rest.take()))
        made = {file.path: file.checksum for file in files.values()}
        trials = self._trials_table()
        with table_file(self._folder.chunk_path(TRIALS, chunk), trials.schema) as file:
            file.add(trials)
        return made | {file.path: file.checksum}

    def table(self, name: str) -> pa.Table:
        """One table over all these trials, in memory."""
        if name == TRIALS:
            return self._trials_table()
        rows = []
        for trial in self.trials:
            with self._part(trial) as part:
                if name in part.names():
                    table = self._table(part, trial, name)
                    rows.append((trial, fitted(table, self._own[name])))
        return self._joined(name, rows)

    @contextmanager
    def _part(self, trial: Trial) -> Iterator[TrialFile]:
        """The file of a trial, from memory the first time if it was kept."""
        kept = self._kept.pop(trial.index, None)
        if kept is not None:
            yield kept
            return
        with self._refusing(trial):
            part = TrialFile(self._folder.part_path(trial.index))
        with part:
            with self._refusing(trial):
                if part.origin != trial.origin(self._campaign):
                    raise ValueError("it holds the result of another trial")
            yield part

    def _table(self, part: TrialFile, trial: Trial, name: str) -> pa.Table:
        """A table of a trial. Tables without rows are read once, because half of the tables are.

        Streams with equal checksums are equal.
        """
        checksum = part.head.tables[name]
        known = self._without_rows.get(checksum)
        if known is not None:
            return known
        with self._refusing(trial):
            table = part.table(name)
        if not table.num_rows:
            self._without_rows[checksum] = table
        return table

    @contextmanager
    def _refusing(self, trial: Trial) -> Iterator[None]:
        """Converts errors within the context into the error for a damaged trial file."""
        try:
            yield
        except UNREADABLE as error:
            is_missing = isinstance(error, FileNotFoundError)
            reason = "it is missing" if is_missing else reason_of(error)
            raise self._damaged(trial, reason) from None

    def _damaged(self, trial: Trial, reason: str) -> RequestError:
        """The error for the damaged file of a trial."""
        return self._folder.damaged(self._folder.part_path(trial.index), reason)

    def _joined(self, name: str, rows: Sequence[tuple[Trial, pa.Table]]) -> pa.Table:
        """A table of the rows of trials, with the leading columns."""
        import pyarrow as pa

        own = pa.concat_tables([self._own[name].empty_table(), *(table for _, table in rows)])
        sizes = [table.num_rows for _, table in rows]
        front = self._columns.arrays([trial for trial, _ in rows], sizes, own)
        table = pa.Table.from_arrays([*front, *own.columns], schema=self.schema(name))
        return table.combine_chunks()

    def _trials_table(self) -> pa.Table:
        import pyarrow as pa

        types = (pa.string(), pa.int64(), pa.int64(), pa.string())
        values = [*zip(*self._heads, strict=True)] if self._heads else [()] * len(OF_TRIALS)
        own = pa.table([pa.array(*one) for one in zip(values, types, strict=True)], names=OF_TRIALS)
        front = self._columns.arrays(self.trials, [1] * len(self.trials), own)
        schema = pa.schema([*self._columns.schema(self._taken, OF_TRIALS), *own.schema])
        return pa.Table.from_arrays([*front, *own.columns], schema=schema)


class _Waiting:
    """Buffered rows of a table, which are written as one group."""

    def __init__(self, enough: int) -> None:
        self._enough, self._rows = enough, 0
        self._tables: list[tuple[Trial, pa.Table]] = []

    def add(self, trial: Trial, table: pa.Table) -> bool:
        """Adds rows. Returns whether there are enough for a group."""
        self._tables.append((trial, table))
        self._rows += table.num_rows
        return self._rows >= self._enough

    def take(self) -> list[tuple[Trial, pa.Table]]:
        """Removes and returns all rows."""
        taken, self._tables, self._rows = self._tables, [], 0
        return taken


class TableFile:
    """A Parquet file that is being written."""

    checksum: FileChecksum
    """The checksum of the whole file, set after it is on the disk."""

    def __init__(self, path: Path, writer: pq.ParquetWriter) -> None:
        self.path, self._writer = path, writer

    def add(self, rows: pa.Table) -> None:
        """Adds rows as a separate group."""
        if rows.num_rows:
            with disk_errors(self.path):
                self._writer.write_table(rows)


@contextmanager
def table_file(
    path: Path, schema: pa.Schema, before_it_stands: Callable[[FileChecksum], None] | None = None
) -> Iterator[TableFile]:
    """Yields a Parquet file that appears at `path` when it is complete and on the disk.

    `before_it_stands` receives the file's checksum before the file replaces any previous file. On
    any exception the function removes the partial file. Raises `DiskError` for a failed write.
    """
    made = unfinished(path)
    with ExitStack() as cleanup:
        cleanup.callback(made.unlink, missing_ok=True)
        with disk_errors(path):
            # A removed campaign folder must not be created again.
            for folder in (path.parents[2], path.parents[1], path.parents[0]):
                folder.mkdir(exist_ok=True)
            file = create(made)
            cleanup.callback(_close, file)
            writer = _parquet_writer(file, schema)
            cleanup.callback(_close, writer)
        table = TableFile(path, writer)
        yield table
        with disk_errors(path):
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        table.checksum = checksum_of(made)
        if before_it_stands is not None:
            before_it_stands(table.checksum)
        with disk_errors(path):
            made.replace(path)
            for folder in list(path.parents)[:3]:  # of the chunk, of the table, of all tables
                sync_folder(folder)


def read_table(source: Path | bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Reads the Parquet file at a path or in memory, or some of its `columns`.

    Only the calling thread reads. Arrow's own `read_table` reads ahead in other threads. Such a
    thread aborts the process if it releases the file's bytes, a Python object, while the
    interpreter ends.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = pa.BufferReader(source) if isinstance(source, bytes) else source
    with pq.ParquetFile(place, pre_buffer=False) as file:
        return file.read(columns, use_threads=False)


def _parquet_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=_repeated(schema),
        write_page_checksum=True,  # for readers that do not use the manifest
    )


def _close(file: BinaryIO | pq.ParquetWriter) -> None:
    """Closes a file and ignores errors: the file is complete, or it will be removed."""
    with suppress(OSError):
        file.close()


def _repeated(schema: pa.Schema) -> list[str]:
    """The names of the columns to store as dictionaries, because their values often repeat."""
    import pyarrow as pa

    leading = schema.names[: leading_columns(schema)]
    words = [
        field.name
        for field in schema
        if field.name in leading or not pa.types.is_floating(field.type)
    ]
    return [name for name in words if name not in ("digest", "spec")]


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Converts a table to the columns of `schema`. Missing columns contain nulls."""
    import pyarrow as pa

    if table.schema.equals(schema):
        return table
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _schema_of(columns: dict[str, pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(*one) for one in columns.items()])


def widen(known: dict[str, pa.DataType], schema: Iterable[pa.Field]) -> None:
    """Adds the columns of `schema` to `known`.

    A column with two types becomes text if one of them is text, and otherwise becomes a float.
    """
    import pyarrow as pa

    for field in schema:
        before = known.get(field.name)
        if before is None or before == field.type:
            known[field.name] = field.type
        elif pa.types.is_string(before) or pa.types.is_string(field.type):
            known[field.name] = pa.string()
        else:
            known[field.name] = pa.float64()
