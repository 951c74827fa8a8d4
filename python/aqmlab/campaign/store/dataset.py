"""The tables of a campaign as a data set. Each table has a file for each chunk of a hundred trials.

A chunk is sealed as soon as its trials are finished: its tables are written, then its record, and
its trial files are removed. A campaign of any size therefore needs memory for one chunk only, and
sealed chunks can be queried while other trials run. Chunks follow the order of trials, not their
conditions. The number of chunks is then known in advance, and values of conditions need not be
valid file names. Neighbouring trials share the values of the outer loops, on which queries usually
filter.

`Dataset.has` decides whether a trial has an intact result. A resumed campaign runs the other
trials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from aqmlab.base.checksums import FileChecksum, contents, mismatch
from aqmlab.base.files import reason_of, write_atomically
from aqmlab.campaign.store import chunk_record
from aqmlab.campaign.store.chunk_record import Alternatives, ChunkRecord
from aqmlab.campaign.store.columns import Columns, leading_columns
from aqmlab.campaign.store.folder import Folder, Trial
from aqmlab.campaign.store.layout import OF_TRIALS, TRIALS
from aqmlab.campaign.store.manifest import Manifest
from aqmlab.campaign.store.parquet import (
    KEPT_BYTES,
    Finished,
    fitted,
    read_table,
    table_file,
    widen,
)
from aqmlab.campaign.store.table_files import TableFiles, table_files
from aqmlab.campaign.store.trial_file import fault_of, spec_digest

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 100
"""The number of trials in a chunk; the last chunk may have fewer."""


@dataclass(slots=True)
class RecordedResults:
    """The results in a campaign's tables."""

    digests: dict[int, str] = field(default_factory=dict)
    """The digest of each finished trial, by the trial's index."""
    events: int = 0
    packets: int = 0
    files: dict[str, FileChecksum] = field(default_factory=dict)
    """The checksum of each file, by the file's path in the campaign's folder."""

    def add(self, trials: Sequence[Trial], chunk: ChunkRecord) -> None:
        """Adds the results of `chunk`, whose recorded trials are `trials`."""
        self.digests |= zip((one.index for one in trials), chunk.digests, strict=True)
        self.events += chunk.events
        self.packets += chunk.packets
        self.files |= {name: known[-1] for name, known in chunk.files.items()}


