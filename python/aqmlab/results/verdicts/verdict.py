"""The verdict on an application: the words for its needs, each beside the deciding limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aqmlab.results.labels import Label
from aqmlab.results.verdicts.transfers import TransferTime
from aqmlab.results.verdicts.wording import apart, quantity

GOOD, TOLERABLE, BAD = "good", "tolerable", "bad"

UNJUDGED = UNKNOWN, NO_LIMIT = "no data", "no limit"
"""Words for needs without measurements, and for applications without needs."""

_ORDER = (NO_LIMIT, UNKNOWN, GOOD, TOLERABLE, BAD)

Measured = Mapping[str, float | None]
"""The measurements of an application and its flows in one trial, by name."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A need of an application, with its limits."""

    what: str
    """The measured quantity, in words that precede a number."""
    value: Callable[[Measured], float | None]
    good: float
    tolerable: float
    unit: str = "ms"
    more_is_better: bool = False

    def word(self, value: float | None) -> str:
        """The word for `value`: good, tolerable or bad."""
        if value is None:
            return UNKNOWN
        sign = -1 if self.more_is_better else 1
        if sign * value <= sign * self.good:
            return GOOD
        return TOLERABLE if sign * value <= sign * self.tolerable else BAD

    def limits(self) -> str:
        """The limits in words."""
        to = "from" if self.more_is_better else "up to"
        good = f"good {to} {quantity(self.good, self.unit)}"
        if self.good == self.tolerable:
            return good
        return f"{good}, tolerable {to} {quantity(self.tolerable, self.unit)}"

    def compared(self, value: float) -> str:
        """`value` beside the limit that decided its word."""
        word = self.word(value)
        limit = self.tolerable if word == BAD else self.good
        sign = "<>"[(word == GOOD) == self.more_is_better] + ("=" if word == GOOD else "")
        sign = {"<=": "≤", ">=": "≥"}.get(sign, sign)
        said, bound = quantity(value, self.unit), quantity(limit, self.unit)
        if said == bound and value != limit:
            # The usual digits would show equal numbers, but their difference decides.
            said = f"{apart(value, limit)} {self.unit}".strip()
        return f"{said} {sign} {bound}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A criterion and its measured value."""

    criterion: Criterion
    value: float | None
    lowest: float | None = None
    highest: float | None = None

    @property
    def word(self) -> str:
        """The word for the value."""
        return self.criterion.word(self.value)

    @property
    def brief(self) -> str:
        """The number and the deciding limit."""
        what = self.criterion.what
        return (
            f"{what}: not measured"
            if self.value is None
            else f"{what} {self.criterion.compared(self.value)}"
        )

    def __str__(self) -> str:
        """The number and its limits."""
        if self.value is None:
            return f"{self.criterion.what}: not measured"
        known, found = self.criterion, quantity(self.value, self.criterion.unit)
        return f"{known.what} {found} ({known.limits()})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The experience of an application in one condition, over all seeds."""

    label: Label
    app: str
    kind: str
    findings: tuple[Finding, ...]
    seeds: int
    duration: TransferTime | None = None
    """The time of a transfer that has a size, unless that time is judged."""

    @property
    def deciding(self) -> Finding | None:
        """The worst finding; the first one among equals."""
        if not self.findings:
            return None
        return max(self.findings, key=lambda finding: _ORDER.index(finding.word))

    @property
    def word(self) -> str:
        """Good, tolerable or bad, as the worst finding; "no limit" without any need."""
        return self.deciding.word if self.deciding else NO_LIMIT

    @property
    def because(self) -> str:
        """The reason in short: every need that is missed as badly as the worst."""
        if self.deciding is None:
            return ""
        decided = [self.deciding]
        if self.word not in (GOOD, UNKNOWN):
            decided = [one for one in self.findings if one.word == self.word]
        return ", ".join(filter(None, [*(one.brief for one in decided), self.told]))

    @property
    def sentence(self) -> str:
        """The verdict as a sentence for a person at home."""
        decided = [one for one in self.findings if one.word == self.word]
        words = [f"{self.app}: {self.word}", *map(str, decided), self.told]
        return ", ".join(filter(None, words))

    @property
    def told(self) -> str:
        """Additional values that are not judged."""
        return "" if self.duration is None else str(self.duration)


def worst(one: Verdict, other: Verdict) -> Verdict:
    """The worse of two verdicts; the first if they are equal."""
    return max(one, other, key=lambda verdict: _ORDER.index(verdict.word))
