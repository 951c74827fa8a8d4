"""The statistics that tc shows of a discipline, by the names of the simulator's gauges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TINS = {
    1: ("tin0",),
    3: ("bulk", "best_effort", "voice"),
    4: ("bulk", "best_effort", "video", "voice"),
    8: tuple(f"tin{number}" for number in range(8)),
}
"""The names of CAKE's tins in the order in which tc shows them, by the number of tins."""

_NOT_COUNTED = frozenset(("bytes", "packets", "drops", "requeues", "backlog", "qlen", "refcnt"))
"""Fields that tc shows for any discipline. They are not gauges."""


def gauges(listed: Sequence[Mapping[str, Any]], kind: str) -> dict[str, float]:
    """The statistics of the discipline `kind` in the output of `tc -s -j qdisc show`, by gauge.

    >>> tc = [{"kind": "cake", "drops": 1, "overlimits": 2, "tins": [{"drops": 3}]}]
    >>> gauges(tc, "cake")
    {'overlimits': 2, 'tin0_drops': 3}
    """
    (shown,) = (entry for entry in listed if entry["kind"] == kind)
    own = {
        name: value
        for name, value in shown.items()
        if isinstance(value, int) and not isinstance(value, bool) and name not in _NOT_COUNTED
    }
    tins = shown.get("tins", ())
    names = _TINS.get(len(tins), ())
    return own | {
        f"{tin}_{name}": value
        for tin, values in zip(names, tins, strict=True)
        for name, value in values.items()
    }
