"""The columns of the table of verdicts, which queries need before any verdict is made."""

from __future__ import annotations

from collections.abc import Iterable

from aqmlab.campaign.store.layout import OF_TRIALS

NAME = "verdicts"
"""The name of the table, which is in no file."""

COLUMNS = {
    "flow": "VARCHAR",
    "kind": "VARCHAR",
    "need": "VARCHAR",
    "value": "DOUBLE",
    "unit": "VARCHAR",
    "good_limit": "DOUBLE",
    "tolerable_limit": "DOUBLE",
    "verdict": "VARCHAR",
    "decides": "BOOLEAN",
    "margin": "DOUBLE",
    "because": "VARCHAR",
    "seeds": "BIGINT",
    "least": "DOUBLE",
    "most": "DOUBLE",
    "low": "DOUBLE",
    "high": "DOUBLE",
    "sure": "BOOLEAN",
    "difference": "DOUBLE",
    "difference_low": "DOUBLE",
    "difference_high": "DOUBLE",
}
"""The columns after the conditions, with their SQL types."""


def conditions(of_trials: Iterable[str]) -> dict[str, str]:
    """The names of the conditions in this table, by their column in the table `trials`."""
    others = {"trial", "seed", *OF_TRIALS}
    found = [name for name in of_trials if name not in others]
    return {name: f"condition.{name}" if name.casefold() in COLUMNS else name for name in found}
