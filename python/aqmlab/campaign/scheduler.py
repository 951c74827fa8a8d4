"""Submits trials to an executor and collects their results."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from aqmlab.base.failures import LabError, RequestError, describe
from aqmlab.campaign.executor import TrialExecutor
from aqmlab.campaign.store.folder import Trial
from aqmlab.campaign.task import Answer, Order

_LOOK_S = 5.0
"""Seconds without a result after which the scheduler calls the executor's `check`."""


class Progress(Protocol):
    """A receiver of a campaign's progress."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Reports that a campaign of `trials` starts to run its `missing` trials."""

    def damaged(self, problem: str) -> None:
        """Reports a damaged file, whose trials run again. This method is called before `begin`."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """Reports, from any thread, that a trial has reached `seconds` of its simulated duration.

        Only some engines report progress.
        """

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Reports the end of a trial: its problem if it failed, and otherwise its run time."""

    def tables(self) -> None:
        """Reports that all trials have ended and that tables are being written."""


class Silence:
    """A `Progress` that ignores all reports."""

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Does nothing."""

    def damaged(self, problem: str) -> None:
        """Does nothing."""

    def moved(self, trial: Trial, seconds: float) -> None:
        """Does nothing."""

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Does nothing."""

    def tables(self) -> None:
        """Does nothing."""


@dataclass(slots=True)
class RunReport:
    """The outcome of a run of a campaign."""

    run: int = 0
    """The number of trials that ended in this run, with and without a result."""
    seconds: float = 0.0
    busy_s: dict[int, float] = field(default_factory=dict)
    """The run time of each trial of this run that has a result, by the trial's index."""
    failed: dict[str, str] = field(default_factory=dict)
    """The problem of each trial of this run that failed, by the trial's name."""


Keep = Callable[[Trial, bytes], None]
"""A function that records the result of a trial."""


def run_all(
    trials: Sequence[Trial],
    order: Callable[[Trial], Order],
    executor: TrialExecutor,
    keep: Keep,
    progress: Progress,
) -> RunReport:
    """Runs all `trials`. Passes each result to `keep`, and reports the end of trials to `progress`.

    Raises `LabError` if the executor fails. Raises `RequestError` if a trial cannot run as
    requested, or if a worker has another build.
    """
    running = _Running(order, executor, progress)
    waiting = deque(trials)
    report = RunReport()
    started = time.monotonic()
    try:
        while waiting or running.futures:
            running.hand_out(waiting)
            for trial, answer in running.ended():
                if answer.failed == "died" and running.attempts(trial) < executor.attempts:
                    waiting.appendleft(trial)
                else:
                    _note(trial, answer, keep, report, progress)
    finally:
        running.cancel()
    report.seconds = time.monotonic() - started
    return report


class _Running:
    """The trials that the executor holds."""

    def __init__(
        self, order: Callable[[Trial], Order], executor: TrialExecutor, progress: Progress
    ) -> None:
        self._order, self._executor, self._progress = order, executor, progress
        self.futures: dict[Future[Answer], Trial] = {}
        self._attempts: dict[int, int] = {}

    def hand_out(self, waiting: deque[Trial]) -> None:
        """Submits as many trials as the executor has room for.

        Raises `LabError` if the executor refuses a trial.
        """
        while waiting and len(self.futures) < self._executor.room:
            trial = waiting.popleft()
            self._attempts[trial.index] = self.attempts(trial) + 1
            moved = partial(self._progress.moved, trial)
            try:
                self.futures[self._executor.submit(self._order(trial), moved)] = trial
            except Exception as error:
                raise LabError(f"the executor refuses a trial: {describe(error)}") from error

    def ended(self) -> list[tuple[Trial, Answer]]:
        """Waits at most `_LOOK_S` for a trial to end. Removes and returns the ended trials.

        Calls the executor's `check` if no trial has ended, or if the executor has cancelled one.
        """
        ended, _ = wait(self.futures, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        gone = any(future.cancelled() for future in ended)
        if gone or not ended:
            self._executor.check()
        return [(self.futures.pop(future), _answer(future)) for future in ended]

    def attempts(self, trial: Trial) -> int:
        """The number of submissions of a trial."""
        return self._attempts.get(trial.index, 0)

    def cancel(self) -> None:
        """Cancels all trials that have not ended."""
        for future in self.futures:
            future.cancel()


def _answer(future: Future[Answer]) -> Answer:
    """The answer of a trial. Errors of the executor, except `LabError`, become answers."""
    try:
        return future.result()
    except CancelledError:
        return Answer(failed="stopped", problem="the executor gave up a trial")
    except LabError:
        raise
    except Exception as error:
        return Answer(failed="died", problem=f"what ran it broke: {describe(error)}")


def _note(trial: Trial, answer: Answer, keep: Keep, report: RunReport, progress: Progress) -> None:
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
    progress.done(trial, report.failed.get(trial.id), report.busy_s.get(trial.index))
