"""Limits on the total size of the values that a config makes, and of the values that it defines.

Each value has its own limit. These limits apply to all values together. A shared member counts once
for each list that holds it, because written output repeats it.
"""

from __future__ import annotations

import sys
from typing import Any

MOST_MADE = 100_000_000
"""The maximum number of bytes, approximately, of all values that a config makes or searches."""

MOST_SAID = 1_000_000
"""The maximum number of members and characters of all definitions of a config."""

MOST_LEVELS = 80

_MEMBER = 64
_PLACE = 8


def made(value: Any) -> int:
    """The approximate bytes of a new value, in which each member counts as a small new value.

    >>> made(7), made("abc") < made([1, 2]) < made([1] * 100)
    (0, True)
    """
    if isinstance(value, str):
        return sys.getsizeof(value)
    if isinstance(value, (list, tuple, dict)):
        return sys.getsizeof(value) + _MEMBER * len(value)
    return 0


def seen(value: Any) -> int:
    """The approximate bytes that a search in a text, or in a list with texts, reads.

    >>> seen(7), seen("abc"), seen(["abc", 7, [1, 2]])
    (0, 3, 27)
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (list, tuple, dict)):
        return _PLACE * len(value) + sum(len(one) for one in value if isinstance(one, str))
    return 0


def said(value: Any, most: int) -> int:
    """Counts members and characters of a value, recursively; raises `ValueError` above `most`.

    It also raises `ValueError` for excessively nested lists and for lists that contain themselves.

    >>> said({"a": [1, "bcd"]}, 10)
    9
    """
    count, waiting = 0, [(value, 0)]
    while waiting:
        one, level = waiting.pop()
        count += 1 + (len(one) if isinstance(one, str) else 0)
        if isinstance(one, (list, tuple, dict)):
            parts = [*one, *one.values()] if isinstance(one, dict) else one
            waiting.extend((part, level + 1) for part in parts)
        if count + len(waiting) > most or level > MOST_LEVELS:
            raise ValueError
    return count
