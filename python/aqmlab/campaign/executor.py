"""The interface of an executor, and the adapter for standard executors."""

from __future__ import annotations

import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Protocol

from aqmlab.campaign.task import Answer, Moved, Order, perform

ATTEMPTS = 3
"""The maximum number of attempts to run a trial whose worker dies.

After the last attempt the trial has failed, because the trial itself may be the cause.
"""

AHEAD = 2
"""The number of trials submitted per worker, so that no worker is idle between trials."""


class TrialExecutor(Protocol):
    """An executor of trials, on this machine or on other machines."""

    @property
    def room(self) -> int:
        """The number of trials, running or waiting, that the executor should hold (at least 1)."""

    @property
    def attempts(self) -> int:
        """The maximum number of submissions of a trial whose worker dies."""

    @property
    def is_remote(self) -> bool:
        """Whether trials run on machines without the files and programs of this machine."""

    def submit(self, order: Order, moved: Moved) -> Future[Answer]:
        """Accepts a trial to run. `moved` may receive the trial's progress, from any thread."""

    def check(self) -> None:
        """Tests whether the executor still works; raises `LabError` if not.

        The scheduler calls this method from time to time while no trial ends.
        """


class StandardExecutor:
    """An executor with the interface of `concurrent.futures`. It reports no progress."""

    attempts = ATTEMPTS
    is_remote = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.room = max(1, AHEAD * _workers(executor))

    def submit(self, order: Order, moved: Moved) -> Future[Answer]:
        """Submits a trial.

        `moved` is ignored, because not every executor can pass it to its workers.
        """
        return self._executor.submit(perform, order)

    def check(self) -> None:
        """Does nothing, because a broken executor refuses the next trial."""


def _workers(executor: Executor) -> int:
    """The number of workers of a thread or process pool; otherwise the number of cores."""
    if isinstance(executor, ThreadPoolExecutor):
        return executor._max_workers
    if isinstance(executor, ProcessPoolExecutor):
        workers: int = executor._max_workers  # type: ignore[attr-defined] # typeshed lacks it
        return workers
    return os.cpu_count() or 1


def adapted(executor: Executor | TrialExecutor) -> TrialExecutor:
    """Returns the executor itself, or adapts a standard executor to `TrialExecutor`."""
    return StandardExecutor(executor) if isinstance(executor, Executor) else executor
