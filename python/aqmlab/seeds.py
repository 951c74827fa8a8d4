"""Seeds: how many repetitions, or which.

A number is how many, counted from 1; "3-7" and "1,4,9" and lists say which.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

from aqmlab.errors import BadValueError, shown

_MOST = 100_000
_HINT = 'write how many, such as 5, or which, such as "3-7" or "1,4,9"'


def numbers(value: Any) -> tuple[int, ...]:
    """The seeds that `value` stands for.

    >>> numbers(3), numbers("3-5"), numbers([1, 4]), numbers("1,7-8")
    ((1, 2, 3), (3, 4, 5), (1, 4), (1, 7, 8))
    """
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        seeds = tuple(range(1, value + 1)) if value <= _MOST else (-1,)
    elif isinstance(value, str):
        written = (seed for part in value.split(",") for seed in _part(part, value))
        seeds = tuple(itertools.islice(written, _MOST + 1))
    elif isinstance(value, (list, tuple)) and all(type(seed) is int for seed in value):
        seeds = tuple(value)
    else:
        raise BadValueError(f"`{shown(value)}` is not a number of seeds", _HINT)
    if not seeds or len(seeds) > _MOST or not all(0 <= seed < 2**63 for seed in seeds):
        raise BadValueError(f"`{shown(value)}` is not between 1 and {_MOST} seeds", _HINT)
    if len(set(seeds)) < len(seeds):
        raise BadValueError(f"`{shown(value)}` names a seed twice", _HINT)
    return seeds


def _part(text: str, whole: str) -> range:
    found = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", text)
    if found is None:
        raise BadValueError(f"`{shown(whole)}` is not a number of seeds", _HINT)
    first = int(found[1])
    last = int(found[2]) if found[2] else first
    if last < first or last - first >= _MOST:
        raise BadValueError(f"`{shown(whole)}` is not between 1 and {_MOST} seeds", _HINT)
    return range(first, last + 1)


def spelled(value: Any) -> int | str:
    """`value` in its one spelling; raises `BadValueError` if it names no seeds.

    >>> spelled("3 - 7"), spelled([1, 2, 3]), spelled("5")
    ('3-7', 3, 5)
    """
    seeds = numbers(value)
    if seeds == tuple(range(1, len(seeds) + 1)):
        return len(seeds)
    if len(seeds) > 1 and seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ",".join(str(seed) for seed in seeds)
