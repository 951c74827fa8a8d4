"""The reference set: what the kernel gave for each cell and seed, one small file a cell.

| Key            | Holds                                                                      |
|----------------|----------------------------------------------------------------------------|
| `format`       | the version of this layout                                                 |
| `cell`, `says` | the cell's name, and the digest of what it says                            |
| `trials`       | by seed: `recipe`, the run's `digest`, its `record`, and the `spec` it was |

`spec` is the trial to the letter, since reading it takes the guest's time as well. Beside the
files of cells are the agents that made them (`agents`).

A file is JSON under gzip, numbers exact. It is replaced as a whole each time a seed has ended,
under a lock, so several processes may grow one set, and any of them may be killed.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.failures import RequestError
from aqmlab.base.files import locked, write_atomically
from aqmlab.validation import agents
from aqmlab.validation.grid import Cell

FORMAT = 2
PACKAGED = Path(__file__).with_name("reference")
"""The set that comes with the package."""
_SUFFIX = ".json.gz"


def machine_of(recipe: Mapping[str, str]) -> dict[str, str]:
    """What of a recipe speaks of what made a trial, and not of the trial."""
    return {key: value for key, value in recipe.items() if key not in ("grid", "spec")}


@dataclass(frozen=True, slots=True)
class Trial:
    """What the kernel gave for a cell and a seed."""

    digest: str
    recipe: Mapping[str, str]
    record: Mapping[str, Any]
    spec: str
    """The trial as the kernel's engine was given it."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "recipe": dict(self.recipe),
            "digest": self.digest,
            "record": self.record,
            "spec": self.spec,
        }

    def same_result(self, other: Trial) -> bool:
        """Whether every byte of the result is the same, whatever made it."""
        mine, theirs = (
            json.dumps([one.digest, one.record], sort_keys=True) for one in (self, other)
        )
        return mine == theirs


class Reference:
    """A reference set in a folder; it need not exist."""

    def __init__(self, folder: Path = PACKAGED) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        """Where a cell's file is."""
        return self.folder / f"{cell.name}{_SUFFIX}"

    def trials(self, cell: Cell) -> dict[int, Trial]:
        """What there is of `cell` as the grid has it now, by seed in order.

        What was run of a cell that has since been changed is not given. Raises `RequestError`
        for a file that cannot be read.
        """
        found = self._read(self.path(cell))
        if found is None or found["says"] != cell.digest:
            return {}
        trials = {int(seed): trial for seed, trial in found["trials"].items()}
        return {
            seed: Trial(one["digest"], one["recipe"], one["record"], one["spec"])
            for seed, one in sorted(trials.items())
        }

    def complete(self, cells: Iterable[Cell]) -> tuple[int, int]:
        """How many trials of `cells` there are, and how many there should be."""
        there = wanted = 0
        for cell in cells:
            wanted += len(cell.seeds)
            there += len(set(self.trials(cell)) & set(cell.seeds))
        return there, wanted

    def put(self, cell: Cell, seed: int, trial: Trial, program: Path | None = None) -> None:
        """Adds a trial, or replaces it, and keeps the agent that made it, `program`.

        Both are on the disk when this returns.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if program is not None:
                agents.keep(self.folder, program)
            trials = self.trials(cell) | {seed: trial}
            whole = {
                "format": FORMAT,
                "cell": cell.name,
                "says": cell.digest,
                "trials": {str(one): trials[one].to_json() for one in sorted(trials)},
            }
            text = json.dumps(whole, separators=(",", ":"), allow_nan=False)
            write_atomically(self.path(cell), gzip.compress(text.encode(), 9, mtime=0))

    def clear_unfinished(self) -> None:
        """Removes what killed writers left behind."""
        if self.folder.is_dir():
            with self._locked():
                for leftover in self.folder.glob(".*.tmp"):
                    leftover.unlink(missing_ok=True)

    def usual_recipe(self) -> dict[str, str] | None:
        """What made the most trials of the set; `None` if there is none."""
        made = Counter(json.dumps(recipe, sort_keys=True) for recipe in self._recipes())
        if not made:
            return None
        found: dict[str, str] = json.loads(max(made, key=lambda recipe: (made[recipe], recipe)))
        return found

    def prune_agents(self) -> None:
        """Removes agents that no trial names."""
        if agents.there(self.folder):
            with self._locked():
                agents.prune(self.folder, {recipe["agent"] for recipe in self._recipes()})

    def _recipes(self) -> Iterator[dict[str, str]]:
        """Of each trial, what it was made by, and what of that is the trial's own left out."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            found = self._read(path)
            for trial in found["trials"].values() if found else ():
                yield machine_of(trial["recipe"])

    def strays(self, cells: Iterable[Cell]) -> list[Path]:
        """Files of cells that the grid no longer has."""
        known = {self.path(cell).name for cell in cells}
        if not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.glob(f"*{_SUFFIX}") if path.name not in known)

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        try:
            found = json.loads(gzip.decompress(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError) as error:
            hint = "remove it; `aqmlab validate --regenerate --missing` makes it again"
            raise RequestError(f"{path}: cannot be read: {error}", hint) from None
        if found.get("format") != FORMAT:
            raise RequestError(f"{path}: format {found.get('format')} is not known")
        return dict(found)

    def _locked(self) -> AbstractContextManager[None]:
        """Holds the set for one writer."""
        return locked(self.folder, wait=True)
