"""Number formatting for tables and pages."""

from __future__ import annotations

import math
from typing import Literal


def number(value: float | None) -> str:
    """Formats a number with at most three significant digits, from 100 on as a whole number.

    Values other than zero whose magnitude is below 0.001 become "<0.001".

    >>> number(0.1234), number(12.34), number(2710.0), number(0.0), number(None)
    ('0.123', '12.3', '2710', '0', '-')
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else "<0.001"


def count_text(count: int, noun: str, verb: Literal["are", "have"] | None = None) -> str:
    """Formats a number of things, with a verb if one is given.

    `noun` is the singular, and `verb` is the plural.

    >>> count_text(1, "trial"), count_text(0, "trial"), count_text(2, "process")
    ('1 trial', '0 trials', '2 processes')
    >>> count_text(1, "trial", "are"), count_text(2, "trial", "have")
    ('1 trial is', '2 trials have')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    text = f"{count} {noun if count == 1 else plural}"
    if verb is None:
        return text
    return f"{text} {_OF_ONE[verb] if count == 1 else verb}"


_OF_ONE = {"are": "is", "have": "has"}


def percent(share: float | None) -> str:
    """Formats a share as a percentage.

    The percentage has one decimal below 10 %, except for zero, and from 99.5 % to below 100 %. It
    is below 10 % if it is after rounding to one decimal. A share below one is never shown as 100 %.

    >>> percent(0.0123), percent(0.5), percent(0), percent(None), percent(float("inf"))
    ('1.2 %', '50 %', '0 %', '-', '∞')
    >>> percent(0.0994), percent(0.0996)
    ('9.9 %', '10 %')
    >>> percent(0.994), percent(0.9954), percent(0.9999), percent(1)
    ('99 %', '99.5 %', '99.9 %', '100 %')
    """
    if share is None:
        return "-"
    if math.isinf(share):
        return "∞"
    value = 100 * share
    if 99.5 <= value < 100:
        return f"{min(value, 99.9):.1f} %"
    fine = f"{value:.1f}"
    return f"{value:.0f} %" if float(fine) >= 10 or value == 0 else f"{fine} %"
