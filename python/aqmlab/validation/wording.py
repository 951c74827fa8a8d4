"""Formats results of a validation in words, for the terminal and for the page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aqmlab.base.numerals import number, percent

if TYPE_CHECKING:
    from aqmlab.validation.compare import MetricSummary


def rule(line: MetricSummary) -> str:
    """The requirement on a metric and the result; empty without a requirement or a result."""
    if line.rule is None or line.meets is None:
        return ""
    asked = f"≤ {percent(line.rule.within)} or spread in {percent(line.rule.share)}"
    return f"{asked}: {percent(line.meets)} {'✓' if line.accepted else '✗'}"


def amount(values: Sequence[float], unit: str) -> str:
    """The median of `values` with its unit; "-" without values."""
    return f"{number(statistics.median(values))} {unit}".rstrip() if values else "-"
