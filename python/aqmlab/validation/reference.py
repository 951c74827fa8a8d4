"""The reference set: the kernel's results for each cell and seed, one small file per cell.

| Key            | Holds                                                                       |
|----------------|-----------------------------------------------------------------------------|
| `format`       | the version of this layout                                                  |
| `cell`, `says` | the cell's name and a digest of its values                                  |
| `trials`       | by seed: `recipe`, the run's `digest`, its `record`, and the trial's `spec` |

`spec` is the exact text of the trial, because the guest parses the text in virtual time. The
same folder holds the sources of the agents that ran the trials (`agents`).

A file is gzip-compressed JSON with exact numbers. It is replaced as a whole after each seed, under
a lock. Several processes can therefore add to one set, and any of them may be killed.
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
from aqmlab.validation.trial_record import TrialRecord

FORMAT = 2
PACKAGED = Path(__file__).with_name("reference")
"""The set in the package."""
_SUFFIX = ".json.gz"


def machine_of(recipe: Mapping[str, str]) -> dict[str, str]:
    """The part of a recipe that describes the machine and not the trial."""
    return {key: value for key, value in recipe.items() if key not in ("grid", "spec")}


@dataclass(frozen=True, slots=True)
class ReferenceTrial:
    """The kernel's result for a cell and a seed."""

    digest: str
    recipe: Mapping[str, str]
    record: TrialRecord
    spec: str
    """The trial as the kernel engine received it."""

    def to_json(self) -> dict[str, Any]:
        """The trial in the form of the file."""
        return {
            "recipe": dict(self.recipe),
            "digest": self.digest,
            "record": self.record,
            "spec": self.spec,
        }

    def same_result(self, other: ReferenceTrial) -> bool:
        """Returns whether every byte of the result is equal; the recipes may differ."""
        mine, theirs = (
            json.dumps([one.digest, one.record], sort_keys=True) for one in (self, other)
        )
        return mine == theirs


class Reference:
    """A reference set in a folder, which may not exist yet."""

    def __init__(self, folder: Path = PACKAGED) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        """The path of a cell's file."""
        return self.folder / f"{cell.name}{_SUFFIX}"

    def trials(self, cell: Cell) -> dict[int, ReferenceTrial]:
        """The trials of the present version of `cell`, ordered by seed.

        Trials of an earlier version of the cell are left out. Raises `RequestError` for a file that
        cannot be read.
        """
        found = self._read(self.path(cell))
        if found is None or found["says"] != cell.digest:
            return {}
        trials = {int(seed): trial for seed, trial in found["trials"].items()}
        return {
            seed: ReferenceTrial(one["digest"], one["recipe"], one["record"], one["spec"])
            for seed, one in sorted(trials.items())
        }

    def complete(self, cells: Iterable[Cell]) -> tuple[int, int]:
        """The number of trials of `cells` in the set, and the number that the grid requires."""
        there = wanted = 0
        for cell in cells:
            wanted += len(cell.seeds)
            there += len(set(self.trials(cell)) & set(cell.seeds))
        return there, wanted

    def put(
        self, cell: Cell, seed: int, trial: ReferenceTrial, program: Path | None = None
    ) -> None:
        """Adds or replaces a trial, and records the source of the agent `program` that made it.

        Trials of an earlier version of the cell are removed. Trial and source are on the disk when
        the function returns.
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
        """Removes unfinished files of killed writers."""
        if self.folder.is_dir():
            with self._locked():
                for leftover in self.folder.glob(".*.tmp"):
                    leftover.unlink(missing_ok=True)

    def usual_recipe(self) -> dict[str, str] | None:
        """The most frequent recipe in the set; `None` if the set is empty."""
        return next(iter(self._recipes_by_use()), None)

    def usual_agents(self) -> list[str]:
        """The digests of the agents of the set, the most frequent recipe's agent first."""
        return list(dict.fromkeys(recipe["agent"] for recipe in self._recipes_by_use()))

    def _recipes_by_use(self) -> list[dict[str, str]]:
        made = Counter(json.dumps(recipe, sort_keys=True) for recipe in self._recipes())
        ordered = sorted(made, key=lambda recipe: (made[recipe], recipe), reverse=True)
        return [json.loads(recipe) for recipe in ordered]

    def prune_agents(self) -> None:
        """Removes the sources of agents that no trial names."""
        if agents.there(self.folder):
            with self._locked():
                agents.prune(self.folder, {recipe["agent"] for recipe in self._recipes()})

    def _recipes(self) -> Iterator[dict[str, str]]:
        """Yields the recipe of each trial, without the parts that describe the trial itself."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}")):
            found = self._read(path)
            for trial in found["trials"].values() if found else ():
                yield machine_of(trial["recipe"])

    def strays(self, cells: Iterable[Cell]) -> list[Path]:
        """The files of the set that belong to none of `cells`."""
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
            hint = "remove the file; `aqmlab validate --regenerate --missing` makes it again"
            raise RequestError(f"{path}: cannot be read: {error}", hint) from None
        if found.get("format") != FORMAT:
            raise RequestError(f"{path}: unknown format {found.get('format')}")
        return dict(found)

    def _locked(self) -> AbstractContextManager[None]:
        """A context that holds the lock on the set; it waits for other writers."""
        return locked(self.folder, wait=True)
