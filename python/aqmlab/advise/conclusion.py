"""The conclusion of the advice, which the core's crate `advice` draws from verdicts.

The page passes its own runs to the same crate, so equal runs give equal sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from aqmlab import _core
from aqmlab.advise.bench import CaseOutcome
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Tier
from aqmlab.advise.facts import AdviceReport, Facts, Sentence
from aqmlab.results.verdicts.verdict import Verdict


class AppWords(msgspec.Struct, frozen=True):
    """An application in plain words: its user and its activity.

    `who` is empty for a thing, and if `title` already names the user.
    """

    name: str
    who: str
    title: str


@dataclass(frozen=True, slots=True)
class Runs:
    """The outcomes from which the conclusion is drawn.

    `tiers` go from slow to fast. `today` is the household's own tier, if it states one. `found`
    holds the outcomes by gateway, today's gateway first.
    """

    tiers: Sequence[Tier]
    today: Tier | None
    apps: Sequence[AppWords]
    found: Mapping[str, Mapping[Tier, CaseOutcome]]


@dataclass(frozen=True, slots=True)
class GatewayResult:
    """A gateway with its slowest sufficient tiers. Only tiers that were run count.

    `seeds_served` is the number of seeds in which no application is bad at the tier `served`.
    `outcomes` holds the outcome at each tier that was run.
    """

    name: str
    title: str
    served: Tier | None
    """The slowest tier at which no application is bad; `None` if there is none."""
    well: Tier | None
    """The slowest tier at which every application is good; `None` if there is none."""
    seeds_served: int
    outcomes: Mapping[Tier, CaseOutcome]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The facts of the conclusion, and the texts that state them."""

    facts: Facts
    headline: str
    """The answer in one sentence.

    It is empty if today's gateway or the gateway compared with it has not been run at `at`.
    """
    sentences: Sequence[Sentence]
    results: Mapping[str, GatewayResult]
    better: GatewayResult | None
    """The recommended gateway.

    If the household states its tier, this gateway serves it better there than today's gateway, or
    it only lets a slower tier suffice. Otherwise it serves everyone at the slowest tier. It is
    `None` if today's gateway is enough, or if no gateway serves everyone.
    """
    case: GatewayCase | None
    """The better gateway at the tier for which it is set up; `None` without a better gateway."""
    at: Tier
    """The tier at which gateways are compared."""


def concluded(setup: Setup, runs: Runs) -> Conclusion:
    """The conclusion that the core draws from `runs`."""
    report = msgspec.json.decode(_core.advice(_evidence(setup, runs)), type=AdviceReport)
    facts, headline, better = report.conclusion, report.headline, report.conclusion.better
    tiers: dict[str | None, Tier] = {str(tier): tier for tier in runs.tiers}
    results = {
        one.name: GatewayResult(
            name=one.name,
            title=one.title,
            served=tiers.get(one.served),
            well=tiers.get(one.well),
            seeds_served=one.seeds_served,
            outcomes=runs.found[one.name],
        )
        for one in facts.gateways
    }
    return Conclusion(
        facts=facts,
        headline="" if headline is None else headline.text,
        sentences=report.sentences,
        results=results,
        better=None if better is None else results[better.name],
        case=None if better is None else runs.found[better.name][tiers[better.tier]].case,
        at=tiers[facts.compared_at],
    )


def _evidence(setup: Setup, runs: Runs) -> str:
    """The runs as JSON, in the form that the crate `advice` reads."""
    evidence = {
        "tiers": [str(tier) for tier in runs.tiers],
        "today_tier": None if runs.today is None else str(runs.today),
        "apps": runs.apps,
        "gateways": [
            {
                "name": name,
                "title": setup.gateways[name].title,
                "is_at_home": setup.gateways[name].shapes,
                "cases": [_case(tier, own[tier]) for tier in runs.tiers if tier in own],
            }
            for name, own in runs.found.items()
        ],
    }
    return msgspec.json.encode(evidence).decode()


def _case(tier: Tier, outcome: CaseOutcome) -> dict[str, Any]:
    return {"tier": str(tier), "verdicts": [_report(one) for one in outcome.apps.values()]}


def _report(verdict: Verdict) -> dict[str, Any]:
    """A verdict in the form in which the core returned it."""
    return {name: value for name, value in structs.asdict(verdict).items() if name != "label"}
