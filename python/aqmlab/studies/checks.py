"""What claims come down to: numbers against bounds, and how many of them must hold.

A number is held against its bound in the median over seeds. An ordering is a check of a ratio,
number by number of the same seed, and needs at least three seeds: it holds if it does so in at
least four of five seeds, it fails if it does so in at most one of five, and between the two it is
undecided, for whoever runs it once may see either.

Checks of one kind count together: those of the same part of the claim's sentence that hold numbers
in the same way against the same bound. A sentence about conditions in general holds if nine of ten
of a kind do, which of fewer than ten is all, and none is contradicted: the opposite would have to
be what a reader of the paper's figure sees, whichever repetition it was drawn from. So in four of
five seeds the number lies on the wrong side, and by a twentieth at least, which is as little as a
figure shows. What lies between, such as "not by twice, but by half", or a tie, does not hold and is
no contradiction.

Only the paper's own words ask for another share: all of a kind where it says "in all cases"
(`always`), and four of five where it says "mostly" (`mostly`). A claim that takes another share
says so in its rule.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from aqmlab.studies.numbers import BySeed

MOST_SEEDS = 0.8
"""The share of seeds in which an ordering is to hold, or not to."""

VISIBLE = 0.05
"""How far on the wrong side a number must lie to say the opposite, as a share."""

FEWEST_SEEDS = 3
"""Seeds without which no ordering is judged."""

IN_GENERAL, ALWAYS, MOSTLY = 0.9, 1.0, 0.8
"""The shares of checks of a kind that are to hold, by what a sentence says."""

ABOUT = 0.25
"""How far a number may be off that a paper prints, unless it says more exactly what it is."""

THRESHOLD = 0.1
"""How far a threshold may be missed that a paper prints, as in "less than 2 Mbit/s"."""

COMPUTED = -1
"""In place of a seed, where a number comes of no trial."""

Relation = Literal["<", ">", "≈"]


@dataclass(frozen=True, slots=True)
class Check:
    """A number for each seed against a bound."""

    what: str
    """The quantity and its condition, in words."""
    values: BySeed
    relation: Relation
    bound: float
    slack: float = 0.0
    """As a share of the bound: what still counts as meeting it."""
    unit: str = ""
    ordering: bool = False
    part: str = ""
    """Which part of a claim's sentence it belongs to, if that has parts."""
    needed: float = IN_GENERAL
    """The share of checks of its kind that must hold."""
    words: str = ""
    """The paper's own words for that share, where it is not one of a sentence in general."""

    @property
    def kind(self) -> tuple[str | float | bool, ...]:
        """What checks that count together have in common."""
        held = (self.relation, self.bound, self.slack, self.unit, self.ordering)
        return (self.part, self.needed, *held)

    @property
    def seeds(self) -> int:
        """How many seeds it is judged over; none if it is arithmetic."""
        return len(self.values.keys() - {COMPUTED})

    @property
    def known(self) -> list[float]:
        """The numbers there are."""
        return [value for value in self.values.values() if not math.isnan(value)]

    def margin(self, value: float) -> float:
        """By which share of the bound `value` meets it; below zero, by which it misses it."""
        scale = abs(self.bound) or 1.0
        if math.isinf(value):
            return math.inf if (value > 0) == (self.relation == ">") else -math.inf
        distance = (value - self.bound) / scale
        return {"<": self.slack - distance, ">": self.slack + distance}.get(
            self.relation, self.slack - abs(distance)
        )

    @property
    def share(self) -> float:
        """The share of seeds in which it holds; a seed without a number is one in which not."""
        strict = self.ordering and not self.slack
        met = [self.margin(value) for value in self.known]
        return sum(one > 0 if strict else one >= -1e-9 for one in met) / len(self.values)

    @property
    def holds(self) -> bool:
        """Whether the median over seeds does, or an ordering does in most seeds."""
        if self.ordering:
            return self.share >= MOST_SEEDS - 1e-9
        return self.middle_margin >= -1e-9

    @property
    def is_undecided(self) -> bool:
        """Whether most seeds neither say so nor the contrary."""
        return self.ordering and 1 - MOST_SEEDS + 1e-9 < self.share < MOST_SEEDS - 1e-9

    @property
    def contradicted(self) -> bool:
        """Whether most seeds say the opposite, and visibly so."""
        opposite = sum(self._opposed(value) >= VISIBLE - 1e-9 for value in self.known)
        return opposite / len(self.values) >= MOST_SEEDS - 1e-9

    def _opposed(self, value: float) -> float:
        """By which share a number says the opposite: of "twice as much" that is "less"."""
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
        """What holds the median with at least 95 % confidence."""
        return interval(self.known)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
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


