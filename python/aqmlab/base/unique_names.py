"""Unique names, also for file systems that ignore case."""

from __future__ import annotations

import re


class Names:
    """A generator of unique names. It appends the lowest free number to a repeated name.

    It stores the next number of each name, because a search from the start would be slow.

    Names that differ only in case count as equal.

    >>> names = Names()
    >>> [names.free(wanted) for wanted in ("a", "a", "a-3", "a", "a")]
    ['a', 'a-2', 'a-3', 'a-4', 'a-5']
    >>> [Names().free("A"), names.free("A")]
    ['A', 'A-6']
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        """Returns `wanted`, with a number if needed, and marks the result as taken."""
        own, number = wanted, self._next.get(wanted.casefold(), 2)
        while own.casefold() in self._next:
            own, number = f"{wanted}-{number}", number + 1
        self._next[wanted.casefold()] = number
        self._next.setdefault(own.casefold(), 2)
        return own


def without_number(name: str) -> str:
    """The name without the number that distinguishes it from equal names.

    >>> [without_number(name) for name in ("web-12", "film-hd", "web", "-1")]
    ['web', 'film-hd', 'web', '-1']
    """
    return re.sub(r"(?<=.)-[0-9]+\Z", "", name, flags=re.S)
