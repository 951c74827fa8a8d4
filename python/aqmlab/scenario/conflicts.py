"""Loops that contradict each other, or of which a value changes nothing.

A column of a table says what a trial ran at. It would not if a second loop set the same
parameter, by whatever spelling. And of two values that make the same trials, one is a comparison
of a trial with itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.results.labels import condition_text
from aqmlab.scenario import merge
from aqmlab.scenario.merge import Keys, Layer
from aqmlab.scenario.sweep import Loop, Step

Where = Callable[[str], str]
"""How a message names the place of a loop."""

_CHOOSING = ("profile", "kind")
"""What chooses a table: a member that stood in another one means nothing to it."""


def in_order(changes: Iterable[Layer]) -> list[Layer]:
    """The changes of one trial in the order in which each holds, whatever loop it is of.

    First come those that choose a profile or a kind, then members of it, and last what takes an
    application away; of two that overlap, the one with more keys comes later.
    """
    return sorted(changes, key=lambda one: (_takes_away(one), _chooses(one), _depth(one)))


def choosing_first(changes: Iterable[Layer]) -> list[Layer]:
    """The changes of options, of which later ones win, with those in front that choose a table."""
    return sorted(changes, key=lambda one: -1 if _takes_away(one) else _chooses(one))


def _keys(change: Layer) -> list[Keys]:
    return [keys for keys, _ in merge.leaves(change.data)]


def _takes_away(change: Layer) -> bool:
    return any(keys[0] == "apps" and len(keys) == 2 for keys in _keys(change))


def _chooses(change: Layer) -> int:
    """Which of `_CHOOSING` is changed; their number if none is."""
    last = {keys[-1] for keys in _keys(change)}
    found = (number for number, key in enumerate(_CHOOSING) if key in last)
    return next(found, len(_CHOOSING))


def _depth(change: Layer) -> int:
    return min(map(len, _keys(change)), default=0)


def refuse_overlaps(
    loops: Sequence[Loop], layer_of: Callable[[str, Any], Layer], where: Where
) -> None:
    """Raises `ScenarioError` if two loops set one parameter.

    `layer_of` gives the layer that sets an address to a value.
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
    """Whether two changes set one parameter."""
    return any(
        one[: len(other)] == other or other[: len(one)] == one
        for one in _leaves(first)
        for other in _leaves(second)
    )


class _ById:
    """A value that is compared as the object that it is."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value


def _changes(loop: Loop) -> list[tuple[str, _ById]]:
    return [(address, _ById(value)) for step in loop.steps for address, value in step.changes]


def _leaves(change: Layer) -> list[Keys]:
    """What a change sets; whoever takes an application away leaves its parameters as they are."""
    return [
        keys
        for keys, value in merge.leaves(change.data)
        if not (keys[0] == "apps" and len(keys) == 2 and value in ("off", False))
    ]


def _overlap(place: str, loop: str, address: str, other: str, its: str) -> ScenarioError:
    own = f"`{shown(address)}`" + (f" of this loop, `{shown(loop)}`," if loop != address else "")
    owner = f"vary.{shown(other)}" + (f" ({shown(its)})" if its != other else "")
    return ScenarioError(
        place,
        f"{own} sets what {owner} sets, too",
        "a column could not say which of them holds; vary each parameter in one loop",
    )


class Effects:
    """Notes the trial of every combination, and tells which values of a loop change nothing."""

    def __init__(self, loops: Sequence[Loop]) -> None:
        self._loops = loops
        self._folded = [
            [hashlib.sha256() for _ in loop.steps] if len(loop.steps) > 1 else [] for loop in loops
        ]

    def note(self, picks: Sequence[int], spec: Mapping[str, Any]) -> None:
        """Notes the trial of the steps `picks`; combinations come in the order of the loops."""
        if not any(self._folded):
            return
        digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).digest()
        for folded, pick in zip(self._folded, picks, strict=True):
            if folded:
                folded[pick].update(digest)

    def refuse_none(self, where: Where) -> None:
        """Raises `ScenarioError` if two steps of a loop make the same trials throughout."""
        for loop, folded in zip(self._loops, self._folded, strict=True):
            seen: dict[bytes, Step] = {}
            for step, one in zip(loop.steps, folded, strict=False):
                other = seen.setdefault(one.digest(), step)
                if other is not step:
                    raise ScenarioError(
                        where(loop.name),
                        f"`{_text(other)}` and `{_text(step)}` make the same trials",
                        "leave one of them out; if they should differ, see what else sets the "
                        "parameter, and whether anything depends on it",
                    )


def _text(step: Step) -> str:
    return shown(" ".join(condition_text(value) for _, value in step.conditions))
