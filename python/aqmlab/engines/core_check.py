"""What no engine could run, found before anything runs.

The simulator's core checks a resolved trial as it would before running it, and builds it to its
end, in well under a millisecond: bounds of parameters, datagrams that fit no packet, series
that no memory holds. The limits stay where they are needed and are not told twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from aqmlab.engines.registry import Address, Refusal

_PART = re.compile(r"(\w+)|\[(\d+)\]")


def refusal(spec: Mapping[str, Any]) -> Refusal | None:
    """Why the trial `spec` cannot be run by any engine, if so."""
    from aqmlab import _core

    wrong = _core.check(json.dumps(spec))
    return wrong and Refusal(address(wrong[0]), wrong[1])


def address(text: str) -> Address:
    """A place in a trial as the core writes it.

    >>> address("links[0].qdisc.limit")
    ('links', 0, 'qdisc', 'limit')
    """
    return tuple(name or int(number) for name, number in _PART.findall(text))
