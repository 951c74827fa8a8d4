"""Claims of papers, and the rule by which they hold.

A claim consists of checks. A check compares a number for each seed, under one condition, with a
bound. The claim holds if enough checks of each kind hold; the module `checks` states the shares.
This rule is the same for all claims. A claim about arithmetic needs no trials, and its numbers do
not depend on seeds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text
from aqmlab.studies.checks import (
    ABOUT,
    FEWEST_SEEDS,
    IN_GENERAL,
    MOST_SEEDS,
    THRESHOLD,
    Check,
    about,
    above,
    alike,
    always,
    below,
    interval,
    more,
    mostly,
    not_less,
    part,
    spread,
    total,
)
from aqmlab.studies.numbers import Numbers, Unjudged
from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    from aqmlab.studies.laboratory import Laboratory

__all__ = [
    "ABOUT",
    "THRESHOLD",
    "Check",
    "Claim",
    "ClaimResult",
    "Claims",
    "Evidence",
    "about",
    "above",
    "alike",
    "always",
    "below",
    "interval",
    "judge",
    "more",
    "mostly",
    "not_less",
    "part",
    "spread",
    "total",
]

HOLDS, FAILS, UNKNOWN = "holds", "fails", "cannot be judged"
_WORST_FIRST = (FAILS, UNKNOWN, HOLDS)


SEEDS_DIFFER = "seeds differ: one run may show this, and another the opposite"


@dataclass(frozen=True, slots=True)
class CheckGroup:
    """The checks of one kind, which count together."""

    checks: Sequence[Check]

    @property
    def spare(self) -> int:
        """The number of checks that may fail."""
        count = len(self.checks)
        return count - math.ceil(self.checks[0].needed * count - 1e-9)

    @property
    def opposite(self) -> Check | None:
        """The check that contradicts a sentence about conditions in general, if any."""
        if self.checks[0].needed != IN_GENERAL:
            return None
        return next((check for check in self._ordered if check.contradicted), None)

    @property
    def verdict(self) -> str:
        """The verdict on these checks.

        The verdict is `fails` if a check contradicts the sentence. It is also `fails` if too many
        checks do not hold, even when undecided checks are counted as holding.
        In any other case, it is `holds` if enough checks hold, and otherwise `cannot be judged`.
        """
        missed = sum(not check.holds for check in self.checks)
        undecided = sum(check.is_undecided for check in self.checks)
        if self.opposite is not None or missed - undecided > self.spare:
            return FAILS
        return HOLDS if missed <= self.spare else UNKNOWN

    @property
    def deciding(self) -> Check:
        """The deciding check: the contradicting check, or the weakest check that must hold."""
        return self.opposite or self._ordered[min(self.spare, len(self.checks) - 1)]

    @property
    def _ordered(self) -> list[Check]:
        return sorted(self.checks, key=_strength)


def _strength(check: Check) -> tuple[bool, bool, float, float]:
    """The sort key of checks, weakest first."""
    return check.holds, check.is_undecided, check.share, check.middle_margin


@dataclass(frozen=True, slots=True)
class Evidence:
    """The checks of a claim, and a note on them."""

    checks: Sequence[Check]
    note: str = ""

    @property
    def kinds(self) -> list[CheckGroup]:
        """The checks of the claim by kind."""
        found: dict[object, list[Check]] = {}
        for check in self.checks:
            found.setdefault(check.kind, []).append(check)
        return [CheckGroup(checks) for checks in found.values()]

    @property
    def verdict(self) -> str:
        """The worst verdict of all kinds of checks."""
        return min((kind.verdict for kind in self.kinds), key=_WORST_FIRST.index)

    @property
    def held(self) -> int:
        """The number of checks that hold."""
        return sum(check.holds for check in self.checks)

    @property
    def deciding(self) -> Check:
        """The deciding check of the group of checks with the worst verdict."""

        def strength(kind: CheckGroup) -> tuple[int, tuple[bool, bool, float, float]]:
            return _WORST_FIRST.index(kind.verdict), _strength(kind.deciding)

        return min(self.kinds, key=strength).deciding


Judge = Callable[..., Evidence | Check | Sequence[Check]]
"""A function from the numbers of a claim's scenarios to the claim's checks."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and the function that judges it."""

    number: str
    source: str
    says: str
    """The statement, in our own words."""
    needs: tuple[Trials, ...]
    judge: Judge
    given: tuple[str, ...] = ()
    """The choices of `study.toml` that the claim may depend on."""
    rule: str = ""
    """Our reading of ambiguous words, such as "slightly"."""


class Claims(list[Claim]):
    """The claims of a study, in order. A call makes a decorator for the judge of a claim."""

    def __call__(
        self,
        number: str,
        source: str,
        says: str,
        *needs: Trials,
        given: str | Sequence[str] = (),
        rule: str = "",
    ) -> Callable[[Judge], Judge]:
        """Returns a decorator that adds a claim with the decorated function as its judge."""
        choices = (given,) if isinstance(given, str) else tuple(given)

        def add(judge: Judge) -> Judge:
            self._add(Claim(number, source, says, needs, judge, choices, rule))
            return judge

        return add

    @classmethod
    def of(cls, *parts: Claims) -> Claims:
        """The claims of several modules, sorted by number."""
        found = cls()
        for claim in sorted(
            (one for own in parts for one in own), key=lambda one: _place(one.number)
        ):
            found._add(claim)
        return found

    def _add(self, claim: Claim) -> None:
        if any(one.number == claim.number for one in self):
            raise RequestError(f"two claims have the number `{claim.number}`")
        self.append(claim)


