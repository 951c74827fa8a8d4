"""The tables of a campaign as a data set: a file for each hundred trials of each table.

A chunk is sealed as soon as its trials are finished: its tables are written, then its record, and
the trials' own files go. So a campaign needs the memory of one chunk, whatever its size, and what
is sealed can be queried while the rest runs. Chunks are counted off in the order of trials rather
than made of conditions: their number is known beforehand, no value of a condition must be fit for a
file's name, and neighbours share what the outer loops vary, which is what a filter asks for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.checksums import FileChecksum, checksum_of
from aqmlab.base.files import write_atomically
from aqmlab.campaign.store import chunk_record
from aqmlab.campaign.store.chunk_record import Alternatives, ChunkRecord
from aqmlab.campaign.store.folder import Columns, Folder, Trial
from aqmlab.campaign.store.parquet import OF_TRIALS, TRIALS, Finished, fitted, table_file, widen
from aqmlab.campaign.store.table_files import TableFiles, table_files
from aqmlab.campaign.store.trial_file import is_whole

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 100
"""Trials in a chunk: of 1500 trials, fifteen files of some megabytes for each table."""


@dataclass(slots=True)
class Found:
    """The results that stand in a campaign's tables."""

    digests: dict[int, str] = field(default_factory=dict)
    """The digest of each finished trial, by its index."""
    events: int = 0
    packets: int = 0
    files: dict[str, FileChecksum] = field(default_factory=dict)
    """The checksum of each file, by its path in the campaign's folder."""

    def add(self, trials: Sequence[Trial], chunk: ChunkRecord) -> None:
        """Adds the results of some trials of a chunk."""
        self.digests |= zip((one.index for one in trials), chunk.digests, strict=True)
        self.events += chunk.events
        self.packets += chunk.packets
        self.files |= {name: known[-1] for name, known in chunk.files.items()}


