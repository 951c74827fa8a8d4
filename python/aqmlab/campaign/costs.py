"""Estimates the cost of a trial before it runs.

The cost depends on the trial: a minute at 100 Mbit/s takes longer than a minute at 8 Mbit/s. The
unit of cost is arbitrary. With one engine, the finished share of the total cost is the progress of
a campaign. The recent run time per unit on this machine gives the remaining time.
"""

from __future__ import annotations

from functools import lru_cache

from aqmlab.campaign.store.folder import Trial
from aqmlab.engines import registry
from aqmlab.engines.trial_spec import TrialSpec


def cost(trial: Trial, seconds: float | None = None) -> float:
    """The approximate cost of `seconds` simulated seconds of a trial, or of the whole trial.

    The cost grows with this time and with the number of bits that the applications can send
    meanwhile, which the slowest link of each route bounds.
    """
    duration_s, bps = _facts(trial.spec)
    length_s = duration_s if seconds is None else seconds
    return length_s * (1 + registry.engine(trial.engine).bit_cost * bps)


def simulated_s(trial: Trial) -> float:
    """The duration of a trial in simulated seconds."""
    return _facts(trial.spec)[0]


@lru_cache(maxsize=100_000)
def _facts(text: str) -> tuple[float, float]:
    """A trial's duration in seconds, and the sum of the rates of its bottlenecks in bit/s.

    A bottleneck is the slowest link of a route. Other links, such as a home network of 1 Gbit/s or
    the wire between a gateway and a modem, never carry more than the bottlenecks.
    """
    spec = TrialSpec.read(text)
    rates = [link.rate_bps for link in spec.links]
    routes = (route.links for app in spec.apps for route in (app.up, app.down) if route.links)
    bottlenecks = {min(links, key=rates.__getitem__) for links in routes}
    return spec.duration_s, float(sum(rates[at] for at in bottlenecks))
