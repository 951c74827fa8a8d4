"""Progress of a campaign, on standard error."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from aqmlab.base.errors import printable
from aqmlab.campaign.costs import cost, simulated_s
from aqmlab.campaign.store.folder import Trial
from aqmlab.cli import console
from aqmlab.cli.forecast import span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


_T = TypeVar("_T")


class Bar:
    """A progress bar with an estimate on a terminal; otherwise an occasional line.

    Trials differ in cost: a minute of 100 Mbit/s takes longer than one of 8. The bar advances by
    the expected cost of a trial, so its estimate is valid from the start. If an engine reports
    progress within a trial, the bar follows it and shows the seconds that have passed.
    """

    def __init__(self) -> None:
        self._console = console.stderr()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._done = self._trials = 0
        self._told = self._started = 0.0
        self._cost = self._spent = 0.0
        self._running: dict[int, tuple[Trial, float]] = {}
        self._lock = threading.Lock()  # Trials report progress from their own threads.

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Starts the bar."""
        kept = len(trials) - len(missing)
        if kept:
            console.talk(f"{kept} of {len(trials)} trials were finished before")
        self._trials, self._done = len(trials), kept
        self._cost = sum(map(cost, missing))
        self._started = time.monotonic()
        if self._console.is_terminal and missing:
            self._progress = _bar(self._console)
            self._task = self._progress.add_task("trials", total=self._cost, done=self._count())
            self._progress.start()

    def damaged(self, problem: str) -> None:
        """Warns of a damaged file."""
        console.talk(f"warning: {problem}")

    def moved(self, trial: Trial, seconds: float) -> None:
        """Advances the bar by a part of a trial."""
        with self._lock:
            self._running[trial.index] = (trial, seconds)
            self._show()

    def done(self, trial: Trial, problem: str | None) -> None:
        """Advances the bar at the end of a trial."""
        with self._lock:
            self._running.pop(trial.index, None)
            self._done += 1
            self._spent += cost(trial)
            if problem is not None:
                self._say(f"failed: {trial.id}: {problem}")
            self._show()

    def _show(self) -> None:
        passed = self._spent + sum(cost(*one) for one in self._running.values())
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=passed, done=self._count())
        elif passed >= self._told + self._cost / 10:
            self._told = passed
            console.talk(self._count() + self._left(passed))

    def tables(self) -> None:
        """Ends the bar before the tables are written."""
        self.stop()

    def stop(self) -> None:
        """Ends the bar, also after an error."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _count(self) -> str:
        """The number of finished trials, and the simulated seconds of those that run."""
        running = ", ".join(
            f"{seconds:.0f} of {simulated_s(trial):.0f} s" for trial, seconds in self._parts()
        )
        return f"{self._done}/{self._trials} trials" + (f" ({running})" if running else "")

    def _left(self, passed: float) -> str:
        """The remaining time at the present pace."""
        if passed >= self._cost:
            return ""
        took_s = time.monotonic() - self._started
        return f", about {span(took_s * (self._cost - passed) / passed)} left"

    def _parts(self) -> list[tuple[Trial, float]]:
        return [self._running[index] for index in sorted(self._running)]

    def _say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(printable(text), markup=False)
        else:
            console.talk(text)


def counted(things: Iterable[_T], total: int, what: str = "trials") -> Iterator[_T]:
    """Yields `things` with a bar on a terminal; otherwise with an occasional line."""
    target, told = console.stderr(), 0
    bar = _bar(target) if target.is_terminal else None
    with bar or contextlib.nullcontext():
        task = bar.add_task(what, total=total, done=f"0/{total} {what}") if bar else None
        for done, thing in enumerate(things, 1):
            yield thing
            if bar is not None and task is not None:
                bar.update(task, completed=done, done=f"{done}/{total} {what}")
            elif done * 10 >= told + total:
                told = done * 10
                console.talk(f"{done}/{total} {what}")


def drawn(names: Sequence[str]) -> Iterator[str]:
    """Yields the names of figures as they are drawn, with progress."""
    return counted(names, len(names), "figures drawn")


def _bar(target: object) -> Progress:
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.fields[done]}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=target,  # type: ignore[arg-type]
        transient=True,
    )
