"""From one file per trial to one table of all trials.

Trials are read one at a time and rows leave in groups, so memory does not grow with the
campaign. A table has the columns that any trial gives it; where a trial has no such column
(a gauge that only one discipline has), there is no value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
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


class Finished:
    """The finished trials of a campaign, and the tables that they make together."""

    def __init__(self, folder: Folder, trials: Sequence[Trial]) -> None:
        self._folder = folder
        self.trials = [trial for trial in trials if folder.part_path(trial.index).is_file()]
        self.digests: dict[int, str] = {}
        self.events = self.packets = 0
        self._schemas: dict[str, dict[str, pa.DataType]] = {}
        for trial in self.trials:
            with self._part(trial) as part:
                self.digests[trial.index] = part.digest
                self.events += part.events
                self.packets += part.packets
                for name in part.names():
                    _widen(self._schemas.setdefault(name, {}), part.schema(name))
        taken = {column for schema in self._schemas.values() for column in schema}
        self._front = Columns(trials, taken | {"digest", "events", "packets", "spec"})

    def names(self) -> list[str]:
        """The tables there are."""
        return [*self._schemas, TRIALS]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table of all trials."""
        import pyarrow as pa

        fields = [pa.field(*field) for field in self._schemas[name].items()]
        return pa.schema([*self._front.schema(), *fields])

    def write(self) -> None:
        """Writes every table into the folder; raises `DiskError` and leaves no half of one."""
        with ExitStack() as stack:
            files = {
                name: stack.enter_context(
                    _TableFile(self._folder.table_path(name), self.schema(name))
                )
                for name in self._schemas
            }
            for trial in self.trials:
                for name, rows in self._rows(trial):
                    files[name].add(rows)
            trials = self._trials_table()
            file = _TableFile(self._folder.table_path(TRIALS), trials.schema)
            stack.enter_context(file).add(trials)
        sync_folder(self._folder.path)

    def table(self, name: str) -> pa.Table:
        """One table of all finished trials, in memory."""
        import pyarrow as pa

        if name == TRIALS:
            return self._trials_table()
        rows = [rows for trial in self.trials for table, rows in self._rows(trial) if table == name]
        return pa.concat_tables(rows) if rows else self.schema(name).empty_table()

    def _part(self, trial: Trial) -> Part:
        return Part(self._folder.part_path(trial.index))

    def _rows(self, trial: Trial) -> Iterator[tuple[str, pa.Table]]:
        """The tables of one trial, in the form that they have in the table of all."""
        import pyarrow as pa

        with self._part(trial) as part:
            for name in part.names():
                own = part.table(name)
                front = self._front.table(trial, own.num_rows)
                columns = [
                    own[column].cast(kind)
                    if column in own.column_names
                    else pa.nulls(own.num_rows, kind)
                    for column, kind in self._schemas[name].items()
                ]
                yield (
                    name,
                    pa.Table.from_arrays([*front.columns, *columns], schema=self.schema(name)),
                )

    def _trials_table(self) -> pa.Table:
        import pyarrow as pa

        own: dict[str, list[Any]] = {"digest": [], "events": [], "packets": [], "spec": []}
        fronts = []
        for trial in self.trials:
            with self._part(trial) as part:
                values = (part.digest, part.events, part.packets, trial.spec)
            for column, value in zip(own.values(), values, strict=True):
                column.append(value)
            fronts.append(self._front.table(trial, 1))
        front = pa.concat_tables(fronts) if fronts else self._front.schema().empty_table()
        types = (pa.string(), pa.int64(), pa.int64(), pa.string())
        for (name, found), kind in zip(own.items(), types, strict=True):
            front = front.append_column(name, pa.array(found, kind))
        return front.combine_chunks()


class _TableFile:
    """A Parquet file that appears under its name when it is whole."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._schema = schema
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def __enter__(self) -> _TableFile:
        import pyarrow.parquet as pq

        try:
            self._file = self._unfinished.open("wb")
        except OSError as error:
            raise DiskError.of(error, self._path) from error
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")
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

    def _guarded(self, write: Any) -> None:
        try:
            write()
        except OSError as error:
            raise DiskError.of(error, self._path) from error


def _widen(known: dict[str, Any], schema: Any) -> None:
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


def digests_in_order(finished: Finished, trials: Sequence[Trial]) -> list[str | None]:
    """The digest of every trial of a campaign; `None` for one that has no result."""
    digests: Mapping[int, str] = finished.digests
    return [digests.get(trial.index) for trial in trials]
