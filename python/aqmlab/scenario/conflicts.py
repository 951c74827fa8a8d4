"""Checks for loops that contradict each other and for values without effect.

A column of a table shows the value at which a trial ran. The column would be wrong if a second loop
set the same parameter, in any spelling. If two values gave the same trials, a comparison of the
values would compare each trial with itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import ScenarioError, shown
from aqmlab.scenario import merge
from aqmlab.scenario.merge import Keys, Layer
from aqmlab.scenario.sweep import Loop, Step

Where = Callable[[str], str]
"""A function that formats the location of a loop for a message, given the loop's name."""

_CHOOSING = ("profile", "kind")
"""Keys whose value decides which other members a table can have."""


def in_order(changes: Iterable[Layer]) -> list[Layer]:
    """Sorts the changes of one trial by precedence, independently of the order of the loops.

    Changes of a profile or a kind come first, then other changes, then removals of applications.
    Of two other changes, the change with the longer address comes later.
    """
    return sorted(changes, key=lambda one: (_takes_away(one), _chooses(one), _depth(one)))


def choosing_first(changes: Iterable[Layer]) -> list[Layer]:
    """Sorts removals of applications, and changes of a profile or a kind, to the front.

    Other changes keep their order, so a later option overrides an earlier option.
    """
    return sorted(changes, key=lambda one: -1 if _takes_away(one) else _chooses(one))


def _keys(change: Layer) -> list[Keys]:
    return [keys for keys, _ in merge.leaves(change.data)]


def _takes_away(change: Layer) -> bool:
    return any(keys[0] == "apps" and len(keys) == 2 for keys in _keys(change))


def _chooses(change: Layer) -> int:
    """The index in `_CHOOSING` of the changed key; the length of `_CHOOSING` for other keys."""
    last = {keys[-1] for keys in _keys(change)}
    found = (number for number, key in enumerate(_CHOOSING) if key in last)
    return next(found, len(_CHOOSING))


def _depth(change: Layer) -> int:
    return min(map(len, _keys(change)), default=0)


def refuse_overlaps(
    loops: Sequence[Loop], layer_of: Callable[[str, Any], Layer], where: Where
) -> None:
    """Raises `ScenarioError` if two loops set the same parameter.

    `layer_of` returns the layer that sets an address to a value.
    """
    owners: dict[Keys, tuple[str, str]] = {}
    above: dict[Keys, tuple[str, str]] = {}
    for loop in loops:
        own = {
            keys: (loop.name, address)
            for address, value in dict.fromkeys(_changes(loop))
            for keys in _leaves(layer_of(address, value.value))
        }
        for keys, (_, address) in own.items():
            around = [keys[:length] for length in range(1, len(keys))]
            found = [owners.get(keys), above.get(keys), *map(owners.get, around)]
            other = next((one for one in found if one is not None), None)
            if other is not None:
                raise _overlap(where(loop.name), loop.name, address, *other)
        for keys, owner in own.items():
            owners[keys] = owner
            for length in range(1, len(keys)):
                above.setdefault(keys[:length], owner)


def overlap(first: Layer, second: Layer) -> bool:
    """Returns whether two changes set the same parameter.

    A change of a table sets all parameters in the table.
    """
    return any(
        one[: len(other)] == other or other[: len(one)] == one
        for one in _leaves(first)
        for other in _leaves(second)
    )


class _ById:
    """A value that is compared by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value


def _changes(loop: Loop) -> list[tuple[str, _ById]]:
    return [(address, _ById(value)) for step in loop.steps for address, value in step.changes]


def _leaves(change: Layer) -> list[Keys]:
    """The keys that a change sets. Removing an application sets none of its parameters."""
    return [
        keys
        for keys, value in merge.leaves(change.data)
        if not (keys[0] == "apps" and len(keys) == 2 and merge.is_removal(value))
    ]


def _overlap(place: str, loop: str, address: str, other: str, its: str) -> ScenarioError:
    own = f"`{shown(address)}`" + (f" of this loop, `{shown(loop)}`," if loop != address else "")
    owner = f"vary.{shown(other)}" + (f" ({shown(its)})" if its != other else "")
    return ScenarioError(
        place,
        f"{own} sets the same parameter as {owner}",
        "a column cannot show which of the two applies; vary each parameter in one loop",
    )


class Effects:
    """A record of the trials of all combinations, which finds loop values without effect."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self._loops = loops
        self._folded = [
            [hashlib.sha256() for _ in loop.steps] if len(loop.steps) > 1 else [] for loop in loops
        ]

    def note(self, picks: Sequence[int], spec: object) -> None:
        """Records the trial `spec` of a combination. `picks` is the index of each loop's step.

        `spec` is any value that msgspec encodes. The caller records all combinations in one order,
        with the last loop innermost.
        """
        if not any(self._folded):
            return
        digest = hashlib.sha256(msgspec.json.encode(spec, order="deterministic")).digest()
        for folded, pick in zip(self._folded, picks, strict=True):
            if folded:
                folded[pick].update(digest)

    def refuse_none(self, where: Where) -> None:
        """Raises `ScenarioError` if two steps of a loop always give the same trials."""
        for loop, folded in zip(self._loops, self._folded, strict=True):
            seen: dict[bytes, Step] = {}
            for step, one in zip(loop.steps, folded, strict=False):
                other = seen.setdefault(one.digest(), step)
                if other is not step:
                    raise ScenarioError(
                        where(loop.name),
                        f"`{_text(other)}` and `{_text(step)}` make the same trials",
                        "leave one of them out; if they should differ, check whether something else"
                        " sets the parameter and whether anything depends on it",
                    )


def _text(step: Step) -> str:
    return shown(" ".join(condition_text(value) for _, value in step.conditions))
