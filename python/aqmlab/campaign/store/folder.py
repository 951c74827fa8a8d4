"""A campaign's folder.

| Name                                   | Holds                                             |
|----------------------------------------|---------------------------------------------------|
| `manifest.json`                        | what was run, by what; the checksums of all files |
| `tables/TABLE/chunk=0000/rows.parquet` | the rows of a hundred trials in a table           |
| `catalogue.sql`                        | the tables as views, for DuckDB                   |
| `trials/00000.zip`                     | a finished trial each, until its hundred are there |
| `trials/chunk=0000.json`               | the record of a chunk, until the manifest holds it |
| `trials/lock`                          | locked by the process that runs the campaign      |

The table `trials` has one row per trial: conditions, seed, digest, and the trial resolved. Every
other begins with trial, conditions and seed.

Every file appears whole or not at all, in an order in which a half-finished folder can always
be finished: trials; the tables of a chunk; the chunk's record, with the checksums of its tables;
only then are its trials' own files removed; at the end, the manifest that calls the campaign
complete and holds all checksums; then the records go. No byte of a complete folder depends on how
many processes ran it, nor on how often it was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.checksums import FileChecksum, checksum_of, with_checksum
from aqmlab.base.failures import DamagedError, DiskError, RequestError
from aqmlab.base.files import Claim, disk_errors, write_atomically
from aqmlab.base.text_files import SUFFIXES
from aqmlab.campaign.store.manifest import FORMAT, read
from aqmlab.campaign.store.trial_file import Origin, spec_digest
from aqmlab.engines import registry

MANIFEST = "manifest.json"
CATALOGUE = "catalogue.sql"
TABLES = "tables"
ROWS = "rows.parquet"


_PARTS = "trials"
_CLAIM = "lock"


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial as its campaign's folder knows it."""

    index: int
    id: str
    seed: int
    conditions: Mapping[str, Any]
    spec: str
    """The resolved trial, as JSON in one spelling; empty where only its name is known."""
    engine: str = "sim"
    """What runs it."""
    recorded: str | None = None
    """The digest of `spec` that the manifest holds, where only that is known."""

    @property
    def spec_digest(self) -> str:
        """Stands for `spec`."""
        return self.recorded or spec_digest(self.spec)

    def key(self) -> str:
        """What identifies the trial: all that tables say of it, and all that the run depends on."""
        told = [self.id, self.seed, dict(self.conditions), self.engine]
        return f"{json.dumps(told)}\n{self.spec}\n"

    def origin(self, campaign: str) -> Origin:
        """The trial, as its own file names it."""
        return Origin(campaign, self.id, self.engine, self.spec_digest)


def recorded_trials(manifest: Mapping[str, Any]) -> list[Trial]:
    """The trials as a manifest has them: of what was run, only the digest is known."""
    return [
        Trial(
            index,
            entry["id"],
            entry["seed"],
            entry["conditions"],
            "",
            entry.get("engine", "sim"),
            recorded=entry["spec"],
        )
        for index, entry in enumerate(manifest["trials"])
    ]


