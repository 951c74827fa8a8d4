"""Estimates the cost of a trial before it runs.

The cost depends on the trial: a minute at 100 Mbit/s takes longer than one at 8. It has an
arbitrary unit. The share of the total cost shows the progress of a campaign. Recent times for one
unit on this machine give the remaining time.
"""

from __future__ import annotations

import json
from functools import lru_cache

from aqmlab.campaign.store.folder import Trial

_WEIGHTS = {"sim": 1e-6, "kernel": 1e-7, "kernel-ours": 1e-7}
"""The cost of one bit/s, relative to a second without traffic. In real time it is zero."""


def cost(trial: Trial, seconds: float | None = None) -> float:
    """The approximate cost of `seconds` of a trial, or of all of it: links' traffic plus time."""
    duration_s, bps = _facts(trial.spec)
    length_s = duration_s if seconds is None else seconds
    return length_s * (1 + _WEIGHTS.get(trial.engine, 0.0) * bps)


def simulated_s(trial: Trial) -> float:
    """The duration of a trial in simulated seconds."""
    return _facts(trial.spec)[0]


@lru_cache(maxsize=100_000)
def _facts(spec: str) -> tuple[float, float]:
    """A trial's duration in seconds, and the sum of its links' rates."""
    read = json.loads(spec)
    return float(read["duration_ns"]) / 1e9, float(sum(one["rate_bps"] for one in read["links"]))
