"""A campaign's folder.

| Name                                   | Holds                                             |
|----------------------------------------|---------------------------------------------------|
| `manifest.json`                        | trials, versions, the checksums of all files      |
| `tables/TABLE/chunk=0000/rows.parquet` | the rows of a hundred trials in a table           |
| `catalogue.sql`                        | the tables as views, for DuckDB                   |
| `trials/00000.trial`                   | one finished trial, until its chunk is complete   |
| `trials/chunk=0000.json`               | the record of a chunk, until the manifest holds it |
| `trials/lock`                          | locked by the process that runs the campaign      |

The table `trials` has one row per finished trial, with its digest, counts and resolved trial. Every
table begins with trial, conditions and seed.

Files are written atomically, in an order that always permits the completion of an unfinished
folder. Trial files come first, then the tables of a chunk, then the chunk's record with the
checksums of its tables. The chunk's trial files are then removed. The manifest comes last. It marks
the campaign as complete and holds all checksums. The records are then removed. The bytes of a
complete folder depend neither on the number of processes nor on interruptions.

`table_files` refuses damaged tables. `trial_file.fault_of` detects a damaged trial file. `dataset`
counts its trial as missing, and `campaign.runner` runs the missing trials.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aqmlab.base.checksums import FileChecksum, checksum_of, with_checksum
from aqmlab.base.failures import DamagedError, DiskError, RequestError
from aqmlab.base.files import FileLock, disk_errors, write_atomically
from aqmlab.base.text_files import SUFFIXES
from aqmlab.campaign.store import layout
from aqmlab.campaign.store.layout import (
    CATALOGUE,
    FIGURES,
    LOCK,
    MANIFEST,
    PARTS,
    ROWS,
    TABLES,
)
from aqmlab.campaign.store.manifest import (
    FORMAT,
    ConditionValue,
    Direction,
    LinkFacts,
    Manifest,
    read,
)
from aqmlab.campaign.store.trial_file import TrialIdentity, spec_digest
from aqmlab.engines import registry


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial of a campaign; `index` is its position in the campaign, from 0."""

    index: int
    id: str
    seed: int
    conditions: Mapping[str, ConditionValue]
    spec: str
    """The resolved trial as canonical JSON; empty if only its digest is known."""
    engine: str = "sim"
    """The engine that runs the trial."""
    recorded: str | None = None
    """The digest of `spec` in the manifest, if `spec` itself is unknown."""
    links: Mapping[Direction, LinkFacts] = field(default_factory=dict)
    """The slowest link of each direction, except the modem's link."""
    rtt_base_ms: Mapping[str, float] = field(default_factory=dict)
    """The round-trip time without queues, for each application."""

    @property
    def spec_digest(self) -> str:
        """The recorded digest of `spec` if there is one, and otherwise a digest of `spec`."""
        return self.recorded or spec_digest(self.spec)

    def key(self) -> str:
        """The trial's part of the campaign's key: name, seed, conditions, engine and `spec`."""
        told = [self.id, self.seed, dict(self.conditions), self.engine]
        return f"{json.dumps(told)}\n{self.spec}\n"

    def origin(self, campaign: str) -> TrialIdentity:
        """The trial's identity in its trial file."""
        return TrialIdentity(campaign, self.id, self.engine, self.spec_digest)


def recorded_trials(manifest: Manifest) -> list[Trial]:
    """The trials in a manifest, which holds only the digests of resolved trials."""
    return [
        Trial(
            index,
            one.id,
            one.seed,
            one.conditions,
            "",
            one.engine,
            one.spec,
            one.links,
            one.rtt_base_ms,
        )
        for index, one in enumerate(manifest.trials)
    ]


_WRITTEN = (TABLES, PARTS, FIGURES, f"{TABLES}/*", f"{TABLES}/*/*")
"""The patterns of the folders in which a campaign and its report write."""