class Folder:
    """A campaign's folder; it need not exist before it is written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claim: Claim | None = None

    @property
    def manifest_path(self) -> Path:
        """Where the manifest is."""
        return self.path / MANIFEST

    def manifest(self) -> dict[str, Any]:
        """The manifest; raises `RequestError` if there is none that can be read."""
        if self.path.is_file():
            is_scenario = self.path.suffix in SUFFIXES
            made = f"`aqmlab run {self.path}` runs it, and makes a folder" if is_scenario else None
            what = "is a scenario" if is_scenario else "is a file"
            raise RequestError(f"{self.path}: {what}, not the folder of a campaign", made)
        try:
            manifest = read(self.manifest_path)
        except FileNotFoundError:
            raise RequestError(
                f"{self.path}: not the folder of a campaign: it holds no {MANIFEST}",
                "`aqmlab run SCENARIO --out DIR` makes one",
            ) from None
        return manifest

    def exists(self) -> bool:
        """Whether there is a manifest."""
        return self.manifest_path.is_file()

    def holds_results(self) -> bool:
        """Whether there are trials or tables, of whatever campaign."""
        places = ("trials/*.zip", f"{TABLES}/*/*/*.parquet")
        return any(path for place in places for path in self.path.glob(place))

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces the manifest."""
        self.refuse_replaced()
        members = {name: value for name, value in manifest.items() if name != "checksum"}
        write_atomically(self.manifest_path, with_checksum(text_of(members)))

    def write_catalogue(self, text: str) -> FileChecksum:
        """Replaces the views of the tables; returns the checksum of their file."""
        self.refuse_replaced()
        path = self.path / CATALOGUE
        write_atomically(path, text.encode())
        return checksum_of(path)

    def part_path(self, index: int) -> Path:
        """Where trial number `index` is left when it is finished."""
        return self.path / _PARTS / f"{index:05d}.zip"

    def chunk_path(self, table: str, chunk: int) -> Path:
        """Where the rows of a chunk of trials in a table are."""
        return self.path / TABLES / table / f"chunk={chunk:04d}" / ROWS

    def record_path(self, chunk: int) -> Path:
        """Where the record of a chunk is until the manifest holds it."""
        return self.path / _PARTS / f"chunk={chunk:04d}.json"

    def relative(self, path: Path) -> str:
        """A path in this folder as manifest and records name it."""
        return path.relative_to(self.path).as_posix()

    def damaged(self, path: Path, problem: str) -> DamagedError:
        """The error for a file of a table that is not as it was written, with its remedy."""
        hint = "remove the folder and run the campaign again"
        if path.parent.name == _PARTS:
            hint = "give the campaign's command again: it runs the trials of that file"
        elif path.parent.name.startswith("chunk="):
            hint = (
                f"remove {self.path / TABLES}/*/{path.parent.name} and give the campaign's command"
                " again: it runs the trials of that part, and keeps the others"
            )
        return DamagedError(f"{path}: is damaged: {problem}", hint)

    def make(self) -> None:
        """Makes the folder, with room for trials."""
        try:
            (self.path / _PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.of(error, self.path) from None

    def clear_unfinished(self) -> None:
        """Removes what a killed writer left behind."""
        for place in (".*.tmp", "trials/.*.tmp", f"{TABLES}/*/chunk=*/.*.tmp"):
            for leftover in self.path.glob(place):
                leftover.unlink(missing_ok=True)

    def remove_parts(self, indices: Iterable[int]) -> None:
        """Removes trials' own files, once the tables hold them; raises `DiskError`."""
        for path in map(self.part_path, indices):
            with disk_errors(path):
                path.unlink(missing_ok=True)

    def clear_finished(self) -> None:
        """Removes what a complete campaign needs no more: the records of chunks, and their room.

        A folder that cannot be written is complete too.
        """
        if not (self.path / _PARTS).is_dir():
            return
        with contextlib.suppress(OSError):  # which another process that completes it raises, too
            self._claim = self._claim or Claim(self.path / _PARTS / _CLAIM)
            self.clear_unfinished()
            for path in self.path.glob("trials/chunk=*.json"):
                path.unlink(missing_ok=True)
        self._release()
        with contextlib.suppress(OSError):  # somebody keeps something of their own there
            (self.path / _PARTS).rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process alone; the lock goes with the process."""
        self.make()
        path = self.path / _PARTS / _CLAIM
        try:
            self._claim = Claim(path)
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
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def refuse_replaced(self) -> None:
        """Raises `RequestError` if this process held the folder, and another one stands there now.

        A lock goes with the file that is locked, and stays behind when the folder is removed.
        """
        try:
            is_replaced = self._claim is not None and not self._claim.is_held()
        except OSError as error:
            raise DiskError.of(error, self.path) from None
        if is_replaced:
            raise RequestError(
                f"{self.path}: was removed or replaced while its campaign ran",
                "give the campaign's command again, or another folder with `--out DIR`",
            )


def text_of(manifest: Mapping[str, Any]) -> str:
    """A line for each member, for each member of a list, such as each trial, and for each file."""
    members = []
    for key, value in manifest.items():
        if isinstance(value, list) and value:
            lines = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in value)
            text = f"[\n  {lines}\n ]"
        elif key == "files" and value:
            named = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items())
            text = "{\n  " + ",\n  ".join(named) + "\n }"
        else:
            text = json.dumps(value, ensure_ascii=False)
        members.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def campaign_key(trials: Sequence[Trial], engine: str, versions: Mapping[str, str]) -> str:
    """What identifies a campaign: its trials, and what runs them."""
    made_by = registry.identity(engine, versions)
    folded = hashlib.sha256(f"{FORMAT} {engine} {made_by}\n".encode())
    for trial in trials:
        folded.update(trial.key().encode())
    return folded.hexdigest()[:16]


def digest_of(trials: Sequence[Trial], digests: Sequence[str | None]) -> str:
    """The digest of a campaign: every trial's name and digest, in order."""
    folded = hashlib.sha256()
    for trial, digest in zip(trials, digests, strict=True):
        folded.update(f"{trial.id} {digest}\n".encode())
    return folded.hexdigest()[:16]
