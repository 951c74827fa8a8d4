"""Claims of papers, and what makes one hold.

A claim comes down to checks: under one condition, a number for each seed is held against a bound.
A number that the paper prints is held against the median over seeds. Every other check holds if
it does so in at least four of five seeds; an ordering is a check of a ratio, number by number of
the same seed, and needs at least three seeds.

A claim holds if all its checks do, with two exceptions that a claim must name. Where the paper
says "mostly", a share of them is enough. And a general sentence about dozens of conditions holds
if nine of ten do and none is contradicted: the opposite would have to be what a reader of the
paper's figure sees, whichever repetition it was drawn from. So in four of five seeds the number
lies on the wrong side, and by a twentieth at least, which is as little as a figure shows. What
lies between, such as "not by twice, but by half", or a tie, does not hold and is no contradiction.

A claim about arithmetic needs no trials; its checks are of numbers that no seed changes.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from aqmlab.failures import RequestError
from aqmlab.studies.numbers import BySeed, Numbers, Unjudged
from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    from aqmlab.studies.laboratory import Laboratory

HOLDS, FAILS, UNKNOWN = "holds", "fails", "cannot be judged"
MOST_SEEDS = 0.8
"""The share of seeds in which a check is to hold."""

VISIBLE = 0.05
"""How far on the wrong side a number must lie to say the opposite, as a share."""

GENERAL_SHARE = 0.9
"""The share of conditions in which a general sentence is to hold."""

FEWEST_SEEDS = 3
"""Seeds without which no ordering is judged."""

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
        """Whether it holds in most seeds, or the median does if it is of a printed number."""
        if self.relation == "≈" and not self.ordering:
            return self.middle_margin >= -1e-9
        return self.share >= MOST_SEEDS - 1e-9

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
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim comes down to."""

    checks: Sequence[Check]
    share: float = 1.0
    """The share of the checks that must hold."""
    note: str = ""
    general: bool = False
    """Whether this is a sentence about conditions in general: none may be contradicted."""

    @classmethod
    def in_general(cls, checks: Sequence[Check], note: str = "") -> Finding:
        """Of a general sentence about many conditions."""
        return cls(checks, GENERAL_SHARE, note, general=True)

    @property
    def verdict(self) -> str:
        """Holds or fails."""
        if self.general and any(check.contradicted for check in self.checks):
            return FAILS
        held = sum(check.holds for check in self.checks)
        return HOLDS if held >= self.share * len(self.checks) - 1e-9 else FAILS

    @property
    def deciding(self) -> Check:
        """The check on which it hangs: that with the least margin among those that count."""
        ordered = sorted(self.checks, key=lambda one: (one.holds, one.share, one.middle_margin))
        opposite = next((one for one in ordered if self.general and one.contradicted), None)
        if opposite is not None:
            return opposite
        spare = len(ordered) - math.ceil(self.share * len(ordered) - 1e-9)
        return ordered[min(spare, len(ordered) - 1)]


Judge = Callable[..., Finding | Check | Sequence[Check]]
"""From the numbers of each scenario of a claim to what it comes down to."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and how it is judged."""

    number: str
    source: str
    says: str
    """The statement, in our own words."""
    needs: tuple[Trials, ...]
    judge: Judge
    given: tuple[str, ...] = ()
    """The choices of `study.toml` without which it might not hold."""
    rule: str = ""
    """How the words are taken, where they leave it open: what counts as "slightly", say."""


class Claims(list[Claim]):
    """The claims of a study, in order; a function is made one by calling this."""

    def __call__(
        self,
        number: str,
        source: str,
        says: str,
        *needs: Trials,
        given: str | Sequence[str] = (),
        rule: str = "",
    ) -> Callable[[Judge], Judge]:
        """Adds the function below as the judge of a claim."""
        choices = (given,) if isinstance(given, str) else tuple(given)

        def add(judge: Judge) -> Judge:
            self._add(Claim(number, source, says, needs, judge, choices, rule))
            return judge

        return add

    @classmethod
    def of(cls, *parts: Claims) -> Claims:
        """The claims of several modules, by number."""
        found = cls()
        for claim in sorted((one for part in parts for one in part), key=_place):
            found._add(claim)
        return found

    def _add(self, claim: Claim) -> None:
        if any(one.number == claim.number for one in self):
            raise RequestError(f"there are two claims `{claim.number}`")
        self.append(claim)


def _place(claim: Claim) -> list[tuple[int, str]]:
    """Where a claim stands among others: 2-9, 2-10, 2-10b.

    >>> number = lambda name: _place(Claim(name, "", "", (), print))
    >>> number("2-9") < number("2-10") < number("2-10b")
    True
    """
    parts = re.findall(r"(\d+)|([^\d]+)", claim.number)
    return [(int(digits or 0), text) for digits, text in parts]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    word: str
    because: str = ""
    """Why it cannot be judged, or a remark."""
    finding: Finding | None = None
    choices: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = self.finding
        return {
            "id": self.claim.number,
            "source": self.claim.source,
            "claim": self.claim.says,
            "rule": self.claim.rule,
            "verdict": self.word,
            "because": self.because,
            "given": self.choices,
            "deciding": None if found is None else found.deciding.to_json(),
            "needed_share": None if found is None else found.share,
            "checks": [] if found is None else [check.to_json() for check in found.checks],
        }


def judge(claims: Sequence[Claim], laboratory: Laboratory) -> Iterator[Verdict]:
    """The verdict of each claim; what it needs has been run."""
    needs = [need for claim in claims for need in claim.needs]
    numbers = {
        scenario: Numbers(laboratory.results(*(one for one in needs if one.scenario == scenario)))
        for scenario in dict.fromkeys(need.scenario for need in needs)
    }
    for claim in claims:
        scenarios = dict.fromkeys(need.scenario for need in claim.needs)
        given = {name: laboratory.study.choices[name] for name in claim.given}
        yield _judged(claim, [numbers[name] for name in scenarios], given)


def _judged(claim: Claim, numbers: Sequence[Numbers], given: dict[str, str]) -> Verdict:
    try:
        found = claim.judge(*numbers)
    except Unjudged as reason:
        return Verdict(claim, UNKNOWN, str(reason), choices=given)
    if isinstance(found, Check):
        found = Finding([found])
    elif not isinstance(found, Finding):
        found = Finding(list(found))
    problem = _problem(found)
    if problem:
        return Verdict(claim, UNKNOWN, problem, choices=given)
    return Verdict(claim, found.verdict, found.note, found, given)


def _problem(found: Finding) -> str:
    """Why a finding says nothing, if it does not."""
    for check in found.checks:
        if len(check.known) < MOST_SEEDS * len(check.values):
            return f"{check.what}: {len(check.values) - len(check.known)} seeds have no value"
        if check.ordering and len(check.values) < FEWEST_SEEDS:
            return f"an ordering is judged over at least {FEWEST_SEEDS} seeds"
    return "" if found.checks else "there is nothing to check"


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
    what: str, values: Known, expected: float, unit: str = "", *, within: float = 0.2
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
