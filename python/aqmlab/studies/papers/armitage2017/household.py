"""Section VI's arithmetic: the total needs of the Hectic Household's applications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aqmlab.households import loading
from aqmlab.households.activity import Category
from aqmlab.scenario.quantities import Rate

Class = Category
"""A category of applications by their tolerance of delay."""

ACK_SHARE = 1 / 47
"""Footnote 24: 64 B of acknowledgement for every two packets of 1500 B."""

ACK_ALLOWANCE = 1 / 40
"""The larger share of acknowledgements in VI-C: 125 kbit/s for 5 Mbit/s."""


@dataclass(frozen=True, slots=True)
class Need:
    """The rates that one instance of an application needs, and the number of instances."""

    name: str
    kind: Class
    down_mbit: float
    up_mbit: float
    count: int = 1


def _peak() -> tuple[Need, ...]:
    """The simultaneous demand of the built-in household `hectic`."""
    uses = [owned.use for owned in loading.load("hectic").uses()]
    return tuple(
        Need(
            use.activity.title,
            use.activity.category,
            _mbit(use.activity.needs.down),
            _mbit(use.activity.needs.up),
            use.copies,
        )
        for use in uses
    )


def _mbit(rate: Rate | None) -> float:
    return 0.0 if rate is None else rate.bps / 1e6


PEAK = _peak()
"""VI-D: the peak stack of applications."""


def down(stack: Sequence[Need], *kinds: Class) -> float:
    """The downstream need of a stack in Mbit/s, for some classes or for all."""
    return sum(one.count * one.down_mbit for one in stack if not kinds or one.kind in kinds)


def data_up(stack: Sequence[Need], *kinds: Class) -> float:
    """The upstream data of a stack without acknowledgements, in Mbit/s."""
    return sum(one.count * one.up_mbit for one in stack if not kinds or one.kind in kinds)


def acks(stack: Sequence[Need], share: float = ACK_SHARE) -> float:
    """The rate of acknowledgements of TCP's downstream data, in Mbit/s."""
    return share * down(stack, "streaming", "tolerant")


def up(stack: Sequence[Need]) -> float:
    """The upstream need of a stack, in Mbit/s."""
    return data_up(stack) + acks(stack)


def with_streams(stack: Sequence[Need], *rates_mbit: float) -> tuple[Need, ...]:
    """The stack with video streams at these rates in place of its video streams (VI-F)."""
    others = [one for one in stack if one.kind != "streaming" or one.name == "music"]
    return (*(Need("stream", "streaming", rate, 0) for rate in rates_mbit), *others)


def with_patience(stack: Sequence[Need], times: float) -> tuple[Need, ...]:
    """The stack with transfers that may take `times` as long (VI-F)."""
    return tuple(
        replace(one, down_mbit=one.down_mbit / times, up_mbit=one.up_mbit / times)
        if one.kind == "tolerant"
        else one
        for one in stack
    )


def rate_mbit(size_bytes: float, time_s: float) -> float:
    """The rate at which a transfer of `size_bytes` takes `time_s`, in Mbit/s."""
    return size_bytes * 8e-6 / time_s


def bdp_packets(rate_mbit: float, rtt_ms: float) -> float:
    """A path's bandwidth-delay product in packets of 1500 B (Table IV)."""
    return rate_mbit * rtt_ms * 1e3 / (8 * 1500)
