"""A campaign's folder.

| Name                                   | Holds                                             |
|----------------------------------------|---------------------------------------------------|
| `manifest.json`                        | what was run, by what; the checksums of all files |
| `tables/TABLE/chunk=0000/rows.parquet` | the rows of a hundred trials in a table           |
| `catalogue.sql`                        | the tables as views, for DuckDB                   |
| `trials/00000.zip`                     | a finished trial each, until its hundred are there |
| `trials/chunk=0000.json`               | the record of a chunk, until the manifest holds it |

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.checksums import FileChecksum, checksum_of, with_checksum
from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.files import locked, write_atomically
from aqmlab.base.text_files import SUFFIXES
from aqmlab.campaign.store.manifest import FORMAT, read
from aqmlab.campaign.store.trial_file import spec_digest
from aqmlab.engines import registry
from aqmlab.results.labels import condition_text

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
CATALOGUE = "catalogue.sql"
TABLES = "tables"
ROWS = "rows.parquet"


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
        """What identifies the trial: its name and everything that the run depends on."""
        return f"{self.id}\n{self.spec}\n"


class Folder:
    """A campaign's folder; it need not exist before it is written to."""

    def __init__(self, path: Path) -> None:
        self.path = path

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
        members = {name: value for name, value in manifest.items() if name != "checksum"}
        write_atomically(self.manifest_path, with_checksum(text_of(members)))

    def write_catalogue(self, text: str) -> FileChecksum:
        """Replaces the views of the tables; returns the checksum of their file."""
        path = self.path / CATALOGUE
        write_atomically(path, text.encode())
        return checksum_of(path)

    def part_path(self, index: int) -> Path:
        """Where trial number `index` is left when it is finished."""
        return self.path / "trials" / f"{index:05d}.zip"

    def chunk_path(self, table: str, chunk: int) -> Path:
        """Where the rows of a chunk of trials in a table are."""
        return self.path / TABLES / table / f"chunk={chunk:04d}" / ROWS

    def record_path(self, chunk: int) -> Path:
        """Where the record of a chunk is until the manifest holds it."""
        return self.path / "trials" / f"chunk={chunk:04d}.json"

    def relative(self, path: Path) -> str:
        """A path in this folder as manifest and records name it."""
        return path.relative_to(self.path).as_posix()

    def damaged(self, path: Path, problem: str) -> RequestError:
        """The error for a file of a table that is not as it was written, with its remedy."""
        hint = "remove the folder and run the campaign again"
        if path.parent.name.startswith("chunk="):
            hint = (
                f"remove {self.path / TABLES}/*/{path.parent.name} and give the campaign's command"
                " again: it runs the trials of that part, and keeps the others"
            )
        return RequestError(f"{path}: is damaged: {problem}", hint)

    def make(self) -> None:
        """Makes the folder, with room for trials."""
        try:
            (self.path / "trials").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.of(error, self.path) from None

    def clear_unfinished(self) -> None:
        """Removes what a killed writer left behind."""
        for place in (".*.tmp", "trials/.*.tmp", f"{TABLES}/*/chunk=*/.*.tmp"):
            for leftover in self.path.glob(place):
                leftover.unlink(missing_ok=True)

    def remove_parts(self, indices: Iterable[int]) -> None:
        """Removes trials' own files, once the tables hold them."""
        for index in indices:
            self.part_path(index).unlink(missing_ok=True)

    def clear_finished(self) -> None:
        """Removes what a complete campaign needs no more: the records of chunks, and their room."""
        with contextlib.suppress(OSError):  # a folder that cannot be written is complete too
            self.clear_unfinished()
            for path in self.path.glob("trials/chunk=*.json"):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody keeps something of their own there
            (self.path / "trials").rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process alone; the lock goes with the process."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locked(self.path, wait=False))
            except BlockingIOError:
                raise RequestError(
                    f"{self.path}: another process is running this campaign",
                    "wait for it, or give another folder with `--out DIR`",
                ) from None
            yield


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


class Columns:
    """The columns in front of every table: which trial, under which conditions, which seed."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        names = dict.fromkeys(name for trial in trials for name in trial.conditions)
        self._types: dict[str, pa.DataType] = {
            name: _type_of([one.conditions[name] for one in trials if name in one.conditions])
            for name in names
        }

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._types) + 2

    def schema(self, taken: Collection[str]) -> pa.Schema:
        """Their names and types; a condition called as a column of a table gets another name."""
        import pyarrow as pa

        # SQL ignores case.
        folded = {name.casefold() for name in (*taken, "trial", "seed")}
        conditions = [
            (f"condition.{name}" if name.casefold() in folded else name, kind)
            for name, kind in self._types.items()
        ]
        return pa.schema([("trial", pa.string()), *conditions, ("seed", pa.int64())])

    def arrays(self, rows: Sequence[tuple[Trial, int]]) -> list[pa.Array]:
        """Their values for so many rows of each of some trials, one after the other."""
        import numpy as np
        import pyarrow as pa

        which = pa.array(np.repeat(np.arange(len(rows)), [count for _, count in rows]))
        columns: list[tuple[list[Any], pa.DataType]] = [
            ([trial.id for trial, _ in rows], pa.string())
        ]
        for name, kind in self._types.items():
            columns.append(([_as(trial.conditions.get(name), kind) for trial, _ in rows], kind))
        columns.append(([trial.seed for trial, _ in rows], pa.int64()))
        return [pa.array(values, kind).take(which) for values, kind in columns]


def _as(value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    return condition_text(value) if value is not None and pa.types.is_string(kind) else value


def _type_of(values: Sequence[Any]) -> pa.DataType:
    import pyarrow as pa

    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int} and all(abs(value) < 2**63 for value in values):
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
