"""Common functions of the claims of several sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import truediv

from aqmlab.studies.claims import Check, alike, spread, total
from aqmlab.studies.numbers import At, BySeed, Numbers

Flow = tuple[str, str]
"""An application, and the direction of its data."""


FRAME_BYTES = 1514
"""The size of a full packet in Linux's queues."""

FULL = 0.95 * 1500 / FRAME_BYTES
"""The least share of a rate that counts as full use of the rate.

Flows may miss up to 5 % of the rate that they can reach, which is 1500/1514 of the line's rate.
"""


def each(function: Callable[..., float], *parts: BySeed) -> BySeed:
    """The result of a function for the numbers of each seed."""
    return {seed: function(*(part[seed] for part in parts)) for seed in parts[0]}


def mean(values: Sequence[BySeed]) -> BySeed:
    """The mean of `values`, for each seed."""
    return each(lambda *own: sum(own) / len(own), *values)


def ratio(these: BySeed, those: BySeed) -> BySeed:
    """The ratio of `these` to `those`, for each seed."""
    return each(truediv, these, those)


def alike_under_all(what: str, own: Mapping[str, BySeed], within: float) -> list[Check]:
    """Checks that a quantity under each queue is close to its mean over the queues."""
    middle = mean(list(own.values()))
    return [
        alike(f"{what}, {queue} over the mean", value, middle, within=within)
        for queue, value in own.items()
    ]


def rates(n: Numbers, flows: Sequence[Flow], at: At) -> list[BySeed]:
    """The median throughput of each flow in Mbit/s, as in the report's box plots."""
    return [n.flow(name, "throughput_p50_mbit", at, way) for name, way in flows]


def jain(n: Numbers, flows: Sequence[Flow], at: At) -> BySeed:
    """Jain's index of the flows' median throughputs, for each seed."""
    return jain_index(rates(n, flows, at))


def jain_index(shares: Sequence[BySeed]) -> BySeed:
    """Jain's index of `shares`, for each seed."""
    return each(_jain, *shares)


def _jain(*shares: float) -> float:
    return float(sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares)))


def together(n: Numbers, flows: Sequence[Flow], at: At) -> BySeed:
    """The sum of the flows' median throughputs, in Mbit/s."""
    return total(*rates(n, flows, at))


def delay(
    n: Numbers, flows: Sequence[Flow], at: At, quantity: str = "rtt", part: int = 50
) -> BySeed:
    """The mean over flows of a percentile of their `quantity`, "rtt" or "induced", in ms."""
    return mean([n.flow(name, f"{quantity}_p{part}_ms", at, way) for name, way in flows])


def width(n: Numbers, flow: Flow, at: At) -> BySeed:
    """The distance from the 5th to the 95th percentile of a flow's round-trip times, in ms."""
    name, way = flow
    return spread(*(n.flow(name, f"rtt_p{part}_ms", at, way) for part in (5, 95)))


def words(at: Mapping[str, str]) -> str:
    """The values of a condition in one text, with rates without their unit."""
    return " ".join(value.removesuffix(" Mbit/s") for value in at.values())
