"""A trial that is handed to whatever runs it, here or on another machine, and what comes back.

`perform` is all that an executor is given to run. What it returns holds the trial's result as
bytes, for a worker may have no disk in common with the campaign.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.failures import LabError, describe
from aqmlab.base.versions import build
from aqmlab.campaign.store import trial_file
from aqmlab.engines.registry import load

Moved = Callable[[float], None]
"""Is told how many seconds of a trial have passed."""

Runner = Callable[..., dict[str, Any]]
"""What runs a trial: from its JSON to its digest and tables. Options are keyword arguments."""

MOST_BYTES = 1 << 30
"""The largest result that is taken; a trial of the papers makes half a megabyte."""


@dataclass(frozen=True, slots=True)
class Order:
    """A trial to run: what runs it, and what that is given besides."""

    runner: str
    spec: str
    campaign: str
    """The key of the campaign that the trial belongs to."""
    options: Mapping[str, Any] = field(default_factory=dict)
    tells: bool = False
    """Whether the runner tells how far it is."""
    build: str | None = None
    """The build that must run it; any, if absent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a trial: its result, or a problem and whose it was."""

    data: bytes = b""
    """A part, as `parts.encode` makes it."""
    seconds: float = 0.0
    failed: str | None = None
    """Whose problem: the `trial`'s, of the worker that `died`, of the `request`, of the worker's
    `build`; or it was `stopped`."""
    problem: str = ""
    hint: str | None = None


STOPPED = Answer(failed="stopped", problem="the campaign was stopped")
"""What becomes of a trial when its campaign is stopped."""


def perform(order: Order, moved: Moved | None = None) -> Answer:
    """Runs a trial in this process; whatever goes wrong is an answer too."""
    if order.build not in (None, build()):
        problem = f"a worker has another build of the simulator: {build()}, not {order.build}"
        return Answer(failed="build", problem=problem)
    told = {"progress": moved or _nobody} if order.tells else {}
    try:
        run: Runner = load(order.runner)
        trial_file.make_ready()  # which takes longer than many a trial, once
        started = time.perf_counter()
        data = trial_file.encode(
            run(order.spec, **order.options, **told), order.spec, order.campaign
        )
    except LabError as error:
        failed = "request" if error.status == 2 else "trial"
        return Answer(failed=failed, problem=error.problem, hint=error.hint)
    except ValueError as error:
        return Answer(failed="trial", problem=str(error))
    except MemoryError:
        return Answer(failed="trial", problem="not enough memory")
    except BaseException as error:
        # A panic of the simulator is no `Exception`, and must fail its trial only.
        return Answer(failed="trial", problem=describe(error))
    if len(data) > MOST_BYTES:
        problem = f"its result has {len(data)} bytes; {MOST_BYTES} are the most that is kept"
        return Answer(failed="trial", problem=problem, hint="measure less: `measure.points`")
    return Answer(data, time.perf_counter() - started)


def _nobody(_: float) -> None:
    """Is told how far a trial is, and does not care."""
