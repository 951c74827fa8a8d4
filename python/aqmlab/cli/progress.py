"""Progress of a campaign, on standard error."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from aqmlab.base.errors import printable
from aqmlab.base.numerals import count_text
from aqmlab.campaign.costs import simulated_s
from aqmlab.campaign.pace import Pace
from aqmlab.campaign.store.folder import Trial
from aqmlab.cli import console
from aqmlab.cli.forecast import span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


_T = TypeVar("_T")

_STEP = 0.1
"""The increase of the finished share after which a line is printed, if there is no terminal."""


class Bar:
    """A progress bar with the estimated remaining time; without a terminal, occasional lines.

    Trials differ in cost: a minute at 100 Mbit/s takes longer than a minute at 8 Mbit/s, and the
    kernel takes longer than the simulator. The bar therefore shows the finished share of the
    expected run time. If an engine reports progress within a trial, the bar also advances within
    the trial and shows its simulated seconds.
    """

    def __init__(self, pace: Pace) -> None:
        self._console, self._pace = console.stderr(), pace
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._done = self._trials = 0
        self._told = 0.0
        self._passed: dict[int, float] = {}
        self._lock = threading.Lock()  # Trials report progress from their own threads.

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Prints the number of trials that were finished before, and starts the bar."""
        kept = len(trials) - len(missing)
        if kept:
            console.talk(f"{kept} of {len(trials)} trials were finished before")
        self._trials, self._done = len(trials), kept
        self._pace.begin(missing)
        if self._console.is_terminal and missing:
            self._progress = _bar(self._console, of_trials=True)
            self._task = self._progress.add_task(
                "trials", total=1.0, done=self._count(), left=self._left()
            )
            self._progress.start()

    def damaged(self, problem: str) -> None:
        """Warns of a damaged file."""
        console.talk(f"warning: {problem}")

    def moved(self, trial: Trial, seconds: float) -> None:
        """Advances the bar within a trial, of which `seconds` have been simulated."""
        with self._lock:
            self._passed[trial.index] = seconds
            self._pace.moved(trial, seconds)
            self._show()

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Advances the bar at the end of a trial, and prints its `problem` if it failed."""
        with self._lock:
            self._done += 1
            self._pace.done(trial, busy_s)
            if problem is not None:
                self._say(f"failed: {trial.id}: {problem}")
            self._show()

    def _show(self) -> None:
        share = self._pace.share()
        if self._progress is not None and self._task is not None:
            self._progress.update(
                self._task, completed=share, done=self._count(), left=self._left()
            )
        elif abs(share - self._told) >= _STEP or self._done == self._trials:
            self._told = share
            console.talk(", ".join(filter(None, (self._count(), self._left()))))

    def tables(self) -> None:
        """Ends the bar before the tables are written."""
        self.stop()

    def stop(self) -> None:
        """Ends the bar, if it has not ended yet."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _count(self) -> str:
        """The number of finished trials, and the simulated seconds of running trials."""
        running = ", ".join(
            f"{self._passed[trial.index]:.0f} of {simulated_s(trial):.0f} s"
            for trial in self._pace.running()
        )
        return f"{self._done}/{count_text(self._trials, 'trial')}" + (
            f" ({running})" if running else ""
        )

    def _left(self) -> str:
        """The estimate of the remaining time, or the engines whose pace is being measured."""
        if self._done == self._trials:
            return ""
        left_s = self._pace.left_s()
        if left_s is not None:
            return f"about {span(left_s)} left"
        engines = " and of ".join(self._pace.unmeasured)
        return f"measuring the pace of {engines or 'the workers'}"

    def _say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(printable(text), markup=False)
        else:
            console.talk(text)


def counted(things: Iterable[_T], total: int, noun: str = "trial", verb: str = "") -> Iterator[_T]:
    """Yields `things` and shows the progress: a bar on a terminal, otherwise occasional lines."""
    target, told = console.stderr(), 0
    what = f"{count_text(total, noun)} {verb}".rstrip()
    bar = _bar(target, of_trials=False) if target.is_terminal else None
    with bar or contextlib.nullcontext():
        task = bar.add_task(noun, total=total, done=f"0/{what}") if bar else None
        for done, thing in enumerate(things, 1):
            yield thing
            if bar is not None and task is not None:
                bar.update(task, completed=done, done=f"{done}/{what}")
            elif done * 10 >= told + total:
                told = done * 10
                console.talk(f"{done}/{what}")


def drawn(names: Sequence[str]) -> Iterator[str]:
    """Yields `names`, which are figures to draw, and shows the progress of the drawing."""
    return counted(names, len(names), "figure", "drawn")


def _bar(target: object, *, of_trials: bool) -> Progress:
    """A bar with the remaining time.

    With `of_trials`, `Pace` estimates this time; otherwise rich does.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    left = [TextColumn("left:"), TimeRemainingColumn()]
    return Progress(
        TextColumn("{task.fields[done]}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        *([TextColumn("{task.fields[left]}")] if of_trials else left),
        console=target,  # type: ignore[arg-type]
        transient=True,
    )
