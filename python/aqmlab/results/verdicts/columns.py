"""The columns of the computed tables, which queries need before any verdict is made."""

from __future__ import annotations

from collections.abc import Iterable

from aqmlab.campaign.store.layout import OF_TRIALS

NAME = "verdicts"
"""The name of the table of verdicts, which is in no file."""

QUALITY = "quality"
"""The name of the table of the Quality of Outcome, which is in no file."""

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
"""The columns of `verdicts` after the conditions, with their SQL types."""

QUALITY_COLUMNS = {
    "flow": "VARCHAR",
    "kind": "VARCHAR",
    "requirement": "VARCHAR",
    "qoo_percent": "DOUBLE",
    "qoo_latency_percent": "DOUBLE",
    "qoo_loss_percent": "DOUBLE",
    "qoo_rate_percent": "DOUBLE",
    "because": "VARCHAR",
    "source": "VARCHAR",
    "seeds": "BIGINT",
    "low_percent": "DOUBLE",
    "high_percent": "DOUBLE",
    "difference_percent": "DOUBLE",
    "difference_low_percent": "DOUBLE",
    "difference_high_percent": "DOUBLE",
}
"""The columns of `quality` after the conditions, with their SQL types."""

COMPUTED = {NAME: COLUMNS, QUALITY: QUALITY_COLUMNS}
"""The tables that are in no file, with their columns after the conditions."""


def conditions(of_trials: Iterable[str], table: str = NAME) -> dict[str, str]:
    """The names of the conditions in a computed table, by their names in the table `trials`.

    `of_trials` are the columns of `trials`.
    """
    others, own = {"trial", "seed", *OF_TRIALS}, COMPUTED[table]
    found = [name for name in of_trials if name not in others]
    return {name: f"condition.{name}" if name.casefold() in own else name for name in found}