class Folder:
    """A campaign's folder, which need not exist before the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: FileLock | None = None

    @property
    def manifest_path(self) -> Path:
        """The path of the manifest."""
        return self.path / MANIFEST

    def manifest(self) -> Manifest:
        """The manifest; raises `RequestError` if it is absent or unreadable.

        A folder with a link in place of its own folder also raises this error.
        """
        if self.path.is_file():
            is_scenario = self.path.suffix in SUFFIXES
            made = f"`aqmlab run {self.path}` runs it, and makes a folder" if is_scenario else None
            what = "is a scenario" if is_scenario else "is a file"
            raise RequestError(f"{self.path}: {what}, not the folder of a campaign", made)
        layout.refuse_links(self.path, TABLES, PARTS, FIGURES)
        try:
            return read(self.manifest_path)
        except FileNotFoundError:
            raise RequestError(
                f"{self.path}: not the folder of a campaign: it holds no {MANIFEST}",
                self._below() or "`aqmlab run SCENARIO --out DIR` makes one",
            ) from None

    def _below(self) -> str | None:
        """Suggests a campaign one or two levels below this folder, if any.

        The folder may be a study's results folder.
        """
        found = sorted([*self.path.glob(f"*/{MANIFEST}"), *self.path.glob(f"*/*/{MANIFEST}")])[:1]
        return f"it holds campaigns; did you mean `{found[0].parent}`?" if found else None

    def exists(self) -> bool:
        """Returns whether the manifest exists."""
        return self.manifest_path.is_file()

    def holds_results(self) -> bool:
        """Returns whether the folder has trial files or tables of any campaign."""
        places = ("trials/*.trial", f"{TABLES}/*/*/*.parquet")
        return any(path for place in places for path in self.path.glob(place))

    def write_manifest(self, manifest: Manifest) -> None:
        """Writes the manifest with its checksum, atomically.

        Raises `DiskError` if it cannot be written, and `RequestError` if the locked folder was
        removed or replaced.
        """
        self.refuse_replaced()
        write_atomically(self.manifest_path, with_checksum(manifest.text()))

    def write_catalogue(self, text: str) -> FileChecksum:
        """Writes the SQL of the tables' views atomically; returns the checksum of the file."""
        self.refuse_replaced()
        path = self.path / CATALOGUE
        write_atomically(path, text.encode())
        return checksum_of(path)

    def part_path(self, index: int) -> Path:
        """The path of the trial file for trial number `index`."""
        return self.path / PARTS / f"{index:05d}.trial"

    def chunk_path(self, table: str, chunk: int) -> Path:
        """The path of the file with a chunk's rows of a table."""
        return self.path / TABLES / table / f"chunk={chunk:04d}" / ROWS

    def record_path(self, chunk: int) -> Path:
        """The path of the record of a chunk, which exists until the manifest holds its data."""
        return self.path / PARTS / f"chunk={chunk:04d}.json"

    def relative(self, path: Path) -> str:
        """The form in which the manifest and the records hold a path in this folder."""
        return path.relative_to(self.path).as_posix()

    def damaged(self, path: Path, problem: str) -> DamagedError:
        """The error for a damaged file of this folder, with its remedy."""
        return layout.damaged(self.path, path, problem)

    def make(self) -> None:
        """Creates the folder, with a subfolder for trial files; raises `DiskError`.

        Raises `RequestError` if a link is in the place of one of its own folders or of its lock.
        """
        layout.refuse_links(self.path, *_WRITTEN)
        lock = self.path / PARTS / LOCK
        if lock.is_symlink():
            raise layout.linked(lock, "file")
        try:
            (self.path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.of(error, self.path) from None

    def clear_unfinished(self) -> None:
        """Removes the partial files of killed writers.

        Raises `RequestError` if a link would lead out of the folder.
        """
        layout.refuse_links(self.path, *_WRITTEN)
        for place in (".*.tmp", "trials/.*.tmp", f"{TABLES}/*/chunk=*/.*.tmp"):
            for leftover in self.path.glob(place):
                leftover.unlink(missing_ok=True)

    def remove_parts(self, indices: Iterable[int]) -> None:
        """Removes the trial files for the trials `indices`; raises `DiskError`."""
        for path in map(self.part_path, indices):
            with disk_errors(path):
                path.unlink(missing_ok=True)

    def clear_finished(self) -> None:
        """Removes the files that a complete campaign does not need, and releases the lock.

        These are partial files, the records of chunks and, if it is then empty, the records'
        folder. The campaign counts as complete even if these files cannot be removed.
        """
        if not (self.path / PARTS).is_dir():
            return
        with contextlib.suppress(OSError):  # another process may also complete the campaign
            self._lock = self._lock or FileLock(self.path / PARTS / LOCK)
            self.clear_unfinished()
            for path in self.path.glob("trials/chunk=*.json"):
                path.unlink(missing_ok=True)
        self._release()
        with contextlib.suppress(OSError):  # the folder holds other files of the user
            (self.path / PARTS).rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Creates the folder if necessary, and locks it for this process within the context.

        A killed process also releases the lock. Raises `RequestError` if another process holds it,
        and `DiskError` if the folder cannot be created or locked.
        """
        self.make()
        path = self.path / PARTS / LOCK
        try:
            self._lock = FileLock(path)
        except BlockingIOError:
            raise RequestError(
                f"{self.path}: another process is running this campaign",
                "wait for it, or give another folder with `--out DIR`",
            ) from None
        except OSError as error:
            raise DiskError.of(error, path) from None
        try:
            yield
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def refuse_replaced(self) -> None:
        """Raises `RequestError` if the folder that this process locked was removed or replaced.

        A lock belongs to the locked file, not to its path.
        """
        try:
            is_replaced = self._lock is not None and not self._lock.is_held()
        except OSError as error:
            raise DiskError.of(error, self.path) from None
        if is_replaced:
            raise RequestError(
                f"{self.path}: was removed or replaced while its campaign ran",
                "run the campaign's command again, or give another folder with `--out DIR`",
            )


def campaign_key(trials: Sequence[Trial], engine: str, versions: Mapping[str, str]) -> str:
    """The key of a campaign: a digest of its trials and of the software that runs the trials."""
    made_by = registry.identity(engine, versions)
    folded = hashlib.sha256(f"{FORMAT} {engine} {made_by}\n".encode())
    for trial in trials:
        folded.update(trial.key().encode())
    return folded.hexdigest()[:16]
