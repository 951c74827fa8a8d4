"""What is varied: loops over values, their order, and the names of the trials they make.

A `vary` table has one member for each loop; the first is the outermost, seeds are innermost.
A member whose name is an address of the scenario lists values for that address. Any other
name is that of a linked loop, which lists tables: each sets several addresses at once, and
may have a `label`.

    [vary]
    path.rate = ["12/1 Mbit/s", "25/5 Mbit/s"]
    scheme = [
        { label = "FIFO", path.qdisc = "pfifo limit=490" },
        { label = "PIE", path.qdisc = "pie_freebsd limit=1000", hosts.home.ecn = true },
    ]
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab import layers
from aqmlab.errors import BadMemberError, BadValueError, shown, suggestion

Condition = str | int | float
"""A varied value as people write it."""

MOST_TRIALS = 1_000_000
_MOST_COMBINATIONS = 100_000  # each is resolved before the first trial runs
_MOST_CHANGES = 1_000


@dataclass(frozen=True)
class Step:
    """One turn of a loop: what it is called in the conditions, and what it sets."""

    conditions: tuple[tuple[str, Condition], ...]
    changes: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Loop:
    """One varied parameter, or several that vary together."""

    name: str
    steps: tuple[Step, ...]


def loops(vary: Mapping[str, Any]) -> tuple[Loop, ...]:
    """The loops of a `vary` table in its flattened form.

    Raises `BadMemberError` for a loop that cannot be read.
    """
    result = []
    for name, values in vary.items():
        try:
            result.append(_loop(name, values))
        except BadValueError as problem:
            raise problem.inside(("vary", name)) from None
    names = [name for loop in result for name, _ in loop.steps[0].conditions]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise BadMemberError("vary", f"`{shown(twice[0])}` is varied by two loops")
    return tuple(result)


def _loop(name: str, values: Any) -> Loop:
    if not isinstance(values, (list, tuple)):
        raise BadValueError(f"`{shown(values)}` is not a list", "write the values in brackets")
    if not values:
        raise BadValueError("there are no values", "write them in brackets")
    if name.partition(".")[0] in layers.ROOTS:
        short = short_name(name)
        labels = label_all(values)
        return Loop(
            name,
            tuple(
                Step(((short, label),), ((name, value),))
                for label, value in zip(labels, values, strict=True)
            ),
        )
    if not all(isinstance(step, Mapping) for step in values):
        known = ("path.rate", "path.qdisc", "path.rtt", "path.down.rate", "path.up.rate")
        raise BadValueError(
            "neither the address of a parameter nor a list of tables", suggestion(name, known)
        )
    return Loop(name, tuple(_linked(name, step) for step in values))


def _linked(name: str, step: Mapping[str, Any]) -> Step:
    changes = layers.step_changes(step)
    if not changes and "label" not in step:
        raise BadValueError("a step sets nothing", 'write { label = "A", path.rtt = "20 ms" }')
    if len(changes) > _MOST_CHANGES:
        raise BadValueError(f"a step sets {len(changes)} values, {_MOST_CHANGES} at most")
    if "label" in step:
        return Step(((name, str(step["label"])),), tuple(changes.items()))
    labels = ((short_name(address), label(value)) for address, value in changes.items())
    return Step(tuple(labels), tuple(changes.items()))


def short_name(address: str) -> str:
    """What conditions and columns call an address.

    >>> short_name("path.rtt"), short_name("path.down.qdisc"), short_name("apps.web.start")
    ('rtt', 'down.qdisc', 'web.start')
    """
    root, _, rest = address.partition(".")
    return rest if rest and root in ("path", "apps") else address


def label(value: Any) -> Condition:
    """A value as a condition: text and numbers as they are, a table by its kind."""
    if isinstance(value, Mapping):
        return str(value.get("kind", shown(dict(value))))
    if isinstance(value, str):
        return value.split()[0] if " " in value and "=" in value else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, (int, float)) else shown(value)


def label_all(values: list[Any] | tuple[Any, ...]) -> list[Condition]:
    """Labels for a list of values; those that would be alike are told apart by parameters."""
    labels = [label(value) for value in values]
    counts = Counter(labels)
    return [
        own if counts[own] == 1 else _full_label(value)
        for own, value in zip(labels, values, strict=True)
    ]


def _full_label(value: Any) -> Condition:
    if not isinstance(value, Mapping):
        return label(value) if not isinstance(value, str) else value
    params = (f"{name}={part}" for name, part in value.items() if name != "kind")
    return " ".join((str(value.get("kind", "")), *params))


@dataclass(frozen=True)
class Point:
    """One combination of all loops."""

    conditions: dict[str, Condition]
    changes: tuple[tuple[str, Any], ...]


def points(all_loops: tuple[Loop, ...]) -> Iterator[Point]:
    """Every combination; the last loop turns fastest."""
    for steps in itertools.product(*(loop.steps for loop in all_loops)):
        yield Point(
            {name: value for step in steps for name, value in step.conditions},
            tuple(change for step in steps for change in step.changes),
        )


def combinations(all_loops: tuple[Loop, ...], seeds: int, engines: int) -> int:
    """How many points there are; raises `BadValueError` if they or their trials are too many."""
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


def trial_id(conditions: Mapping[str, Condition], seed: int) -> str:
    """A name for a trial that is fit for a file.

    >>> trial_id({"rate": "12/1 Mbit/s", "qdisc": "fq_codel", "rtt": "40 ms"}, 1)
    'rate=12-1,qdisc=fq_codel,rtt=40ms,seed=1'
    """
    parts = [f"{file_safe(name)}={file_safe(value)}" for name, value in conditions.items()]
    return ",".join([*parts, f"seed={seed}"])


def file_safe(value: Condition) -> str:
    """`value` in characters that every file system takes, and not the separators of an id."""
    text = re.sub(r"\s*Mbit/s$", "", str(value))
    text = re.sub(r"\s+", "", text).replace("/", "-").replace("=", "")
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text)[:80] or "-"
