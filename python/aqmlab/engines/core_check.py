"""Checks for trials that no engine can run, before any trial runs.

The simulator's core checks a resolved trial exactly as before a run, and constructs its simulation.
This check takes well under a millisecond. It finds parameters out of bounds, datagrams that are
larger than a packet, and time series that need too much memory. Only the core states the limits.
"""

from __future__ import annotations

import re

from aqmlab import _core
from aqmlab.engines.engine import Address, Refusal
from aqmlab.engines.trial_spec import TrialSpec

_PART = re.compile(r"(\w+)|\[(\d+)\]")


def refusal(spec: TrialSpec) -> Refusal | None:
    """The reason why no engine can run the trial `spec`, if there is one."""
    wrong = _core.check(spec.quick_text())
    return wrong and Refusal(address(wrong[0]), wrong[1])


def address(text: str) -> Address:
    """Parses a location in a trial from the core's notation.

    >>> address("links[0].qdisc.limit")
    ('links', 0, 'qdisc', 'limit')
    """
    return tuple(name or int(number) for name, number in _PART.findall(text))