class Dataset:
    """The finished trials of a campaign in its folder; `campaign` is the campaign's key."""

    def __init__(self, folder: Folder, trials: Sequence[Trial], campaign: str) -> None:
        self._folder, self._campaign = folder, campaign
        self._columns = Columns(trials)
        self.chunks = [trials[start : start + CHUNK] for start in range(0, len(trials), CHUNK)]
        self._records = {
            chunk: record
            for chunk, own in enumerate(self.chunks)
            if (record := self._read_record(chunk, own)) is not None
        }
        self._recorded = [self._recorded_in(chunk) for chunk in range(len(self.chunks))]
        self._sealing: Future[None] | None = None
        self._sealer: ThreadPoolExecutor

    def has(self, trial: Trial) -> bool:
        """Whether a trial is finished."""
        return trial.index in self._recorded[trial.index // CHUNK]

    def verify(self) -> None:
        """Raises `RequestError` for a file of a sealed chunk that is not as it was written."""
        sealed: dict[str, Alternatives] = {}
        for record in self._records.values():
            sealed |= record.files
        TableFiles(self._folder, sealed, all_listed=False).verify()

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

    def is_full(self, chunk: int) -> bool:
        """Whether all trials of a chunk are finished."""
        return len(self._recorded[chunk]) == len(self.chunks[chunk])

    def complete(self) -> Found:
        """Writes what is not in the tables yet; returns what is in them."""
        found = Found()
        for chunk, trials in enumerate(self.chunks):
            if self.is_full(chunk):
                self._seal(chunk)
            elif self._recorded[chunk]:
                # Of a chunk that lacks trials the trials' own files stay, and no record is written.
                present = [one for one in trials if self.has(one)]
                found.add(present, self._write_tables(chunk))
        if len(self._records) == len(self.chunks):
            self._make_alike()
        for chunk, record in self._records.items():
            found.add(self.chunks[chunk], record)
        return found

    def unsealed(self, chunk: int) -> Finished | None:
        """The trials of a chunk from their own files, if it has no record."""
        return None if chunk in self._records else self._finished(chunk)

    def _finished(self, chunk: int) -> Finished:
        trials = [one for one in self.chunks[chunk] if self.has(one)]
        return Finished(self._folder, trials, self._columns)

    def _recorded_in(self, chunk: int) -> set[int]:
        trials = self.chunks[chunk]
        if chunk in self._records:
            return {one.index for one in trials}
        path = self._folder.part_path
        return {
            one.index
            for one in trials
            if is_whole(path(one.index), one.spec_digest, self._campaign)
        }

    def _read_record(self, chunk: int, trials: Sequence[Trial]) -> ChunkRecord | None:
        """The record of a chunk, unless none of its files is left: then its trials are lost."""
        record = chunk_record.read(self._folder.record_path(chunk))
        if record is None or record.campaign != self._campaign:
            return None
        is_whole = len(record.digests) == len(trials)
        exist = any(os.path.lexists(self._folder.path / name) for name in record.files)
        return record if is_whole and exist else None

    def _keep_record(self, chunk: int, record: ChunkRecord) -> None:
        record.write(self._folder.record_path(chunk))
        self._records[chunk] = record

    def _seal(self, chunk: int) -> None:
        """Writes tables and record of a finished chunk; then removes the trials' own files."""
        if chunk not in self._records:
            self._keep_record(chunk, self._write_tables(chunk))
        self._folder.remove_parts([one.index for one in self.chunks[chunk]])

    def _write_tables(self, chunk: int) -> ChunkRecord:
        """Writes the tables of what is finished in a chunk."""
        finished = self._finished(chunk)
        files = {
            self._folder.relative(path): (checksum,)
            for path, checksum in finished.write(chunk).items()
        }
        digests, events, packets = finished.totals()
        return ChunkRecord(self._campaign, digests, events, packets, files)

    def _wait(self) -> None:
        if self._sealing is not None:
            self._sealing.result()
        self._sealing = None

    def _make_alike(self) -> None:
        """Gives all files of a table the same columns, for readers that look at one only."""
        import pyarrow.parquet as pq

        chunks = {
            self._folder.path / name: chunk
            for chunk, record in self._records.items()
            for name in record.files
        }
        schemas = {path: pq.read_schema(path) for path in sorted(chunks)}
        front, taken = self._columns.count, set(OF_TRIALS)
        for schema in schemas.values():
            taken.update(schema.names[front:])
        for paths in _by_table(schemas):
            known: dict[str, Any] = {}
            for path in paths:
                widen(known, list(schemas[path])[front:])
            wanted = _with(self._columns.schema(taken), known)
            for path in paths:
                self._replace(chunks[path], path, front, wanted, is_due=schemas[path] != wanted)

    def _replace(
        self, chunk: int, path: Path, front: int, schema: pa.Schema, *, is_due: bool
    ) -> None:
        """Rewrites a file with the columns of `schema` if that `is_due`, and knows its checksum.

        The record has the old and the new checksum while the one file takes the other's place.
        """
        name = self._folder.relative(path)
        if is_due:

            def before_it_stands(new: FileChecksum) -> None:
                old = checksum_of(path)
                files = {**self._records[chunk].files, name: (old, new)}
                self._keep_record(chunk, replace(self._records[chunk], files=files))

            _rewrite(path, front, schema, before_it_stands)
        elif len(self._records[chunk].files[name]) > 1:
            files = {**self._records[chunk].files, name: (checksum_of(path),)}
            self._records[chunk] = replace(self._records[chunk], files=files)


def is_in_tables(folder: Folder, trial: Trial) -> bool:
    """Whether there are tables of the chunk that a recorded trial belongs to."""
    return folder.chunk_path(TRIALS, trial.index // CHUNK).is_file()


def lost_trials(
    folder: Folder, manifest: Mapping[str, Any], trials: Sequence[Trial]
) -> list[Trial]:
    """The trials of a complete campaign of which somebody removed the tables.

    Raises `RequestError` for a file that is not as it was written.
    """
    files = table_files(folder, manifest)
    lost = files.lost_chunks()
    files.without(lost).verify()
    return [
        one for one in trials if folder.chunk_path(TRIALS, one.index // CHUNK).parent.name in lost
    ]


def write_records(
    folder: Folder, manifest: Mapping[str, Any], files: TableFiles, trials: Sequence[Trial]
) -> None:
    """Writes the records of the chunks that are left of a complete campaign: those in `files`."""
    import pyarrow.parquet as pq

    for chunk in range(0, len(trials), CHUNK):
        number = chunk // CHUNK
        name = folder.chunk_path(TRIALS, number).parent.name
        if name not in files.chunks():
            continue
        (path,) = files.paths(TRIALS, name)
        counts = pq.read_table(path, columns=["events", "packets"], partitioning=None)
        ChunkRecord(
            manifest["campaign"],
            manifest["digests"][chunk : chunk + CHUNK],
            sum(counts["events"].to_pylist()),
            sum(counts["packets"].to_pylist()),
            files.of_chunk(name),
        ).write(folder.record_path(number))


def _by_table(paths: Mapping[Path, object]) -> list[list[Path]]:
    """The files of each table."""
    tables: dict[str, list[Path]] = {}
    for path in paths:
        tables.setdefault(path.parent.parent.name, []).append(path)
    return list(tables.values())


def _with(front: pa.Schema, columns: dict[str, pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([*front, *(pa.field(*one) for one in columns.items())])


def _rewrite(path: Path, front: int, schema: pa.Schema, before_it_stands: Any) -> None:
    """Gives a file's table the columns of `schema`, of which so many are in front."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path, partitioning=None)
    own = fitted(table.select(table.column_names[front:]), pa.schema(list(schema)[front:]))
    with table_file(path, schema, before_it_stands) as file:
        arrays = [*table.columns[:front], *own.columns]
        file.add(pa.Table.from_arrays(arrays, schema=schema))