def claims_hint(number: str, known: Iterable[str]) -> str:
    """A hint for an unknown `number`: the claim that is meant, or the ranges that exist.

    >>> claims_hint("0-1", ["0-01", "0-02"]), claims_hint("0-9", ["0-01", "0-02", "M-01"])
    ('did you mean `0-01`?', 'there are 0-01 to 0-02')
    >>> claims_hint("9-9", ["M-01", "0-02", "0-01"])
    'there are 0-01 to 0-02, M-01'
    """
    numbers = list(known)
    meant = [one for one in numbers if _unpadded(one) == _unpadded(number)]
    if meant or not all("-" in one for one in numbers):
        return suggestion(number, meant or numbers)
    ranges: dict[str, list[str]] = {}
    for one in sorted(numbers, key=_place):
        ranges.setdefault(one.rpartition("-")[0], []).append(one)
    prefix = number.rpartition("-")[0]
    wanted = [ranges[prefix]] if prefix in ranges else ranges.values()
    told = (f"{own[0]} to {own[-1]}" if len(own) > 1 else own[0] for own in wanted)
    return f"there are {', '.join(told)}" if numbers else suggestion(number, numbers)


def _unpadded(number: str) -> str:
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", number.lower())


def _place(number: str) -> list[tuple[int, str]]:
    """The sort key of a claim's number, by which 2-9 precedes 2-10, and 2-10 precedes 2-10b.

    >>> _place("2-9") < _place("2-10") < _place("2-10b")
    True
    """
    parts = re.findall(r"(\d+)|([^\d]+)", number)
    return [(int(digits or 0), text) for digits, text in parts]


@dataclass(frozen=True)
class ClaimResult:
    """The verdict on a claim.

    `word` is the verdict. `finding` contains the checks. It is `None` if a reason other than
    undecided checks prevents a judgement. `choices` are those choices of the study that the claim
    names.
    """

    claim: Claim
    word: str
    because: str = ""
    """The reason why the claim cannot be judged, or a remark."""
    finding: Evidence | None = None
    choices: dict[str, str] = field(default_factory=dict)

    slip: RequestError | None = None
    """The author's error, if any, that prevents a judgement of the claim."""

    def to_json(self) -> dict[str, Any]:
        """The verdict in the form of `aqmlab claims --json`."""
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
            "held": None if found is None else found.held,
            "checks": [] if found is None else [check.to_json() for check in found.checks],
        }


def judge(claims: Sequence[Claim], laboratory: Laboratory) -> Iterator[ClaimResult]:
    """Yields the verdict of each claim. The trials of the claims must have run.

    If a claim's function raises an error, the claim cannot be judged.
    """
    needs = [need for claim in claims for need in claim.needs]
    numbers = {
        scenario: Numbers(laboratory.results(*(one for one in needs if one.scenario == scenario)))
        for scenario in dict.fromkeys(need.scenario for need in needs)
    }
    for claim in claims:
        scenarios = dict.fromkeys(need.scenario for need in claim.needs)
        given = {name: laboratory.study.choices[name] for name in claim.given}
        try:
            yield _judged(claim, [numbers[name] for name in scenarios], given)
        except Exception as error:
            slip = laboratory.study.place_of_claim(claim).slip(error)
            yield ClaimResult(claim, UNKNOWN, slip.problem, choices=given, slip=slip)


def _judged(claim: Claim, numbers: Sequence[Numbers], given: dict[str, str]) -> ClaimResult:
    try:
        found = finding(claim.judge(*numbers))
    except Unjudged as reason:
        return ClaimResult(claim, UNKNOWN, str(reason), choices=given)
    problem = _problem(found)
    if problem:
        return ClaimResult(claim, UNKNOWN, problem, choices=given)
    because = [found.note, SEEDS_DIFFER if found.verdict == UNKNOWN else ""]
    return ClaimResult(claim, found.verdict, "; ".join(filter(None, because)), found, given)


def finding(found: Evidence | Check | Sequence[Check]) -> Evidence:
    """The value of a claim's function as `Evidence`; raises `RequestError` for other types."""
    if isinstance(found, Evidence):
        return found
    checks = [found] if isinstance(found, Check) else list(found or ())
    if found is None or not all(isinstance(one, Check) for one in checks):
        problem = f"its function returns `{shown(found)}` instead of checks"
        raise RequestError(problem, "return checks such as those of `below`, or a list of them")
    return Evidence(checks)


def _problem(found: Evidence) -> str:
    """The reason why a finding cannot be judged, or an empty text."""
    for check in found.checks:
        if len(check.known) < MOST_SEEDS * len(check.values):
            unknown = len(check.values) - len(check.known)
            return f"{check.what}: {count_text(unknown, 'seed', 'have')} no value"
        if check.ordering and len(check.values) < FEWEST_SEEDS:
            return f"an ordering is judged over at least {FEWEST_SEEDS} seeds"
    return "" if found.checks else "there is nothing to check"
