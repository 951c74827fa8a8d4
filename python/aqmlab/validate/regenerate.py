"""Grows the reference set, and shows that the kernel gives it again to the byte.

Every trial that ends is kept at once. A growth that is interrupted, kill -9 included, goes on
with the same command. First comes seed 1 of every cell, then seed 2, and so on, so that a set
that is not yet whole already covers the grid.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from aqmlab.failures import LabError, describe
from aqmlab.plan import spec_digest
from aqmlab.validate import grid, metrics
from aqmlab.validate.engines import Engine
from aqmlab.validate.grid import Cell
from aqmlab.validate.reference import Reference, Trial

Job = tuple[Cell, int]
NEW, SAME, DIFFERENT, REFUSED, FAILED = "new", "reproduced", "DIFFERENT", "refused", "failed"


@dataclass(slots=True)
class Growth:
    """How a growth ended: trials by what became of them."""

    trials: dict[str, list[tuple[str, int, str]]] = field(default_factory=dict)
    seconds: float = 0.0

    def note(self, job: Job, became: str, why: str = "") -> None:
        """Takes down what became of a trial."""
        self.trials.setdefault(became, []).append((job[0].name, job[1], why))

    def count(self, became: str) -> int:
        """How many trials became so."""
        return len(self.trials.get(became, ()))

    @property
    def well(self) -> bool:
        """Whether no trial failed, and all that had been there came out the same."""
        return not self.count(FAILED) and not self.count(DIFFERENT)


Progress = Callable[[Job, str, str, int, int], None]
"""Is told of each trial what became of it and why, and how many of how many have ended."""


def jobs_of(
    cells: Sequence[Cell],
    reference: Reference,
    *,
    missing: bool,
    seeds: int | None = None,
    outdated: dict[str, str] | None = None,
) -> list[Job]:
    """What is to be run, seed by seed over all cells.

    With `missing` only what the set does not have, or, given the recipe of this machine as
    `outdated`, has by another.
    """
    most = max((len(cell.seeds) for cell in cells), default=0)
    has = {cell.name: reference.trials(cell) for cell in cells}

    def wanted(cell: Cell, seed: int) -> bool:
        trial = has[cell.name].get(seed)
        if trial is None or not (missing or outdated):
            return True
        return outdated is not None and any(
            trial.recipe.get(key) != value for key, value in outdated.items()
        )

    return [
        (cell, seed)
        for seed in range(1, min(most, seeds or most) + 1)
        for cell in cells
        if seed in cell.seeds and wanted(cell, seed)
    ]


def grow(
    todo: Sequence[Job],
    reference: Reference,
    engine: tuple[Engine, dict[str, str]],
    *,
    parallel: int,
    progress: Progress,
    overwrite: bool = False,
) -> Growth:
    """Runs `todo` and keeps what is new; what was there is compared, and kept as it was.

    With `overwrite` what differs replaces what was there.
    """
    run, recipe = engine
    growth = Growth()
    started = time.monotonic()
    reference.clear_unfinished()
    before = {cell.name: reference.trials(cell) for cell, _ in todo}
    ended = _run_all(todo, run, recipe, parallel)
    for number, (job, became, trial, why) in enumerate(ended, start=1):
        cell, seed = job
        old = before[cell.name].get(seed)
        if trial is not None and old is not None:
            became, why = _against(old, trial)
        if trial is not None and (old is None or overwrite):
            reference.put(cell, seed, trial)
        growth.note(job, became, why)
        progress(job, became, why, number, len(todo))
    growth.seconds = time.monotonic() - started
    return growth


def _against(old: Trial, new: Trial) -> tuple[str, str]:
    if new.same_result(old):
        return SAME, ""
    return DIFFERENT, _difference(old, new)


def _difference(old: Trial, new: Trial) -> str:
    """What is not the same in what made two results, or that nothing is."""
    keys = sorted(set(old.recipe) | set(new.recipe))
    changes = [
        f"{key} {old.recipe.get(key)} → {new.recipe.get(key)}"
        for key in keys
        if old.recipe.get(key) != new.recipe.get(key)
    ]
    made = ", ".join(changes) or "by the same kernel, QEMU and agent"
    return f"digest {old.digest} → {new.digest}; {made}"


def _run_all(
    todo: Sequence[Job], run: Engine, recipe: dict[str, str], parallel: int
) -> Iterator[tuple[Job, str, Trial | None, str]]:
    """Each job, what became of it, its trial or why there is none, as they end."""
    threads = ThreadPoolExecutor(parallel, thread_name_prefix="validate")
    waiting = iter(todo)
    running: dict[Future[Trial], Job] = {}
    try:
        while True:
            while len(running) < parallel and (job := next(waiting, None)) is not None:
                running[threads.submit(_run_one, *job, run, recipe)] = job
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield running.pop(future), *_result(future)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _run_one(cell: Cell, seed: int, run: Engine, recipe: dict[str, str]) -> Trial:
    text = cell.spec_json(seed)
    outcome = run(text)
    spec: dict[str, Any] = json.loads(text)
    made = recipe | {"grid": str(grid.load().version), "spec": spec_digest(spec)}
    return Trial(str(outcome["digest"]), made, metrics.record(spec, outcome))


def _result(future: Future[Trial]) -> tuple[str, Trial | None, str]:
    from aqmlab.kernel import RefusedError

    try:
        return NEW, future.result(), ""
    except RefusedError as error:
        return REFUSED, None, error.problem
    except LabError as error:
        return FAILED, None, error.problem
    except Exception as error:
        return FAILED, None, describe(error)
