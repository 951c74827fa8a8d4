"""From one file per trial to the tables of a chunk of trials.

Trials are read one at a time and rows leave in groups, so memory does not grow with the
campaign. A table has the columns that any trial gives it; where a trial has no such column
(a gauge that only one discipline has), there is no value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.failures import DiskError
from aqmlab.parts import Part, sync_folder
from aqmlab.store import Columns, Folder, Trial

if TYPE_CHECKING:
    import pyarrow as pa

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
        self._heads: list[tuple[str, int, int]] = []
        self._schemas: dict[str, dict[str, pa.DataType]] = {}
        for trial in self.trials:
            with self._part(trial) as part:
                self._heads.append((part.digest, part.events, part.packets))
                for name in part.names():
                    widen(self._schemas.setdefault(name, {}), part.schema(name))
        taken = {column for schema in self._schemas.values() for column in schema}
        self._front = columns.schema({*taken, *OF_TRIALS})

    def names(self) -> list[str]:
        """The tables there are."""
        return [*self._schemas, TRIALS]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table of all these trials."""
        import pyarrow as pa

        fields = [pa.field(*field) for field in self._schemas[name].items()]
        return pa.schema([*self._front, *fields])

    def write(self, chunk: int) -> None:
        """Writes every table of the chunk; raises `DiskError` and leaves no half of one."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context(
                    TableFile(self._folder.chunk_path(name, chunk), self.schema(name))
                )
                for name in self._schemas
            }
            for trial in self.trials:
                for name, rows in self._rows(trial):
                    files[name].add(rows)
        trials = self._trials_table()  # whose file says that the others are there
        with TableFile(self._folder.chunk_path(TRIALS, chunk), trials.schema) as file:
            file.add(trials)

    def table(self, name: str) -> pa.Table:
        """One table of all these trials, in memory."""
        import pyarrow as pa

        if name == TRIALS:
            return self._trials_table()
        rows = [rows for trial in self.trials for table, rows in self._rows(trial, name)]
        return pa.concat_tables(rows) if rows else self.schema(name).empty_table()

    def _part(self, trial: Trial) -> Part:
        return Part(self._folder.part_path(trial.index))

    def _rows(self, trial: Trial, only: str | None = None) -> Iterator[tuple[str, pa.Table]]:
        """The tables of one trial, in the form that they have in the table of all."""
        import pyarrow as pa

        with self._part(trial) as part:
            for name in part.names():
                if only not in (None, name):
                    continue
                own = part.table(name)
                front = self._columns.arrays(trial, own.num_rows)
                columns = fitted(own, self._schemas[name])
                yield name, pa.Table.from_arrays([*front, *columns], schema=self.schema(name))

    def _trials_table(self) -> pa.Table:
        import pyarrow as pa

        front = [pa.Table.from_arrays(self._columns.arrays(one, 1), schema=self._front)
                 for one in self.trials]  # fmt: skip
        table = pa.concat_tables(front) if front else self._front.empty_table()
        specs = [trial.spec for trial in self.trials]
        own = [*zip(*self._heads, strict=True)] if self._heads else [(), (), ()]
        types = (pa.string(), pa.int64(), pa.int64(), pa.string())
        for name, values, kind in zip(OF_TRIALS, [*own, specs], types, strict=True):
            table = table.append_column(name, pa.array(values, kind))
        return table.combine_chunks()


class TableFile:
    """A Parquet file that appears under its name when it is whole and on the disk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._schema = schema
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def __enter__(self) -> TableFile:
        import pyarrow.parquet as pq

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._unfinished.open("wb")
        except OSError as error:
            raise DiskError.of(error, self._path) from error
        self._writer = pq.ParquetWriter(
            self._file, self._schema, compression="zstd", use_dictionary=_repeated(self._schema)
        )
        return self

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if self._rows >= ROWS_PER_GROUP:
            self._guarded(self._flush)

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            if failed is None:
                self._guarded(self._finish)
        finally:
            with suppress(OSError):  # of a file that could not be written, which is removed
                self._writer.close()
            self._file.close()
            self._unfinished.unlink(missing_ok=True)

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._waiting, self._rows = [], 0

    def _finish(self) -> None:
        self._flush()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._unfinished.replace(self._path)
        for folder in list(self._path.parents)[:3]:  # the chunk's, the table's, that of tables
            sync_folder(folder)

    def _guarded(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            raise DiskError.of(error, self._path) from error


def _repeated(schema: pa.Schema) -> list[str]:
    """The columns in which few values come again and again."""
    import pyarrow as pa

    words = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return [name for name in words if name not in ("digest", "spec")]


def fitted(table: pa.Table, columns: dict[str, pa.DataType]) -> list[Any]:
    """The `columns` of a table in their types; one that it has not is all nulls."""
    import pyarrow as pa

    return [
        table[name].cast(kind) if name in table.column_names else pa.nulls(table.num_rows, kind)
        for name, kind in columns.items()
    ]


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