# --- What checks are made with -----------------------------------------------------------------


Known = BySeed | float
"""A number for each seed, or one that comes of no trial."""


def below(what: str, values: Known, bound: float, unit: str = "", *, slack: float = 0.0) -> Check:
    """The numbers are at most `bound`."""
    return Check(what, _by_seed(values), "<", bound, slack, unit)


def above(what: str, values: Known, bound: float, unit: str = "", *, slack: float = 0.0) -> Check:
    """The numbers are at least `bound`."""
    return Check(what, _by_seed(values), ">", bound, slack, unit)


def about(
    what: str, values: Known, expected: float, unit: str = "", *, within: float = ABOUT
) -> Check:
    """The numbers are `expected`, give or take a share of it."""
    return Check(what, _by_seed(values), "≈", expected, within, unit)


def more(what: str, these: BySeed, those: BySeed, *, times: float = 1.0) -> Check:
    """In each seed this is more than `times` that."""
    return Check(what, _ratio(these, those), ">", times, 0.0, "×", ordering=True)


def not_less(what: str, these: BySeed, those: BySeed, *, slack: float) -> Check:
    """In each seed this is at least that, less a share that is no difference."""
    return Check(what, _ratio(these, those), ">", 1.0, slack, "×", ordering=True)


def alike(what: str, these: BySeed, those: BySeed, *, within: float) -> Check:
    """In each seed this is that, give or take a share."""
    return Check(what, _ratio(these, those), "≈", 1.0, within, "×", ordering=True)


def part(name: str, checks: Iterable[Check]) -> list[Check]:
    """What one part of a claim's sentence comes down to, where others make the same checks."""
    return [replace(check, part=name) for check in checks]


def always(words: str, checks: Iterable[Check]) -> list[Check]:
    """All of these must hold, for the paper says so in these words, such as "in all cases"."""
    return [replace(check, needed=ALWAYS, words=words) for check in checks]


def mostly(words: str, checks: Iterable[Check], share: float = MOSTLY) -> list[Check]:
    """A share of these is enough, for the paper says so in these words, such as "in most cases".

    No words if it is the claim's own rule.
    """
    return [replace(check, needed=share, words=words) for check in checks]


def spread(low: BySeed, high: BySeed) -> BySeed:
    """From one quantile to another."""
    return {seed: high[seed] - low[seed] for seed in low}


def total(*parts: BySeed) -> BySeed:
    """The sum in each seed."""
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
            found[seed] = math.inf if value > 0 else 1.0
        else:
            found[seed] = value / other
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """What holds the median with at least 95 % confidence, whatever the distribution.

    Of order statistics; of fewer than six values it is the least and the greatest, which say less.

    >>> interval([5, 1, 4, 2, 3]), interval(range(1, 11))
    ((1, 5), (2, 9))
    """
    ordered = sorted(values)
    count, rank, tail = len(ordered), 0, 0.0
    while rank < count // 2:  # the chance that fewer than `rank` values lie below the median
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 0.05:
            break
        rank += 1
    low = max(rank - 1, 0)
    return ordered[low], ordered[count - 1 - low]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
