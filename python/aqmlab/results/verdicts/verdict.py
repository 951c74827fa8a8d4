"""The verdict on an application, as the core's crate `verdict` makes it.

The core provides the needs of a kind, the comparison with these needs, and all texts. This module
holds the values that Python's callers read.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from aqmlab import _core
from aqmlab.results.labels import Label

WORST_FIRST = BAD, TOLERABLE, NO_DATA, GOOD, NO_NEEDS = _core.verdict_words()
"""All verdict words, worst first."""

JUDGED = GOOD, TOLERABLE, BAD

UNJUDGED = NO_DATA, NO_NEEDS
"""The words for applications without measurements, and for kinds whose needs are unknown."""

WORDS = (*JUDGED, *UNJUDGED)
"""All verdict words, in the order of tallies."""

BySeed = tuple[tuple[int, float | None], ...]
"""The value of each seed; `None` if it was not measured."""


MeasureName: TypeAlias = Literal[
    "own", "one-way-delay", "round-trip", "loss", "fair-share", "transfer-time", "rate"
]
"""A measured quantity; `own` stands for a metric of the application's kind."""


class Estimate(msgspec.Struct, frozen=True):
    """A median over seeds, and an interval with at least 95 % confidence for the true median.

    The ends of the interval, `low` and `high`, are order statistics. With fewer than six seeds,
    they are the least and the greatest value, and the confidence is lower. `seeds` is the number of
    seeds with a value.
    """

    median: float
    low: float
    high: float
    seeds: int


class Finding(msgspec.Struct, frozen=True):
    """A need of an application and its measured value."""

    need: str
    measure: MeasureName
    unit: str
    value: float | None
    """The median over seeds; `None` if nothing was measured."""
    good: float
    tolerable: float
    more_is_better: bool
    word: str
    margin: float | None
    """The distance to the limit of good values, as a share of the best value's distance to it.

    It is 1 for the best value, 0 at the limit and negative beyond the limit. If only the best value
    is good, it is a share of the tolerable range. If there is no best value, it is a share of the
    value itself. It is `None` if nothing was measured.
    """
    decides: bool
    brief: str
    """The name of the need, the value, and the limit that decides the word."""
    text: str
    """The name of the need, the value and both limits."""
    least: float | None
    most: float | None
    over_seeds: Estimate | None
    is_sure: bool
    """Whether the word is the same at both ends of the interval over seeds; true without values."""
    by_seed: BySeed

    def less(self, other: Finding) -> Estimate | None:
        """The paired difference from the same need in another condition, over the common seeds.

        It is `None` if no seed has a value in both conditions.
        """
        found = _core.difference(self.by_seed, other.by_seed)
        return None if found is None else Estimate(*found)


class TransferTime(msgspec.Struct, frozen=True):
    """The time of a transfer with a size, measured or projected.

    `ms` is the median over seeds, and `least_ms` and `most_ms` are the extremes.
    """

    size_bytes: int
    ms: float
    projected: bool
    """Whether a trial ended before the transfer did."""
    least_ms: float
    most_ms: float


class Medians(msgspec.Struct, frozen=True):
    """The medians over seeds of an application's measurements, each in its worst direction.

    `None` stands for a number that was not measured.
    """

    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    throughput_mean_mbit: float | None


class Quality(msgspec.Struct, frozen=True):
    """The Quality of Outcome (QoO) of an application: a score from 0 to 100, beside its verdict."""

    requirement: str
    """The name of the set of requirements, or "scenario" for the scenario's own."""
    source: str
    percent: float | None
    """The median over the seeds whose score is known; `None` if there is no such seed."""
    latency_percent: float | None
    loss_percent: float | None
    rate_percent: float | None
    because: str
    """The worst part with its value and limits; a part without a value if `percent` is `None`."""
    over_seeds: Estimate | None
    by_seed: BySeed

    def less(self, other: Quality) -> Estimate | None:
        """The paired difference from the score in another condition, over the common seeds.

        It is `None` if the requirements differ, or if no seed has a score in both conditions. The
        source of a scenario's own requirement contains its values, so requirements with other
        values differ.
        """
        if (self.requirement, self.source) != (other.requirement, other.source):
            return None
        found = _core.difference(self.by_seed, other.by_seed)
        return None if found is None else Estimate(*found)


class VerdictReport(msgspec.Struct, frozen=True):
    """The verdict on an application in one condition, in the form that the core returns."""

    condition: int
    """The condition's number, in the order in which conditions were passed to the core."""
    app: str
    kind: str
    word: str
    because: str
    """The reason for the verdict, in a few words."""
    felt: str
    """The effect that a person at home notices, as a clause."""
    sentence: str
    """The verdict as a sentence for a person at home."""
    told: str
    """Additional facts that are not judged."""
    seeds: int
    words_by_seed: tuple[tuple[int, str], ...]
    """The verdict word of each seed alone."""
    time: TransferTime | None
    """The time of a transfer that has a size, unless that time is judged."""
    medians: Medians
    quality: Quality | None
    """The Quality of Outcome, if the kind or the scenario states a requirement."""
    findings: tuple[Finding, ...]


class Verdict(VerdictReport, frozen=True, kw_only=True):
    """The verdict on an application in one condition, over all seeds."""

    label: Label

    @property
    def deciding(self) -> Finding | None:
        """The worst finding, if any; among equally bad findings, the one with the least margin."""
        return next((one for one in self.findings if one.decides), None)

    @property
    def margin(self) -> float | None:
        """The margin of the deciding finding, if known."""
        return self.deciding.margin if self.deciding else None

    @property
    def is_sure(self) -> bool:
        """Whether every finding with the verdict's word is sure: see `Finding.is_sure`."""
        return all(one.is_sure for one in self.findings if one.word == self.word)

    def finding(self, need: str) -> Finding | None:
        """The finding on the need with this name, if there is one."""
        return next((one for one in self.findings if one.need == need), None)


def worst(one: Verdict, other: Verdict) -> Verdict:
    """The worse of two verdicts; among equally bad verdicts, the verdict with less margin."""
    return min(one, other, key=by_severity)


def by_severity(verdict: Verdict) -> tuple[int, float]:
    """A key that sorts the worst verdict first, and equal verdicts by increasing margin."""
    margin = verdict.margin
    return WORST_FIRST.index(verdict.word), float("inf") if margin is None else margin
