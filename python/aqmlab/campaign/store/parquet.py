"""From one file per trial to the tables of a chunk of trials.

Trials are read one at a time and rows leave in groups, so memory does not grow with the
campaign. A table has the columns that any trial gives it; where a trial has no such column
(a gauge that only one discipline has), there is no value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab.base.checksums import FileChecksum, checksum_of
from aqmlab.base.files import disk_errors, sync_folder, unfinished
from aqmlab.campaign.store.folder import Columns, Folder, Trial
from aqmlab.campaign.store.trial_file import Part

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_GROUP = 131_072

TRIALS = "trials"
"""The table of trials itself."""

OF_TRIALS = ("digest", "events", "packets", "spec")
"""Its columns after those of every table."""


class Finished:
    """Finished trials whose own files are still there, and the tables that they make together."""

    def __init__(self, folder: Folder, trials: Sequence[Trial], columns: Columns) -> None:
        self._folder, self._columns = folder, columns
        self.trials = trials
        self._heads: list[tuple[str, int, int, str]] = []
        schemas: dict[str, dict[str, pa.DataType]] = {}
        forms: set[str] = set()
        for trial in self.trials:
            with self._part(trial) as part:
                self._heads.append((part.digest, part.events, part.packets, part.spec))
                if part.form not in forms:
                    forms.add(part.form)
                    for name in part.names():
                        widen(schemas.setdefault(name, {}), part.schema(name))
        self._own = {name: _schema_of(columns) for name, columns in schemas.items()}
        taken = {name for own in self._own.values() for name in own.names}
        self._front = columns.schema({*taken, *OF_TRIALS})

    def names(self) -> list[str]:
        """The tables there are."""
        return [*self._own, TRIALS]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table of all these trials."""
        import pyarrow as pa

        return pa.schema([*self._front, *self._own[name]])

    def totals(self) -> tuple[list[str], int, int]:
        """The digest of each trial, and the events and packets of all."""
        digests = [digest for digest, *_ in self._heads]
        return digests, sum(one[1] for one in self._heads), sum(one[2] for one in self._heads)

    def write(self, chunk: int) -> dict[Path, FileChecksum]:
        """Writes every table of the chunk and returns the checksums of their files.

        Raises `DiskError` and leaves no half of a file.
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
                        if waiting[name].add(trial, fitted(part.table(name), self._own[name])):
                            files[name].add(self._joined(name, waiting[name].take()))
            for name, rest in waiting.items():
                files[name].add(self._joined(name, rest.take()))
        made = {file.path: file.checksum for file in files.values()}
        trials = self._trials_table()
        with table_file(self._folder.chunk_path(TRIALS, chunk), trials.schema) as file:
            file.add(trials)
        return made | {file.path: file.checksum}

    def table(self, name: str) -> pa.Table:
        """One table of all these trials, in memory."""
        if name == TRIALS:
            return self._trials_table()
        rows = []
        for trial in self.trials:
            with self._part(trial) as part:
                if name in part.names():
                    rows.append((trial, fitted(part.table(name), self._own[name])))
        return self._joined(name, rows)

    def _part(self, trial: Trial) -> Part:
        return Part(self._folder.part_path(trial.index))

    def _joined(self, name: str, rows: Sequence[tuple[Trial, pa.Table]]) -> pa.Table:
        """Rows of some trials with the columns in front."""
        import pyarrow as pa

        own = pa.concat_tables([self._own[name].empty_table(), *(table for _, table in rows)])
        front = self._columns.arrays([(trial, table.num_rows) for trial, table in rows])
        table = pa.Table.from_arrays([*front, *own.columns], schema=self.schema(name))
        return table.combine_chunks()

    def _trials_table(self) -> pa.Table:
        import pyarrow as pa

        front = self._columns.arrays([(trial, 1) for trial in self.trials])
        table = pa.Table.from_arrays(front, schema=self._front)
        own = [*zip(*self._heads, strict=True)] if self._heads else [()] * len(OF_TRIALS)
        types = (pa.string(), pa.int64(), pa.int64(), pa.string())
        for name, values, kind in zip(OF_TRIALS, own, types, strict=True):
            table = table.append_column(name, pa.array(values, kind))
        return table


class _Waiting:
    """Rows of a table that wait for others, to be written together."""

    def __init__(self, enough: int) -> None:
        self._enough, self._rows = enough, 0
        self._tables: list[tuple[Trial, pa.Table]] = []

    def add(self, trial: Trial, table: pa.Table) -> bool:
        """Adds rows; says whether there are enough."""
        self._tables.append((trial, table))
        self._rows += table.num_rows
        return self._rows >= self._enough

    def take(self) -> list[tuple[Trial, pa.Table]]:
        """All rows, which then no longer wait."""
        taken, self._tables, self._rows = self._tables, [], 0
        return taken


class TableFile:
    """A Parquet file that is being written."""

    checksum: FileChecksum
    """The checksum of the whole file, once it is on the disk."""

    def __init__(self, path: Path, writer: pq.ParquetWriter) -> None:
        self.path, self._writer = path, writer

    def add(self, rows: pa.Table) -> None:
        """Adds rows, as a group of their own."""
        if rows.num_rows:
            with disk_errors(self.path):
                self._writer.write_table(rows)


@contextmanager
def table_file(
    path: Path, schema: pa.Schema, before_it_stands: Callable[[FileChecksum], None] | None = None
) -> Iterator[TableFile]:
    """A Parquet file that appears at `path` when it is whole and on the disk.

    `before_it_stands` is called with its checksum while another file may still stand in its place.
    Raises `DiskError`, having removed what it had begun.
    """
    made = unfinished(path)
    with ExitStack() as cleanup:
        cleanup.callback(made.unlink, missing_ok=True)
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = made.open("wb")
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
            for folder in list(path.parents)[:3]:  # the chunk's, the table's, that of tables
                sync_folder(folder)


def _parquet_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=_repeated(schema),
        write_page_checksum=True,  # for readers that know nothing of the manifest
    )


def _close(file: BinaryIO | pq.ParquetWriter) -> None:
    """Closes what has been written, or could not be and is about to be removed."""
    with suppress(OSError):
        file.close()


def _repeated(schema: pa.Schema) -> list[str]:
    """The columns in which few values come again and again."""
    import pyarrow as pa

    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return [name for name in words if name not in ("digest", "spec")]


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of `schema` of a table; one that it has not is all nulls."""
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


def widen(known: dict[str, Any], schema: Any) -> None:
    """Adds the columns of `schema` to `known`; words win over numbers, fractions over counts."""
    import pyarrow as pa

    for field in schema:
        before = known.get(field.name)
        if before is None or before == field.type:
            known[field.name] = field.type
        elif pa.types.is_string(before) or pa.types.is_string(field.type):
            known[field.name] = pa.string()
        else:
            known[field.name] = pa.float64()
