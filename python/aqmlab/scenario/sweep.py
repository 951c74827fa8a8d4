"""Loops over varied parameters, and the combinations of their values.

A `vary` table has one member for each loop. The first loop is the outermost, and seeds are
innermost. A member whose name is an address of the scenario lists values for that address. Any
other name names a linked loop, which lists tables. Each table sets several addresses together and
may have a `label`.

    [vary]
    path.rate = ["12/1 Mbit/s", "25/5 Mbit/s"]
    scheme = [
        { label = "FIFO", path.qdisc = "pfifo limit=490" },
        { label = "PIE", path.qdisc = "pie_freebsd limit=1000", hosts.home.ecn = true },
    ]

The loops become columns of every table of results, and the values of the columns distinguish
trials. The columns' names must therefore be valid and unique, even for readers that ignore case.
The values of a loop must also be unique.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import BadMemberError, BadValueError, shown, suggestion
from aqmlab.scenario import merge, toml_writer
from aqmlab.scenario.column_names import is_column, refuse_name
from aqmlab.scenario.notation import Table

Condition = str | int | float
"""The label of a varied value, which is the value of a column."""

MOST_TRIALS = 1_000_000
_MOST_COMBINATIONS = 100_000  # each is resolved before the first trial runs
_MOST_CHANGES = 1_000
_MOST_LABEL = 1_000


@dataclass(frozen=True)
class Step:
    """One step of a loop: its columns with their labels, and the addresses with their values."""

    conditions: tuple[tuple[str, Condition], ...]
    changes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Loop:
    """A varied parameter, or several parameters that vary together."""

    name: str
    steps: tuple[Step, ...]


def loops(vary: Mapping[str, object]) -> tuple[Loop, ...]:
    """The loops of a flattened `vary` table.

    Raises `BadMemberError` for an invalid loop.
    """
    result = []
    for name, values in vary.items():
        try:
            result.append(_loop(name, values))
            _refuse_alike(result[-1])
        except BadValueError as problem:
            raise problem.inside(("vary", name, *getattr(problem, "keys", ()))) from None
    _refuse_one_name(result)
    return tuple(result)


def _refuse_alike(loop: Loop) -> None:
    """Raises `BadMemberError` for two equal steps, and for two equal columns of a step."""
    seen: dict[tuple[tuple[str, str], ...], int] = {}
    for number, step in enumerate(loop.steps):
        names = [name.casefold() for name, _ in step.conditions]
        if len(set(names)) < len(names):
            twice = next(name for name, _ in step.conditions if names.count(name.casefold()) > 1)
            problem = f"a step sets two parameters with the same column name, `{shown(twice)}`"
            raise BadMemberError(str(number), problem, "give the step a label")
        own = tuple((name, condition_text(value)) for name, value in step.conditions)
        if own in seen:
            value = " ".join(text for _, text in own)
            problem = f"`{shown(value)}` is given twice, as values {seen[own] + 1} and {number + 1}"
            hint = "their trials would count as repetitions; use `seeds` for repetitions"
            raise BadMemberError(str(number), problem, hint)
        seen[own] = number


def _refuse_one_name(all_loops: list[Loop]) -> None:
    """Raises `BadMemberError` if columns of two loops have equal names, ignoring case."""
    owners: dict[str, str] = {}
    for loop in all_loops:
        for name in dict.fromkeys(name for step in loop.steps for name, _ in step.conditions):
            other = owners.setdefault(name.casefold(), loop.name)
            if other != loop.name:
                problem = f"this and vary.{shown(other)} have the same column name, `{shown(name)}`"
                hint = "tables ignore case; rename a linked loop, or give its steps labels"
                raise BadMemberError(("vary", loop.name), problem, hint)


def _loop(name: str, values: Any) -> Loop:
    if not isinstance(values, (list, tuple)):
        raise BadValueError(f"`{shown(values)}` is not a list", "write the values in brackets")
    if not values:
        raise BadValueError("there are no values", "write them in brackets")
    if name.partition(".")[0] in merge.ROOTS:
        short = short_name(name)
        own = label_all(values)
        return Loop(
            name,
            tuple(
                Step(((short, label),), ((name, value),))
                for label, value in zip(own, values, strict=True)
            ),
        )
    if not all(isinstance(step, Mapping) for step in values):
        known = ("path.rate", "path.qdisc", "path.rtt", "path.down.rate", "path.up.rate")
        raise BadValueError(
            "neither the address of a parameter nor a list of tables", suggestion(name, known)
        )
    refuse_name(name)
    changes = [_changes(step) for step in values]
    labels = _labels_by_address(changes)
    return Loop(
        name,
        tuple(_linked(name, step, own, labels) for step, own in zip(values, changes, strict=True)),
    )


def _changes(step: Mapping[str, Any]) -> Table:
    changes = merge.step_changes(step)
    if not changes and "label" not in step:
        raise BadValueError("a step sets nothing", 'write { label = "A", path.rtt = "20 ms" }')
    if len(changes) > _MOST_CHANGES:
        raise BadValueError(f"a step sets {len(changes)} values, {_MOST_CHANGES} at most")
    merge.refuse_two_names(changes)
    if len(str(step.get("label", ""))) > _MOST_LABEL:
        raise BadMemberError("label", f"a label has at most {_MOST_LABEL} characters")
    return changes


_Labels = Mapping[tuple[str, int], Condition]
"""Labels of values by address and by the value's `id`."""


