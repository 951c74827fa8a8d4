"""How far a campaign is, on standard error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aqmlab.cli import console
from aqmlab.store import Trial

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """A bar with an estimate on a terminal, and otherwise a line now and then.

    Trials differ in cost: a minute of 100 Mbit/s takes longer than one of 8. The bar moves by
    what a trial is expected to cost, so its estimate holds from the start.
    """

    def __init__(self) -> None:
        self._console = console.stderr()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._done = self._trials = 0
        self._told = 0.0
        self._cost = self._spent = 0.0

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Starts the bar."""
        kept = len(trials) - len(missing)
        if kept:
            console.talk(f"{kept} of {len(trials)} trials were finished before")
        self._trials, self._done = len(trials), kept
        self._cost = sum(map(cost, missing))
        if self._console.is_terminal and missing:
            self._progress = _bar(self._console)
            self._task = self._progress.add_task("trials", total=self._cost, done=self._count())
            self._progress.start()

    def done(self, trial: Trial, problem: str | None) -> None:
        """Moves the bar."""
        self._done += 1
        self._spent += cost(trial)
        if problem is not None:
            self._say(f"failed: {trial.id}: {problem}")
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=cost(trial), done=self._count())
        elif self._spent >= self._told + self._cost / 10:
            self._told = self._spent
            console.talk(f"{self._count()} trials")

    def tables(self) -> None:
        """Ends the bar."""
        self.stop()

    def stop(self) -> None:
        """Ends the bar, whatever happened."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _count(self) -> str:
        return f"{self._done}/{self._trials}"

    def _say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(text, markup=False)
        else:
            console.talk(text)


def cost(trial: Trial) -> float:
    """About what a trial costs to run: seconds of each link's traffic, and of the rest."""
    spec = json.loads(trial.spec)
    mbit: float = sum(link["rate_bps"] for link in spec["links"]) / 1e6
    return float(spec["duration_ns"]) / 1e9 * (1 + mbit)


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
        TextColumn("{task.fields[done]} trials"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=target,  # type: ignore[arg-type]
        transient=True,
    )
