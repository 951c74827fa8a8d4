"""Progress for Python programs: lines on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from aqmlab.base.errors import printable, shown
from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text
from aqmlab.campaign.pace import Pace
from aqmlab.campaign.scheduler import Progress, Silence
from aqmlab.campaign.store.folder import Trial

_STEP = 0.1
"""The increase of the finished share after which a line is printed."""


class ProgressLines(Silence):
    """Prints the number of finished trials and an estimate of the remaining time."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._done = self._count = 0
        self._told = 0.0

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Prints the number of finished trials and the number of all trials."""
        self._done, self._count, self._told = len(trials) - len(missing), len(trials), 0.0
        self._pace.begin(missing)
        _print(f"{self._done}/{count_text(self._count, 'trial')}")

    def damaged(self, problem: str) -> None:
        """Warns of a damaged file."""
        _print(f"warning: {problem}")

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Prints a line after each tenth of the work and at the end, and for each failed trial."""
        self._done += 1
        self._pace.done(trial, busy_s)
        if problem is not None:
            _print(f"failed: {trial.id}: {problem}")
        share = self._pace.share()
        if share - self._told >= _STEP or self._done == self._count:
            self._told = share
            left_s = self._pace.left_s()
            left = "" if not left_s else f", about {max(1, round(left_s))} s left"
            _print(f"{self._done}/{count_text(self._count, 'trial')}{left}")


def receiver(progress: Progress | bool | None) -> Progress | None:
    """The receiver for the argument `progress` of a function.

    `True` stands for `ProgressLines`. `False` and `None` stand for no receiver. Any other value is
    itself the receiver. Raises `RequestError` for a value that cannot receive progress.
    """
    if progress is True:
        return ProgressLines()
    if progress is None or progress is False:
        return None
    if not hasattr(progress, "begin"):
        raise RequestError(
            f"progress: `{shown(progress)}` does not report progress",
            "give `True`, or an object with the methods of `aqmlab.campaign.runner.Progress`",
        )
    return progress


def counted(names: Sequence[str]) -> Iterator[str]:
    """Yields the names of figures, and prints each before it is drawn."""
    for number, name in enumerate(names, 1):
        _print(f"drawing {name}, {number} of {count_text(len(names), 'figure')}")
        yield name


def _print(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)