def _labels_by_address(changes: list[Table]) -> _Labels:
    """The label of each value of each step. Different values of one address differ in label."""
    found: dict[tuple[str, int], Condition] = {}
    for address in dict.fromkeys(address for own in changes for address in own):
        values = [own[address] for own in changes if address in own]
        for value, text in zip(values, label_all(values), strict=True):
            found[address, id(value)] = text
    return found


def _linked(name: str, step: Mapping[str, Any], changes: Table, labels: _Labels) -> Step:
    if "label" in step:
        return Step(((name, str(step["label"])),), tuple(changes.items()))
    found = (
        (short_name(address), labels[address, id(value)]) for address, value in changes.items()
    )
    return Step(tuple(found), tuple(changes.items()))


def short_name(address: str) -> str:
    """The column name of an address: the short form, or the address if that is not a valid name.

    >>> short_name("path.rtt"), short_name("path.down.qdisc"), short_name("apps.web.start")
    ('rtt', 'down.qdisc', 'web.start')
    >>> short_name("apps.seed"), short_name("apps.*")
    ('apps.seed', 'apps.*')
    """
    root, _, rest = address.partition(".")
    return rest if root in ("path", "apps") and is_column(rest) else address


def label(value: Any) -> Condition:
    """The label of a value: a number, or text without the parameters of a kind."""
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return str(value.get("kind", shown(dict(value))))
    if isinstance(value, str):
        return value.split()[0] if " " in value and "=" in value else value
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)
    return value if plain else shown(value)


def label_all(values: list[Any] | tuple[Any, ...]) -> list[Condition]:
    """Labels for a list of values. Parameters distinguish labels that would otherwise be equal.

    >>> label_all(["pfifo limit=1", "pfifo limit=2", "codel"]), label_all(["codel ecn=true"] * 2)
    (['pfifo limit=1', 'pfifo limit=2', 'codel'], ['codel', 'codel'])
    """
    labels = [label(value) for value in values]
    meant: dict[Condition, set[str]] = {}
    for own, value in zip(labels, values, strict=True):
        meant.setdefault(own, set()).add(toml_writer.value(value))
    return [
        own if len(meant[own]) == 1 else _full_label(value)
        for own, value in zip(labels, values, strict=True)
    ]


def _full_label(value: Any) -> Condition:
    if isinstance(value, (list, tuple)):
        return toml_writer.value(value)
    if not isinstance(value, Mapping):
        return label(value) if not isinstance(value, str) else value
    params = (f"{name}={part}" for name, part in value.items() if name != "kind")
    return " ".join((str(value.get("kind", "")), *params))


@dataclass(frozen=True)
class Point:
    """One combination: a step of each loop."""

    conditions: dict[str, Condition]
    changes: tuple[tuple[str, Any], ...]
    picks: tuple[int, ...]
    """The index of the step in each loop, from 0."""


def points(all_loops: tuple[Loop, ...]) -> Iterator[Point]:
    """Yields every combination; the last loop is the innermost."""
    for picked in itertools.product(*(enumerate(loop.steps) for loop in all_loops)):
        steps = [step for _, step in picked]
        yield Point(
            {name: value for step in steps for name, value in step.conditions},
            tuple(change for step in steps for change in step.changes),
            tuple(number for number, _ in picked),
        )


def combinations(all_loops: tuple[Loop, ...], seeds: int, engines: int) -> int:
    """The number of combinations; raises `BadValueError` for too many combinations or trials."""
    turns = [len(loop.steps) for loop in all_loops]
    count = math.prod(turns)
    product = " × ".join(map(str, turns))
    hint = "vary less, or leave out seeds"
    if count * seeds * engines > MOST_TRIALS:
        product += f" × {seeds} seeds" + f" × {engines} engines" * (engines > 1)
        trials = count * seeds * engines
        raise BadValueError(f"{product} are {trials} trials, {MOST_TRIALS} at most", hint)
    if count > _MOST_COMBINATIONS:
        problem = f"{product} are {count} combinations, {_MOST_COMBINATIONS} at most"
        raise BadValueError(problem, "vary less; seeds do not count")
    return count
