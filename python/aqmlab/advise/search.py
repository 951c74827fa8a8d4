"""The search for the slowest tier that serves everyone with each gateway.

If there are few tiers, the search runs all tiers. Many tiers are bisected, under the assumption
that a faster tier never serves fewer applications. The assumption is a heuristic, so the search
reports only tiers that it has run. If the fastest tier suffices, the reported tiers include the
slowest sufficient tier and the next slower and the next faster tier.

A gateway that shapes is first tried with few seeds at several shares of the line's rate. The best
share is then run with all seeds. The best share has the fewest bad verdicts. Among shares with
equally few bad verdicts, it is the one whose worst bad value exceeds its limit by the smallest
factor. Among equal shares, it is the one with the most good verdicts, and then the one with the
highest rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aqmlab.advise.bench import Bench, CaseOutcome
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Tier
from aqmlab.results.verdicts.verdict import BAD, Finding

MOST_WHOLE = 6
"""The maximum number of tiers that are all run, without a bisection."""

TRIED_SEEDS = 3
"""The number of seeds with which shares are compared."""


@dataclass
class Bisection:
    """The search over the tiers for one gateway, with the results so far."""

    count: int
    """The number of tiers. Index 0 is the slowest tier."""
    whole: bool
    served: dict[int, bool] = field(default_factory=dict)

    def wanted(self) -> list[int]:
        """The indices of the tiers to run next; empty if the search is complete."""
        if self.whole:
            return [one for one in range(self.count) if one not in self.served]
        fastest = self.count - 1
        if fastest not in self.served:
            return [fastest]
        if not self.served[fastest]:
            return []
        boundary = min(one for one, served in self.served.items() if served)
        below = max((one for one, served in self.served.items() if not served and one < boundary),
                    default=-1)  # fmt: skip
        if boundary - below > 1:
            return [(boundary + below) // 2]
        above = boundary + 1
        return [above] if above < self.count and above not in self.served else []


def search(bench: Bench, setup: Setup, tiers: Sequence[Tier]) -> dict[str, dict[Tier, CaseOutcome]]:
    """Runs the search; returns each gateway's outcomes at the tiers that ran, from slow to fast."""
    searches = {name: Bisection(len(tiers), len(tiers) <= MOST_WHOLE) for name in setup.gateways}
    found: dict[str, dict[Tier, CaseOutcome]] = {name: {} for name in setup.gateways}
    while wanted := {(name, index) for name, one in searches.items() for index in one.wanted()}:
        places = [(name, tiers[index]) for name, index in sorted(wanted)]
        for case, outcome in run_places(bench, setup, places).items():
            found[case.gateway][case.tier] = outcome
            searches[case.gateway].served[tiers.index(case.tier)] = outcome.service.serves
    return {name: {tier: own[tier] for tier in tiers if tier in own} for name, own in found.items()}


def run_places(
    bench: Bench, setup: Setup, places: Sequence[tuple[str, Tier]]
) -> Mapping[GatewayCase, CaseOutcome]:
    """Runs each pair of a gateway and a tier at the best share with all seeds.

    Returns the outcome of each case.
    """
    choices = {
        place: [GatewayCase(place[1], place[0], share) for share in setup.shares(place[0])]
        for place in places
    }
    tried = [case for some in choices.values() if len(some) > 1 for case in some]
    few = bench.seeds[:TRIED_SEEDS]
    bench.run([(case, few) for case in tried])
    known = bench.outcomes(tried, few) if tried else {}
    best = [
        some[0] if len(some) == 1 else min(some, key=lambda case: _score(known[case]))
        for some in choices.values()
    ]
    bench.run([(case, bench.seeds) for case in best])
    return bench.outcomes(best, bench.seeds)


def _score(outcome: CaseOutcome) -> tuple[bool, int, float, int, int]:
    """The sort key of shares, best first. A share without measurements comes last."""
    service = outcome.service
    findings = (one for verdict in outcome.apps.values() for one in verdict.findings)
    excess = max((_excess(one) for one in findings if one.word == BAD), default=0.0)
    share = outcome.case.share or 0
    return service.judged == 0, service.bad, excess, service.not_good, -share


def _excess(bad: Finding) -> float:
    """The ratio of a bad value to its limit of tolerable values, or its inverse if more is better.

    A ratio to zero is infinite.
    """
    more, less = bad.value or 0.0, bad.tolerable
    if bad.more_is_better:
        more, less = less, more
    return more / less if less > 0 else math.inf
