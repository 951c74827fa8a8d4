"""How much a config may make, and how large what it says may be.

Every value has a limit of its own; these are for all of them together. What two lists share
counts for each, since whoever writes them out writes it twice.
"""

from __future__ import annotations

import sys
from typing import Any

MOST_MADE = 100_000_000
"""About the bytes of all that a config makes, and of what it looks through."""

MOST_SAID = 1_000_000
"""Members and characters of all that a config says."""

MOST_LEVELS = 80

_MEMBER = 64
_PLACE = 8


def made(value: Any) -> int:
    """About the bytes of a new value, whose members are taken to be new and small.

    >>> made(7), made("abc") < made([1, 2]) < made([1] * 100)
    (0, True)
    """
    if isinstance(value, str):
        return sys.getsizeof(value)
    if isinstance(value, (list, tuple, dict)):
        return sys.getsizeof(value) + _MEMBER * len(value)
    return 0


def seen(value: Any) -> int:
    """About the bytes to look through: of a text, of a list, and of the texts in it.

    >>> seen(7), seen("abc"), seen(["abc", 7, [1, 2]])
    (0, 3, 27)
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (list, tuple, dict)):
        return _PLACE * len(value) + sum(len(one) for one in value if isinstance(one, str))
    return 0


def said(value: Any, most: int) -> int:
    """Members and characters of a value and all that it holds; raises `ValueError` beyond `most`.

    It does so, too, if lists hold lists deeper than anybody writes, or themselves.

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