class Dataset:
    """The finished trials in a campaign's folder. `campaign` is the campaign's key."""

    def __init__(self, folder: Folder, trials: Sequence[Trial], campaign: str) -> None:
        self._folder, self._campaign = folder, campaign
        self._columns = Columns(trials)
        self.chunks = [trials[start : start + CHUNK] for start in range(0, len(trials), CHUNK)]
        self.damaged: dict[Path, str] = {}
        """The damaged records and trial files, with the problem of each."""
        self._records = self._read_records(self.damaged)
        self._sealing: Future[None] | None = None
        self._sealer: ThreadPoolExecutor

    @cached_property
    def _recorded(self) -> list[set[int]]:
        """The indices of the finished trials of each chunk."""
        return [self._recorded_in(chunk) for chunk in range(len(self.chunks))]

    def has(self, trial: Trial) -> bool:
        """Returns whether a trial is finished."""
        return trial.index in self._recorded[trial.index // CHUNK]

    def files(self) -> TableFiles:
        """The table files of sealed chunks."""
        sealed: dict[str, Alternatives] = {}
        for record in self._records.values():
            sealed |= record.files
        return TableFiles(self._folder, sealed, all_listed=False)

    def verify(self) -> None:
        """Raises `RequestError` for the first damaged file of a sealed chunk."""
        self.files().verify()

    def sealed(self) -> list[Trial]:
        """The trials of sealed chunks."""
        return [one for chunk in self._records for one in self.chunks[chunk]]

    def has_moved(self) -> bool:
        """Returns whether the records in the folder have changed since this object read them."""
        return self._read_records({}) != self._records

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A context in which `keep` can be called. A thread seals chunks in the background."""
        with ThreadPoolExecutor(1, thread_name_prefix="aqmlab-seal") as self._sealer:
            yield
            self._wait()

    def keep(self, trial: Trial, data: bytes) -> None:
        """Writes the trial file of a finished trial. Starts to seal its chunk if the chunk is full.

        Raises `DiskError` if a file cannot be written, and `RequestError` if the folder was removed
        or replaced.
        """
        chunk = trial.index // CHUNK
        self._folder.refuse_replaced()
        write_atomically(self._folder.part_path(trial.index), data, synced=False)
        self._recorded[chunk].add(trial.index)
        if self.is_full(chunk):
            self._wait()  # at most one chunk may be in memory
            self._sealing = self._sealer.submit(self._seal, chunk)

    def is_full(self, chunk: int) -> bool:
        """Returns whether all trials of a chunk are finished."""
        return len(self._recorded[chunk]) == len(self.chunks[chunk])

    def complete(self) -> RecordedResults:
        """Writes the remaining trials to the tables; returns all results in the tables.

        Gives all files of a table the same columns if all trials are finished. Raises
        `RequestError` if a file of a sealed chunk is damaged, or if the tables do not hold the
        recorded trials.
        """
        self.verify()  # a chunk may have been sealed hours ago
        found = RecordedResults()
        for chunk, trials in enumerate(self.chunks):
            if self.is_full(chunk):
                self._seal(chunk)
            elif self._recorded[chunk]:
                # An incomplete chunk keeps its trial files and has no record.
                present = [one for one in trials if self.has(one)]
                found.add(present, self._write_tables(chunk))
        if len(self._records) == len(self.chunks):
            self._make_alike()
        for chunk, record in self._records.items():
            found.add(self.chunks[chunk], record)
        self._hold_against_tables(found)
        return found

    def unsealed(self, chunk: int) -> Finished | None:
        """The finished trials in the trial files of a chunk; `None` if the chunk has a record."""
        return None if chunk in self._records else self._finished(chunk)

    def _finished(self, chunk: int, kept_bytes: int = 0) -> Finished:
        trials = [one for one in self.chunks[chunk] if self.has(one)]
        return Finished(self._folder, trials, self._columns, self._campaign, kept_bytes)

    def _recorded_in(self, chunk: int) -> set[int]:
        trials = self.chunks[chunk]
        if chunk in self._records:
            return {one.index for one in trials}
        return {one.index for one in trials if self._has_part(one)}

    def _has_part(self, trial: Trial) -> bool:
        """Returns whether a trial file exists and is intact; adds a damaged file to `damaged`."""
        path = self._folder.part_path(trial.index)
        try:
            fault = fault_of(path, trial.origin(self._campaign))
        except FileNotFoundError:
            return False
        if fault is not None:
            self.damaged[path] = fault
        return fault is None

    def _read_records(self, damaged: dict[Path, str]) -> dict[int, ChunkRecord]:
        """The valid records by chunk; adds invalid records to `damaged`.

        A record is ignored if all files of its chunk are gone.
        """
        found = {}
        for chunk, trials in enumerate(self.chunks):
            path = self._folder.record_path(chunk)
            try:
                record = chunk_record.read(path)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                damaged[path] = reason_of(error)
                continue
            where = self._folder.chunk_path(TRIALS, chunk).parent.name
            fault = record.fault(self._campaign, chunk, len(trials), where)
            if fault is not None:
                damaged[path] = fault
            elif any(os.path.lexists(self._folder.path / name) for name in record.files):
                found[chunk] = record  # if no file is left, the user removed all to repeat trials
        return found

    def _hold_against_tables(self, found: RecordedResults) -> None:
        """Checks that the table `trials` holds each trial of `found` once, with its digests.

        Raises `RequestError` if not, or if a file of the table is damaged.
        """
        for chunk, trials in enumerate(self.chunks):
            path = self._folder.chunk_path(TRIALS, chunk)
            expected = [
                (one.id, found.digests[one.index], one.spec_digest)
                for one in trials
                if one.index in found.digests
            ]
            if not expected:
                continue
            data, problem = contents(path, [found.files[self._folder.relative(path)]])
            if problem is None:
                rows = read_table(data, ["trial", "digest", "spec"])
                names, digests, specs = (column.to_pylist() for column in rows.columns)
                if [*zip(names, digests, map(spec_digest, specs), strict=True)] != expected:
                    problem = "it holds other trials than its record says"
            if problem is not None:
                raise self._folder.damaged(path, problem)

    def _keep_record(self, chunk: int, record: ChunkRecord) -> None:
        self._folder.refuse_replaced()
        record.write(self._folder.record_path(chunk))
        self._records[chunk] = record

    def _seal(self, chunk: int) -> None:
        """Writes the tables and the record of a finished chunk, then removes its trial files."""
        self._folder.refuse_replaced()
        if chunk not in self._records:
            self._keep_record(chunk, self._write_tables(chunk))
        self._folder.remove_parts([one.index for one in self.chunks[chunk]])

    def _write_tables(self, chunk: int) -> ChunkRecord:
        """Writes the tables of the finished trials of a chunk; returns the chunk's record."""
        self._folder.refuse_replaced()
        finished = self._finished(chunk, KEPT_BYTES)
        files = {
            self._folder.relative(path): (checksum,)
            for path, checksum in finished.write(chunk).items()
        }
        digests, events, packets = finished.totals()
        return ChunkRecord(self._campaign, chunk, digests, events, packets, files)

    def _wait(self) -> None:
        if self._sealing is not None:
            self._sealing.result()
        self._sealing = None

    def _make_alike(self) -> None:
        """Gives all files of a table the same columns.

        Some readers take the names of columns from one file only.
        """
        import pyarrow.parquet as pq

        chunks = {
            self._folder.path / name: chunk
            for chunk, record in self._records.items()
            for name in record.files
        }
        schemas = {path: pq.read_schema(path) for path in sorted(chunks)}
        taken = set(OF_TRIALS)
        for schema in schemas.values():
            taken.update(schema.names[leading_columns(schema) :])
        for paths in _by_table(schemas):
            known: dict[str, pa.DataType] = {}
            front = leading_columns(schemas[paths[0]])
            for path in paths:
                widen(known, list(schemas[path])[front:])
            wanted = _with(self._columns.schema(taken, known), known)
            for path in paths:
                self._replace(chunks[path], path, front, wanted, is_due=schemas[path] != wanted)

    def _replace(
        self, chunk: int, path: Path, front: int, schema: pa.Schema, *, is_due: bool
    ) -> None:
        """Rewrites a file with the columns of `schema` if `is_due`.

        Before the replacement, the new checksum is added to the record beside the old checksum, so
        the record matches the file at every moment. If the file was already rewritten, only its
        present checksum is kept. Raises `RequestError` if the file is damaged.
        """
        name = self._folder.relative(path)
        if is_due:
            self._folder.refuse_replaced()

            def before_it_stands(new: FileChecksum) -> None:
                files = {**self._records[chunk].files, name: (self._valid(chunk, path), new)}
                self._keep_record(chunk, replace(self._records[chunk], files=files))

            _rewrite(path, front, schema, before_it_stands)
        elif len(self._records[chunk].files[name]) > 1:
            files = {**self._records[chunk].files, name: (self._valid(chunk, path),)}
            self._records[chunk] = replace(self._records[chunk], files=files)

    def _valid(self, chunk: int, path: Path) -> FileChecksum:
        """The checksum of a file of a sealed chunk; raises `RequestError` if it is not recorded.

        The checksum of a damaged file would make the damage valid.
        """
        problem = ""
        for one in self._records[chunk].files[self._folder.relative(path)]:
            found = mismatch(path, [one])
            if found is None:
                return one
            problem = found
        raise self._folder.damaged(path, problem)


def is_in_tables(folder: Folder, trial: Trial) -> bool:
    """Returns whether the chunk of `trial` has a file in the table `trials`."""
    return folder.chunk_path(TRIALS, trial.index // CHUNK).is_file()


def lost_trials(folder: Folder, manifest: Manifest, trials: Sequence[Trial]) -> list[Trial]:
    """The trials of a complete campaign in chunks that have lost all their files.

    Raises `RequestError` for a damaged file of another chunk.
    """
    files = table_files(folder, manifest)
    lost = files.lost_chunks()
    files.without(lost).verify()
    return [
        one for one in trials if folder.chunk_path(TRIALS, one.index // CHUNK).parent.name in lost
    ]


def write_records(
    folder: Folder, manifest: Manifest, files: TableFiles, trials: Sequence[Trial]
) -> None:
    """Writes the records of the chunks of a complete campaign that have files in `files`."""
    digests = manifest.digests or ()
    for chunk in range(0, len(trials), CHUNK):
        number = chunk // CHUNK
        name = folder.chunk_path(TRIALS, number).parent.name
        if name not in files.chunks():
            continue
        (path,) = files.paths(TRIALS, name)
        counts = read_table(path, ["events", "packets"])
        ChunkRecord(
            manifest.campaign,
            number,
            tuple(filter(None, digests[chunk : chunk + CHUNK])),
            sum(counts["events"].to_pylist()),
            sum(counts["packets"].to_pylist()),
            files.of_chunk(name),
        ).write(folder.record_path(number))


def _by_table(paths: Mapping[Path, object]) -> list[list[Path]]:
    """Groups table files by table."""
    tables: dict[str, list[Path]] = {}
    for path in paths:
        tables.setdefault(path.parent.parent.name, []).append(path)
    return list(tables.values())


def _with(front: pa.Schema, columns: dict[str, pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([*front, *(pa.field(*one) for one in columns.items())])


def _rewrite(path: Path, front: int, schema: pa.Schema, before_it_stands: Any) -> None:
    """Rewrites a file with the columns of `schema`, which begin with `front` leading columns."""
    import pyarrow as pa

    table = read_table(path)
    own = fitted(table.select(table.column_names[front:]), pa.schema(list(schema)[front:]))
    with table_file(path, schema, before_it_stands) as file:
        arrays = [*table.columns[:front], *own.columns]
        file.add(pa.Table.from_arrays(arrays, schema=schema))
