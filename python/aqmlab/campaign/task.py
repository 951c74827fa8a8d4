"""An order to run a trial, on this machine or another, and the answer to the order.

An executor runs only `perform`. The answer contains the result as bytes, because a worker may not
share a disk with the campaign.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.failures import LabError, describe
from aqmlab.base.versions import build
from aqmlab.campaign.store import trial_file
from aqmlab.engines.engine import load_runner

Moved = Callable[[float], None]
"""A function that receives the number of simulated seconds of a trial that have passed."""

MOST_BYTES = 1 << 30
"""The maximum size of a result in bytes.

In the studies of papers, a result has half a megabyte.
"""


@dataclass(frozen=True, slots=True)
class Order:
    """A trial to run, with its runner and the runner's options."""

    runner: str
    spec: str
    campaign: str
    """The key of the trial's campaign."""
    trial: str
    """The name of the trial."""
    engine: str
    options: Mapping[str, Any] = field(default_factory=dict)
    reports_progress: bool = False
    """Whether the runner reports progress."""
    build: str | None = None
    """The required build of the simulator; any build if absent."""

    @property
    def origin(self) -> trial_file.TrialIdentity:
        """The trial's identity in its result."""
        digest = trial_file.spec_digest(self.spec)
        return trial_file.TrialIdentity(self.campaign, self.trial, self.engine, digest)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an order: the trial's result, or a problem and its cause."""

    data: bytes = b""
    """The trial file, made by `trial_file.encode`; empty if the trial has no result."""
    seconds: float = 0.0
    failed: str | None = None
    """The cause of the problem: the `trial`, a worker that `died`, the `request`, the worker's
    `build`, or a `stopped` campaign. It is `None` if the trial has a result."""
    problem: str = ""
    hint: str | None = None


STOPPED = Answer(failed="stopped", problem="the campaign was stopped")
"""The answer for a trial whose campaign is stopped."""


def perform(order: Order, moved: Moved | None = None) -> Answer:
    """Runs a trial in this process. All errors are returned in the answer, even a panic."""
    if order.build not in (None, build()):
        problem = f"a worker has another build of the simulator: {build()}, not {order.build}"
        return Answer(failed="build", problem=problem)
    told = {"progress": moved or _nobody} if order.reports_progress else {}
    try:
        run = load_runner(order.runner)
        started = time.perf_counter()
        data = trial_file.encode(run(order.spec, **order.options, **told), order.spec, order.origin)
    except LabError as error:
        failed = "request" if error.status == 2 else "trial"
        return Answer(failed=failed, problem=error.problem, hint=error.hint)
    except ValueError as error:
        return Answer(failed="trial", problem=str(error))
    except MemoryError:
        return Answer(failed="trial", problem="not enough memory")
    except BaseException as error:
        # A panic of the simulator is not an `Exception`. A panic must fail only its trial.
        return Answer(failed="trial", problem=describe(error))
    if len(data) > MOST_BYTES:
        problem = f"its result has {len(data)} bytes; the limit is {MOST_BYTES}"
        return Answer(failed="trial", problem=problem, hint="measure less: `measure.points`")
    return Answer(data, time.perf_counter() - started)


def _nobody(_: float) -> None:
    """Ignores the progress of a trial."""
