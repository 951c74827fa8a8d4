"""Constants and numbers that several claims use."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from aqmlab.studies.numbers import At, BySeed, Numbers

FULL_BITS = 1500 * 8
"""The bits of a full packet on a line that charges IP bytes."""

PAYLOAD_SHARE = 1448 / 1500
"""The share of payload in a full TCP packet with timestamps."""

MUCH = 2.0
"""Our reading of "much" and "substantially": at least twice, or at most half."""


def packet_ms(rate: str) -> float:
    """The transmission time of a full packet at a rate such as "40 Mbit/s", in ms."""
    return FULL_BITS / mbit(rate) / 1e3


def mbit(rate: str) -> float:
    """The number in a rate such as "40 Mbit/s"."""
    return float(rate.removesuffix(" Mbit/s"))


def copies(name: str, count: int) -> list[str]:
    """The names of the copies of an application."""
    return [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]


def mean_of(parts: Iterable[BySeed]) -> BySeed:
    """The mean of `parts`, for each seed."""
    known = list(parts)
    return {seed: statistics.fmean(one[seed] for one in known) for seed in known[0]}


def ratio(these: BySeed, those: BySeed) -> BySeed:
    """The ratio of `these` to `those`, for each seed."""
    return {seed: these[seed] / those[seed] for seed in these}


def percent(these: BySeed, whole: BySeed) -> BySeed:
    """The share of `these` in `whole` in per cent, for each seed."""
    return {seed: 100 * share for seed, share in ratio(these, whole).items()}


def goodput(n: Numbers, flow: str, at: At) -> BySeed:
    """The payload that a flow delivers, in Mbit/s."""
    return n.flow(flow, "goodput_mbit", at)


def queueing(n: Numbers, flow: str, column: str, at: At, rate: str) -> BySeed:
    """A statistic of a download's delay in the downlink's queue, in ms.

    `column` is a column of round-trip times. The base round-trip time and a full packet's
    transmission time are subtracted. The uplink is so fast that it adds nothing.
    """
    rtt_ms, base_ms = (n.flow(flow, name, at, "down") for name in (column, "rtt_base_ms"))
    sending_ms = packet_ms(rate)
    return {seed: rtt_ms[seed] - base_ms[seed] - sending_ms for seed in rtt_ms}
