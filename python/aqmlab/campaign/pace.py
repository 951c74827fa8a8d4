"""Estimates the remaining time of a running campaign from the pace of each engine.

Each engine has its own unit of cost: the kernel takes minutes for a cost that the simulator runs in
milliseconds. The pace is the run time for one unit of cost. Until a trial of this run has ended or
reported progress, the pace comes from earlier runs on this machine; without earlier runs there is
no estimate. After that, the pace comes from the trials of this run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aqmlab.campaign.costs import cost
from aqmlab.campaign.store.folder import Trial


@dataclass(slots=True)
class _EngineWork:
    """The cost of an engine's trials in this run, in the engine's unit of cost."""

    total: float = 0.0
    ended: float = 0.0
    """The cost of all trials that have ended, including failed trials."""
    timed: float = 0.0
    """The cost of the trials whose run time is known."""
    busy_s: float = 0.0
    """The run time of the trials in `timed`."""


@dataclass(slots=True)
class _OpenTrial:
    """A trial that reports its progress."""

    trial: Trial
    first: tuple[float, float]
    """The cost that was done at the first report, and the time of this report."""
    last: tuple[float, float]


class Pace:
    """The finished share of a campaign's work, and the remaining time.

    `known` holds the seconds for one unit of cost of each engine with earlier runs on this machine.
    Trials run in `processes` processes. If this number is absent, the sum of the run times divided
    by the time since the start gives the number of simultaneous trials.
    """

    def __init__(
        self,
        known: Mapping[str, float] | None = None,
        processes: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known, self._processes, self._clock = dict(known or {}), processes, clock
        self._engines: dict[str, _EngineWork] = {}
        self._running: dict[int, _OpenTrial] = {}
        self._trials = self._ended = 0
        self._started_s = 0.0

    def begin(self, missing: Sequence[Trial]) -> None:
        """Resets the estimate for a run of the trials `missing`."""
        self._engines, self._running = {}, {}
        for trial in missing:
            self._engines.setdefault(trial.engine, _EngineWork()).total += cost(trial)
        self._trials, self._ended = len(missing), 0
        self._started_s = self._clock()

    def moved(self, trial: Trial, seconds: float) -> None:
        """Notes that a trial has reached `seconds` of its simulated duration."""
        now = cost(trial, seconds), self._clock()
        before = self._running.get(trial.index)
        # A trial whose worker died begins again.
        is_first = before is None or now[0] < before.last[0]
        first = now if is_first or before is None else before.first
        self._running[trial.index] = _OpenTrial(trial, first, now)

    def done(self, trial: Trial, busy_s: float | None) -> None:
        """Notes the end of a trial. `busy_s` is its run time if it has a result."""
        self._running.pop(trial.index, None)
        self._ended += 1
        work = self._engines.setdefault(trial.engine, _EngineWork())
        work.ended += cost(trial)
        if busy_s is not None:
            work.timed += cost(trial)
            work.busy_s += busy_s

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The engines that have remaining trials and an unknown pace."""
        return tuple(
            name
            for name, work in self._engines.items()
            if work.ended < work.total and self._pace(name) is None
        )

    def share(self) -> float:
        """The share of the work that is done.

        With one engine, or if the pace of every engine is known, it is the share of the run time.
        Otherwise it is the share of the trials, because costs of different engines have different
        units. The finished parts of running trials count.
        """
        if not self._trials:
            return 1.0
        paces = {name: self._pace(name) for name in self._engines}
        if len(paces) > 1 and None in paces.values():
            parts = (one.last[0] / cost(one.trial) for one in self._running.values())
            return min(1.0, (self._ended + sum(parts)) / self._trials)
        passed_s = total_s = 0.0
        for name, work in self._engines.items():
            pace = paces[name] or 1.0  # the share of a single engine does not depend on its pace
            passed_s += pace * (work.ended + self._in_part(name))
            total_s += pace * work.total
        return min(1.0, passed_s / total_s)

    def left_s(self) -> float | None:
        """The remaining seconds; `None` while they cannot be estimated."""
        busy_s = 0.0
        for name, work in self._engines.items():
            left = work.total - work.ended - self._in_part(name)
            pace = self._pace(name)
            if left > 0 and pace is None:
                return None
            busy_s += left * (pace or 0.0)
        at_once = self._at_once()
        return None if at_once is None else max(0.0, busy_s) / at_once

    def running(self) -> list[Trial]:
        """The trials that have reported progress and have not ended, in the campaign's order."""
        return [self._running[index].trial for index in sorted(self._running)]

    def _at_once(self) -> float | None:
        """The number of trials that run simultaneously, if it is known."""
        left = max(1, self._trials - self._ended)
        if self._processes is not None:
            return min(self._processes, left)
        passed_s = self._clock() - self._started_s
        busy_s = sum(work.busy_s for work in self._engines.values())
        return min(left, max(1.0, busy_s / passed_s)) if busy_s and passed_s > 0 else None

    def _in_part(self, engine: str) -> float:
        """The cost of the finished parts of an engine's running trials."""
        own = (one for one in self._running.values() if one.trial.engine == engine)
        return sum(one.last[0] for one in own)

    def _pace(self, engine: str) -> float | None:
        """The seconds per unit of an engine's cost, from this run or otherwise from earlier runs.

        The value is `None` if neither has measured the engine.
        """
        work = self._engines[engine]
        cost_run, busy_s = work.timed, work.busy_s
        for one in self._running.values():
            if one.trial.engine == engine:
                cost_run += one.last[0] - one.first[0]
                busy_s += one.last[1] - one.first[1]
        return busy_s / cost_run if min(cost_run, busy_s) > 0 else self._known.get(engine)
