"""Texts about verdicts for people, in addition to the texts of the core."""

from __future__ import annotations

import re

from aqmlab._core import quantity
from aqmlab.results.verdicts.verdict import GOOD, Estimate, Finding, Verdict

INTERVAL = (
    "the median lies within them with 95 % confidence (order statistics, by the sign test); with"
    " fewer than six seeds they are the range"
)
"""The meaning of an interval over seeds."""


def unbroken(text: str) -> str:
    """`text` with no-break spaces between each number and its unit or limit.

    >>> unbroken("pie 12/1 50 ms: 2 s > 400 ms").split(" ")
    ['pie', '12/1', '50\\xa0ms:', '2\\xa0s', '>\\xa0400\\xa0ms']
    """
    return re.sub(r"(?<=\d) (?=[^\W\d]|[%<>≤≥])|(?<=[<>≤≥]) (?=\d)", "\u00a0", text)


def signed(estimate: Estimate, unit: str) -> str:
    """A difference with its sign, and its interval if there are several seeds.

    >>> signed(Estimate(-64.2, -70.1, -60.0, 6), "ms"), signed(Estimate(2.5, 2.5, 2.5, 1), "%")
    ('−64 ms (−70 ms…−60 ms)', '+2.5 %')
    """
    middle = _signed(estimate.median, unit)
    if estimate.seeds < 2:
        return middle
    return f"{middle} ({_signed(estimate.low, unit)}…{_signed(estimate.high, unit)})"


def _signed(value: float, unit: str) -> str:
    sign = "+" if value > 0 else "−" if value < 0 else "±"
    return sign + quantity(abs(value), unit)


def quality_text(verdict: Verdict) -> str:
    """The Quality of Outcome as a whole number; empty if it is unknown."""
    found = verdict.quality
    return "" if found is None or found.percent is None else f"{found.percent:.0f}"


def value_text(finding: Finding) -> str:
    """The value of a finding, with its unit; empty if it was not measured."""
    return "" if finding.value is None else quantity(finding.value, finding.unit)


def closest_text(verdict: Verdict) -> str:
    """The need that decides an application's verdict, and the margin of a good verdict.

    An application without needs has the reason for its verdict instead. If the verdict is not sure,
    the text adds that the seeds differ. Callers pass the verdict `Tally.closest` of a condition.
    """
    return _closest(verdict) + ("" if verdict.is_sure else ", seeds differ")


def _closest(verdict: Verdict) -> str:
    decided = verdict.deciding
    if decided is None:
        return f"{verdict.app}: {verdict.because}"
    spare = ""
    if verdict.word == GOOD and decided.margin is not None:
        spare = f", {100 * decided.margin:.0f} % to spare"
    return f"{verdict.app}: {decided.brief}{spare}"
