"""Handles identical copies of an application (`bulk-1` … `bulk-8`), which are exchangeable.

Chance determines which copy gets the highest value. The copies' values are sorted in each trial,
least first, and compared by rank.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from aqmlab.engines import trial_spec
from aqmlab.engines.trial_spec import TrialSpec

Value = TypeVar("Value")


def alike_of(spec: TrialSpec) -> dict[str, str]:
    """The group of each application that has identical copies, by the application's name."""
    groups: dict[str, list[str]] = defaultdict(list)
    for app in spec.apps:
        rest = replace(app, name="")
        groups[json.dumps(trial_spec.values(rest), sort_keys=True)].append(app.name)
    return {
        name: names[0].rpartition("-")[0] or names[0]
        for names in groups.values()
        if len(names) > 1
        for name in names
    }


def in_order(
    items: Mapping[str, float | None], alike: Mapping[str, str]
) -> dict[str, float | None]:
    """`items` with identical applications renamed by the rank of their values, least first.

    `None` comes last.

    >>> in_order({"b-1 up": 3.0, "b-2 up": 1.0, "c up": 2.0}, {"b-1": "b", "b-2": "b"})
    {'b#1 up': 1.0, 'b#2 up': 3.0, 'c up': 2.0}
    """
    return in_order_by(items, alike, lambda value: math.inf if value is None else value)


def in_order_by(
    items: Mapping[str, Value], alike: Mapping[str, str], key: Callable[[Value], float]
) -> dict[str, Value]:
    """`items` with identical applications renamed by their rank in the order of `key`."""
    made: dict[str, Value] = {}
    groups: dict[tuple[str, str], list[Value]] = defaultdict(list)
    for item, value in items.items():
        name, _, way = item.partition(" ")
        if name in alike:
            groups[alike[name], way].append(value)
        else:
            made[item] = value
    for (group, way), values in groups.items():
        for place, value in enumerate(sorted(values, key=key), start=1):
            made[f"{group}#{place} {way}".rstrip()] = value
    return dict(sorted(made.items()))
