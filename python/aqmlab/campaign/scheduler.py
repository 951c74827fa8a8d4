"""Hands trials to an executor, and takes back what comes of them.

Any executor with the interface of `concurrent.futures` will do. One that says how much `room` it
has is handed no more trials than that; one with a `check` is asked now and then whether it is
still there; one that says how many `lives` a trial has may run again by itself what was lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from aqmlab.base.failures import LabError, RequestError, describe
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.store.folder import Trial
from aqmlab.campaign.task import Answer, Order, perform

LIVES = 3
"""How often a trial is run whose worker dies; then it has failed, for it may be its doing."""

_LOOK_S = 5.0
"""Seconds without news after which the executor is asked whether it is still there."""


class Progress(Protocol):
    """Who wants to know how far a campaign is."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """The campaign is about to run the `missing` ones of its trials."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """So much of a running trial has passed; any thread may say so, and few engines do."""

    def done(self, trial: Trial, problem: str | None) -> None:
        """A trial has ended, well or with a problem."""

    def tables(self) -> None:
        """All trials have ended; the tables are being written."""


class Silence:
    """Nobody wants to know."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Says nothing."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """Says nothing."""

    def done(self, trial: Trial, problem: str | None) -> None:
        """Says nothing."""

    def tables(self) -> None:
        """Says nothing."""


@dataclass(slots=True)
class Report:
    """How a run of a campaign ended."""

    run: int = 0
    """Trials that were run now; the others were finished before."""
    seconds: float = 0.0
    busy_s: dict[int, float] = field(default_factory=dict)
    """How long each trial took that has a result now, by its index."""
    failed: dict[str, str] = field(default_factory=dict)
    """The problem of each trial that has no result."""


Keep = Callable[[Trial, bytes], None]
"""Records the result of a trial."""


def run_all(
    trials: Sequence[Trial],
    order: Callable[[Trial], Order],
    executor: Executor,
    keep: Keep,
    progress: Progress,
) -> Report:
    """Runs all `trials`; raises `LabError` if that cannot go on."""
    running = _Running(order, executor, progress)
    lives = getattr(executor, "lives", LIVES)
    waiting = deque(trials)
    report = Report()
    started = time.monotonic()
    try:
        while waiting or running.futures:
            running.hand_out(waiting)
            for trial, answer in running.ended():
                if answer.failed == "died" and running.lives(trial) < lives:
                    waiting.appendleft(trial)
                else:
                    _note(trial, answer, keep, report, progress)
    finally:
        running.cancel()
    report.seconds = time.monotonic() - started
    return report


class _Running:
    """The trials that the executor has."""

    def __init__(
        self, order: Callable[[Trial], Order], executor: Executor, progress: Progress
    ) -> None:
        self._order, self._executor, self._progress = order, executor, progress
        self.futures: dict[Future[Answer], Trial] = {}
        self._lives: dict[int, int] = {}

    def hand_out(self, waiting: deque[Trial]) -> None:
        """Gives the executor what it has room for."""
        while waiting and len(self.futures) < room(self._executor):
            trial = waiting.popleft()
            self._lives[trial.index] = self.lives(trial) + 1
            order = self._order(trial)
            # Only processes of this machine can tell how far they are.
            told: tuple[Any, ...] = ()
            if order.tells and isinstance(self._executor, Processes):
                told = (partial(self._progress.moved, trial),)
            try:
                self.futures[self._executor.submit(perform, order, *told)] = trial
            except Exception as error:
                raise LabError(f"the executor takes no trial: {describe(error)}") from error

    def ended(self) -> list[tuple[Trial, Answer]]:
        """What has ended since; waits for something to end."""
        ended, _ = wait(self.futures, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        gone = any(future.cancelled() for future in ended)
        if (gone or not ended) and hasattr(self._executor, "check"):
            self._executor.check()
        return [(self.futures.pop(future), _answer(future)) for future in ended]

    def lives(self, trial: Trial) -> int:
        """How often a trial was handed out."""
        return self._lives.get(trial.index, 0)

    def cancel(self) -> None:
        """Takes back what has not ended."""
        for future in self.futures:
            future.cancel()


def room(executor: Executor) -> int:
    """How many trials an executor is to have at once, those included that wait in it."""
    known = getattr(executor, "room", None)
    if known is None:
        known = 2 * (getattr(executor, "_max_workers", None) or 1)
    return max(1, int(known))


def _answer(future: Future[Answer]) -> Answer:
    """What came of a trial; an executor that breaks is a worker that died."""
    try:
        return future.result()
    except CancelledError:
        return Answer(failed="stopped", problem="the executor gave up a trial")
    except LabError:
        raise
    except Exception as error:
        return Answer(failed="died", problem=f"what ran it broke: {describe(error)}")


def _note(trial: Trial, answer: Answer, keep: Keep, report: Report, progress: Progress) -> None:
    if answer.failed == "stopped":
        raise LabError(answer.problem)
    if answer.failed == "build":
        raise RequestError(answer.problem, "install the same build of aqmlab on every worker")
    if answer.failed == "request":
        raise RequestError(f"trial `{trial.id}`: {answer.problem}", answer.hint)
    report.run += 1
    if answer.failed is None:
        keep(trial, answer.data)
        report.busy_s[trial.index] = answer.seconds
    else:
        report.failed[trial.id] = "\n".join(filter(None, (answer.problem, answer.hint)))
    progress.done(trial, report.failed.get(trial.id))
