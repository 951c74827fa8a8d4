"""What a trial costs, before it is run.

Trials differ: a minute of 100 Mbit/s takes longer than one of 8. What a campaign's trials cost in
all, in units of no meaning, says what share of it is done; what a unit took of late on this very
machine says how long the rest will take.
"""

from __future__ import annotations

import json
from functools import lru_cache

from aqmlab.campaign.store.folder import Trial

_WEIGHTS = {"sim": 1e-6, "kernel": 1e-7, "kernel-ours": 1e-7}
"""What a bit per second costs, where a second without traffic costs one; in real time, nothing."""


def cost(trial: Trial, seconds: float | None = None) -> float:
    """About what so many seconds of a trial, or all, cost: each link's traffic, and the rest."""
    duration_s, bps = _facts(trial.spec)
    length_s = duration_s if seconds is None else seconds
    return length_s * (1 + _WEIGHTS.get(trial.engine, 0.0) * bps)


def simulated_s(trial: Trial) -> float:
    """How long a trial lasts, in its own seconds."""
    return _facts(trial.spec)[0]


@lru_cache(maxsize=100_000)
def _facts(spec: str) -> tuple[float, float]:
    """A trial's length in seconds, and the rates of its links in all."""
    read = json.loads(spec)
    return float(read["duration_ns"]) / 1e9, float(sum(one["rate_bps"] for one in read["links"]))
