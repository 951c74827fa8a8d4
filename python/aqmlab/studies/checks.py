"""Checks of claims: comparisons of numbers with bounds, and the share of checks that must hold.

The median over seeds is compared with the bound, except in an ordering. An ordering is a check of a
ratio, computed seed by seed, and needs at least three seeds. It holds if at least 80 % of the seeds
meet the bound, and fails if at most 20 % meet it. Otherwise it is undecided, because a single run
can show either result.

Checks of one kind count together. They belong to the same part of the claim's sentence and compare
numbers with the same bound in the same way. A sentence about conditions in general holds if at
least 90 % of the checks of each kind hold and none is contradicted. With fewer than ten checks, all
must hold. A check is contradicted if at least 80 % of the seeds show the opposite by at least 5 %,
which is about the smallest difference that is visible in a figure. The opposite is a number beyond
the bound and its tolerance; the opposite of "twice as much" is "less". Other results neither hold
nor contradict, such as a tie, or a factor of 1.5 where the claim says two.

The paper's own words can require another share. "In all cases" requires all checks of a kind
(`always`), and "mostly" requires 80 % of the checks (`mostly`). A claim that chooses another share
states it in its rule.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from aqmlab import _core
from aqmlab.studies.numbers import BySeed

MOST_SEEDS = 0.8
"""The share of seeds that must agree so that an ordering is decided."""

VISIBLE = 0.05
"""The smallest relative deviation to the wrong side that contradicts a check."""

FEWEST_SEEDS = 3
"""The minimum number of seeds for judging an ordering."""

IN_GENERAL, ALWAYS, MOSTLY = 0.9, 1.0, 0.8
"""The shares of checks of a kind that must hold, by the wording of the sentence."""

ABOUT = 0.25
"""The tolerance for a number in a paper, unless the paper states its precision."""

THRESHOLD = 0.1
"""The tolerance for a threshold in a paper, as in "less than 2 Mbit/s"."""

COMPUTED = -1
"""The key in place of the seed for a number that comes from no trial."""

Relation = Literal["<", ">", "≈"]


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison of numbers, one for each seed, with a bound.

    `unit` is the unit of the numbers and of `bound`. `ordering` states whether the check is an
    ordering.
    """

    what: str
    """The quantity and its condition, in words."""
    values: BySeed
    relation: Relation
    bound: float
    slack: float = 0.0
    """The tolerated deviation from the bound, as a share of the bound."""
    unit: str = ""
    ordering: bool = False
    part: str = ""
    """The part of the claim's sentence to which the check belongs, if the sentence has parts."""
    needed: float = IN_GENERAL
    """The share of checks of this kind that must hold."""
    words: str = ""
    """The paper's words that require the share `needed`; empty if the paper has no such words."""

    @property
    def kind(self) -> tuple[str | float | bool, ...]:
        """The properties that checks of one kind share."""
        held = (self.relation, self.bound, self.slack, self.unit, self.ordering)
        return (self.part, self.needed, *held)

    @property
    def seeds(self) -> int:
        """The number of seeds; zero for arithmetic."""
        return len(self.values.keys() - {COMPUTED})

    @property
    def known(self) -> list[float]:
        """The numbers that are not NaN."""
        return [value for value in self.values.values() if not math.isnan(value)]

    def margin(self, value: float) -> float:
        """The distance of `value` from the bound plus its tolerance, relative to the bound.

        It is negative if `value` does not meet the bound.
        """
        scale = abs(self.bound) or 1.0
        if math.isinf(value):
            return math.inf if (value > 0) == (self.relation == ">") else -math.inf
        distance = (value - self.bound) / scale
        return {"<": self.slack - distance, ">": self.slack + distance}.get(
            self.relation, self.slack - abs(distance)
        )

    @property
    def share(self) -> float:
        """The share of seeds in which the check holds.

        A seed without a number counts as a failure.
        """
        strict = self.ordering and not self.slack
        met = [self.margin(value) for value in self.known]
        return sum(one > 0 if strict else one >= -1e-9 for one in met) / len(self.values)

    @property
    def holds(self) -> bool:
        """Whether the median meets the bound, or for an ordering, whether enough seeds meet it."""
        if self.ordering:
            return self.share >= MOST_SEEDS - 1e-9
        return self.middle_margin >= -1e-9

    @property
    def is_undecided(self) -> bool:
        """Whether an ordering holds in more than 20 % and less than 80 % of the seeds."""
        return self.ordering and 1 - MOST_SEEDS + 1e-9 < self.share < MOST_SEEDS - 1e-9

    @property
    def contradicted(self) -> bool:
        """Whether the opposite is visible in at least the share `MOST_SEEDS` of the seeds."""
        opposite = sum(self._opposed(value) >= VISIBLE - 1e-9 for value in self.known)
        return opposite / len(self.values) >= MOST_SEEDS - 1e-9

    def _opposed(self, value: float) -> float:
        """The relative distance by which a number shows the opposite; negative if it does not.

        The opposite of "twice as much" is "less".
        """
        if self.ordering and self.relation == ">" and not self.slack:
            even = min(self.bound, 1.0)
            return (even - value) / even
        return -self.margin(value)

    @property
    def middle(self) -> float:
        """The median over seeds."""
        return statistics.median(self.known)

    @property
    def middle_margin(self) -> float:
        """The margin of the median."""
        return self.margin(self.middle)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the true median over seeds; see the function `interval`."""
        return interval(self.known)

    def to_json(self) -> dict[str, Any]:
        """The check in the form of `aqmlab claims --json`."""
        low, high = self.interval
        return {
            "what": self.what,
            "part": self.part,
            "needed_share": self.needed,
            "words": self.words,
            "value": _finite(self.middle),
            "interval": [_finite(low), _finite(high)],
            "unit": self.unit,
            "relation": self.relation,
            "bound": self.bound,
            "slack": self.slack,
            "margin": _finite(self.middle_margin),
            "seeds": self.seeds,
            "seeds_share": self.share,
            "holds": self.holds,
            "undecided": self.is_undecided,
            "contradicted": self.contradicted,
        }


# --- Functions that make checks -----------------------------------------------------------------


Known = BySeed | float
"""A number for each seed, or a single number that comes from no trial."""


def below(what: str, values: Known, bound: float, unit: str = "", *, slack: float = 0.0) -> Check:
    """A check that the numbers are at most `bound` plus the share `slack` of `bound`."""
    return Check(what, _by_seed(values), "<", bound, slack, unit)


def above(what: str, values: Known, bound: float, unit: str = "", *, slack: float = 0.0) -> Check:
    """A check that the numbers are at least `bound` minus the share `slack` of `bound`."""
    return Check(what, _by_seed(values), ">", bound, slack, unit)


def about(
    what: str, values: Known, expected: float, unit: str = "", *, within: float = ABOUT
) -> Check:
    """A check that the numbers equal `expected` within a tolerance, relative to `expected`."""
    return Check(what, _by_seed(values), "≈", expected, within, unit)


def more(what: str, these: BySeed, those: BySeed, *, times: float = 1.0) -> Check:
    """A check, seed by seed, that `these` are more than `times` as great as `those`."""
    return Check(what, _ratio(these, those), ">", times, 0.0, "×", ordering=True)


def not_less(what: str, these: BySeed, those: BySeed, *, slack: float) -> Check:
    """A check, seed by seed, that `these` are at least `1 - slack` times `those`."""
    return Check(what, _ratio(these, those), ">", 1.0, slack, "×", ordering=True)


def alike(what: str, these: BySeed, those: BySeed, *, within: float) -> Check:
    """A check, seed by seed, that `these` equal `those` within a relative tolerance."""
    return Check(what, _ratio(these, those), "≈", 1.0, within, "×", ordering=True)


def part(name: str, checks: Iterable[Check]) -> list[Check]:
    """Copies of `checks` for the part `name` of a sentence; each part counts separately."""
    return [replace(check, part=name) for check in checks]


def always(words: str, checks: Iterable[Check]) -> list[Check]:
    """Checks that must all hold, as the paper's words such as "in all cases" require."""
    return [replace(check, needed=ALWAYS, words=words) for check in checks]


