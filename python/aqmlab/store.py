"""A campaign's folder.

| Name               | Holds                                                                |
|--------------------|----------------------------------------------------------------------|
| `manifest.json`    | what was run, by what, and, when complete, its digests               |
| `trials/00000.zip` | one finished trial each, until the campaign is complete              |
| `trials.parquet`   | one row per trial: conditions, seed, digest, and the trial resolved  |
| `<table>.parquet`  | one table of all trials: trial, conditions and seed in front         |

Every file appears whole or not at all, in an order in which a half-finished folder can always
be finished: trials, then tables, then the manifest that calls it complete, and only then are
the trials' own files removed. No byte depends on how many processes ran it, nor on how often
it was interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import engines, parts
from aqmlab.failures import DiskError, RequestError
from aqmlab.labels import condition_text

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
"""The version of this layout."""

MANIFEST = "manifest.json"

_NEEDED = ("name", "campaign", "trials", "versions", "complete")
"""What a manifest must say for its folder to be of any use."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial as its campaign's folder knows it."""

    index: int
    id: str
    seed: int
    conditions: Mapping[str, Any]
    spec: str
    """The resolved trial, as JSON in one spelling."""
    engine: str = "sim"
    """What runs it."""

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
        try:
            manifest = json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RequestError(
                f"{self.path}: not the folder of a campaign: it holds no {MANIFEST}",
                "`aqmlab run SCENARIO --out DIR` makes one",
            ) from None
        except (OSError, ValueError, RecursionError) as error:
            raise RequestError(f"{self.manifest_path}: cannot be read: {error}") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            found = manifest.get("format") if isinstance(manifest, dict) else None
            raise RequestError(
                f"{self.manifest_path}: format {found} is not known;"
                f" this version reads format {FORMAT}"
            )
        missing = [name for name in _NEEDED if name not in manifest]
        if missing:
            raise RequestError(
                f"{self.manifest_path}: is damaged: it does not say {', '.join(missing)}",
                "remove the folder and run the campaign again",
            )
        return manifest

    def exists(self) -> bool:
        """Whether there is a manifest."""
        return self.manifest_path.is_file()

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces the manifest."""
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        parts.write_atomically(self.manifest_path, text.encode())

    def part_path(self, index: int) -> Path:
        """Where trial number `index` is left when it is finished."""
        return self.path / "trials" / f"{index:05d}.zip"

    def table_path(self, name: str) -> Path:
        """Where the table `name` of all trials is."""
        return self.path / f"{name}.parquet"

    def make(self) -> None:
        """Makes the folder, with room for trials."""
        try:
            (self.path / "trials").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.of(error, self.path) from None

    def clear_unfinished(self) -> None:
        """Removes what a killed writer left behind."""
        for folder in (self.path, self.path / "trials"):
            for leftover in folder.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)

    def remove_parts(self, count: int) -> None:
        """Removes the trials' own files, once the tables hold them."""
        for index in range(count):
            self.part_path(index).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # somebody keeps something of their own there
            (self.path / "trials").rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process alone; the lock goes with the process."""
        try:
            import fcntl
        except ImportError:  # Windows: two runs at once are the user's care
            yield
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise RequestError(
                f"{self.path}: another process is running this campaign",
                "wait for it, or give another folder with `--out DIR`",
            ) from None
        try:
            yield
        finally:
            os.close(handle)


def campaign_key(trials: Sequence[Trial], engine: str, versions: Mapping[str, str]) -> str:
    """What identifies a campaign: its trials, and what runs them."""
    made_by = engines.identity(engine, versions)
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

    def __init__(self, trials: Sequence[Trial], taken: set[str]) -> None:

        self._trials = trials
        self._types: dict[str, tuple[str, pa.DataType]] = {}
        for name in dict.fromkeys(name for trial in trials for name in trial.conditions):
            values = [trial.conditions[name] for trial in trials if name in trial.conditions]
            column = f"condition.{name}" if name in taken | {"trial", "seed"} else name
            self._types[name] = (column, _type_of(values))

    def schema(self) -> pa.Schema:
        """Their names and types."""
        import pyarrow as pa

        conditions = [pa.field(column, kind) for column, kind in self._types.values()]
        return pa.schema([("trial", pa.string()), *conditions, ("seed", pa.int64())])

    def table(self, trial: Trial, rows: int) -> pa.Table:
        """Their values for a trial with `rows` rows."""
        import pyarrow as pa

        values: list[pa.Array] = [pa.repeat(pa.scalar(trial.id), rows)]
        for name, (_, kind) in self._types.items():
            value = trial.conditions.get(name)
            if value is not None and pa.types.is_string(kind):
                value = condition_text(value)
            values.append(pa.repeat(pa.scalar(value, kind), rows))
        values.append(pa.repeat(pa.scalar(trial.seed, pa.int64()), rows))
        return pa.Table.from_arrays(values, schema=self.schema())


def _type_of(values: Sequence[Any]) -> pa.DataType:
    import pyarrow as pa

    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int} and all(abs(value) < 2**63 for value in values):
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
