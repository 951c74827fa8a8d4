"""Names that are each given once."""

from __future__ import annotations


class Names:
    """Gives each name that is wanted again a number behind it, the lowest that is free.

    It remembers where it stopped counting, or many that want the same name would take long.

    >>> names = Names()
    >>> [names.free(wanted) for wanted in ("a", "a", "a-3", "a", "a")]
    ['a', 'a-2', 'a-3', 'a-4', 'a-5']
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        """`wanted`, or else with a number; it is taken from now on."""
        own, number = wanted, self._next.get(wanted, 2)
        while own in self._next:
            own, number = f"{wanted}-{number}", number + 1
        self._next[wanted] = number
        self._next.setdefault(own, 2)
        return own