def mostly(words: str, checks: Iterable[Check], share: float = MOSTLY) -> list[Check]:
    """Checks of which at least `share` must hold, as words such as "in most cases" state.

    `words` are the paper's; they are empty if the share is the claim's own rule.
    """
    return [replace(check, needed=share, words=words) for check in checks]


def spread(low: BySeed, high: BySeed) -> BySeed:
    """The difference between two quantiles in each seed."""
    return {seed: high[seed] - low[seed] for seed in low}


def total(*parts: BySeed) -> BySeed:
    """The sum of `parts`, for each seed."""
    return {seed: sum(part[seed] for part in parts) for seed in parts[0]}


def _by_seed(values: Known) -> BySeed:
    return values if isinstance(values, dict) else {COMPUTED: float(values)}


def _ratio(these: BySeed, those: BySeed) -> BySeed:
    found: BySeed = {}
    for seed, value in these.items():
        other = those[seed]
        if math.isnan(value) or math.isnan(other):
            found[seed] = math.nan
        elif other == 0:
            found[seed] = 1.0 if value == 0 else math.copysign(math.inf, value)
        else:
            found[seed] = value / other
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """An interval with at least 95 % confidence for the true median; the core computes it.

    With fewer than six values its ends are the minimum and the maximum, with a lower confidence.
    Raises `ValueError` without values.

    >>> interval([5, 1, 4, 2, 3]), interval(range(1, 11))
    ((1.0, 5.0), (2.0, 9.0))
    """
    found = _core.estimate(list(values))
    if found is None:
        raise ValueError("an interval of no values")
    _, low, high, _ = found
    return low, high


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
