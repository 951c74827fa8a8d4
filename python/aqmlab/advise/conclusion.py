"""The conclusion of an advice: facts for the sentences, and settings for the better gateway.

The core's crate `advice` makes the texts, also for the page.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aqmlab import _core
from aqmlab.advise.bench import ROUND_TRIPS, Bench, CaseOutcome
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import TODAY, Managed, Tier
from aqmlab.households.line import Line
from aqmlab.scenario.parameters import spelled

MOST_NAMED = 4
"""The maximum number of applications that a sentence names."""

MOST_SENTENCES = 3
"""The maximum number of sentences on each of losses, gains and costs."""

Words = Callable[[str], str]
"""Plain words for an application of the scenario."""


@dataclass(frozen=True, slots=True)
class GatewayResult:
    """A gateway with its sufficient tiers, among the tiers that ran."""

    name: str
    title: str
    served: Tier | None
    well: Tier | None
    failed: CaseOutcome | None
    """The next slower tier; if no tier suffices, the fastest tier."""
    exceptions: tuple[Tier, ...]
    seeds_served: int
    outcomes: Mapping[Tier, CaseOutcome]


def result_of(
    bench: Bench, setup: Setup, name: str, outcomes: Mapping[Tier, CaseOutcome]
) -> GatewayResult:
    """The result of a gateway from its outcomes, from slow to fast."""
    ran = list(outcomes)
    served = next((tier for tier in ran if outcomes[tier].serves), None)
    well = next((tier for tier in ran if not outcomes[tier].unserved), None)
    failed: CaseOutcome | None = outcomes[ran[-1]]
    exceptions: tuple[Tier, ...] = ()
    if served is not None:
        at = ran.index(served)
        failed = outcomes[ran[at - 1]] if at else None
        exceptions = tuple(tier for tier in ran[at:] if not outcomes[tier].serves)
    seeds = 0 if served is None else bench.seeds_served(outcomes[served].case)
    title = setup.gateways[name].title
    return GatewayResult(name, title, served, well, failed, exceptions, seeds, outcomes)


def better_of(results: Mapping[str, GatewayResult], setup: Setup) -> GatewayResult | None:
    """The gateway that serves everyone at the slowest tier, with the most good verdicts there.

    Among equals, a gateway that can be set up in the home has precedence. Returns `None` if today's
    gateway is the best.
    """
    able = [one for one in results.values() if one.served is not None]
    if not able:
        return None
    order = list(results)

    def rank(one: GatewayResult) -> tuple[Any, ...]:
        assert one.served is not None
        fine = len(one.outcomes[one.served].unserved)
        elsewhere = one.name != TODAY and not setup.gateways[one.name].shapes
        return one.served.order, fine, elsewhere, order.index(one.name)

    best = min(able, key=rank)
    return None if best.name == TODAY else best


def facts(
    bench: Bench,
    results: Mapping[str, GatewayResult],
    better: GatewayResult | None,
    at: Tier,
    words: Words,
) -> dict[str, Any]:
    """The facts that the sentences state, as the crate `advice` reads them."""
    today = results[TODAY]
    fastest = max(
        (tier for one in results.values() for tier in one.outcomes), key=lambda t: t.order
    )
    now = today.outcomes.get(at)
    then = None if better is None else better.outcomes.get(at)
    spoiled = [] if now is None else _spoiled(now, words)
    gains, costs = ([], []) if now is None or then is None else _compared(bench, now, then, words)
    return {
        "seeds": len(bench.seeds),
        "fastest": str(fastest),
        "ways": [_way(one, words) for one in results.values()],
        "compared_at": str(at),
        "spoiled": spoiled[:MOST_SENTENCES],
        "better": None if better is None else better.title,
        "gains": gains[:MOST_SENTENCES],
        "costs": costs[:MOST_SENTENCES],
    }


def sentences(known: Mapping[str, Any]) -> list[dict[str, str]]:
    """The sentences of a conclusion, each with its subject and its text."""
    said: list[dict[str, str]] = json.loads(_core.advice_sentences(json.dumps(known)))
    return said


def _way(one: GatewayResult, words: Words) -> dict[str, Any]:
    failing = [] if one.failed is None else named(one.failed.bad, words)
    return {
        "title": one.title,
        "served": None if one.served is None else str(one.served),
        "well": None if one.well is None else str(one.well),
        "failed": None if one.failed is None or one.served is None else str(one.failed.case.tier),
        "failing": failing,
        "by_median": _by_median(one, words),
        "seeds_served": one.seeds_served,
        "exceptions": [str(tier) for tier in one.exceptions],
    }


def named(apps: Iterable[str], words: Words) -> list[str]:
    """Applications in plain words, each once. If there are many, a number replaces some names."""
    names = list(dict.fromkeys(map(words, apps)))
    if len(names) <= MOST_NAMED:
        return names
    return [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]


def _by_median(one: GatewayResult, words: Words) -> list[dict[str, Any]]:
    """The slower tiers at which the median of the round trips is within the limit.

    Only applications whose 95th percentile misses the limit count.
    """
    if one.failed is None:
        return []
    found: dict[Tier, list[str]] = defaultdict(list)
    for app in one.failed.bad:
        limit_ms = one.failed.apps[app].rtt_limit_ms
        if limit_ms is None or one.failed.apps[app].missed != (ROUND_TRIPS,):
            continue
        tier = _first_by_median(one.outcomes, app, limit_ms)
        if tier is not None and (one.served is None or tier.order < one.served.order):
            found[tier].append(app)
    return [{"apps": named(apps, words), "tier": str(tier)} for tier, apps in found.items()]


def _first_by_median(
    outcomes: Mapping[Tier, CaseOutcome], app: str, limit_ms: float
) -> Tier | None:
    """The slowest tier that, like every faster tier that ran, has a median within the limit."""
    first = None
    for tier, outcome in reversed(list(outcomes.items())):
        median_ms = outcome.apps[app].rtt_p50_ms if app in outcome.apps else None
        if median_ms is None or median_ms > limit_ms:
            break
        first = tier
    return first


def _spoiled(now: CaseOutcome, words: Words) -> list[dict[str, str]]:
    said: dict[str, str] = {}
    for app in now.bad:
        said.setdefault(words(app), now.apps[app].because)
    return [{"app": app, "because": because} for app, because in said.items()]


def _compared(
    bench: Bench, now: CaseOutcome, then: CaseOutcome, words: Words
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The interactive applications that improve, and the transfers that become slower."""
    kinds = bench.campaign.about.apps
    gains: list[dict[str, Any]] = []
    costs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for app, own in now.apps.items():
        other = then.apps.get(app)
        if other is None:
            continue
        if kinds.get(app) == "bulk" and own.mbit and other.mbit:
            costs[words(app)].append((own.mbit, other.mbit))
        elif own.word == "bad" and own.rtt_p95_ms and other.rtt_p95_ms:
            gains.append({"app": words(app), "today_ms": own.rtt_p95_ms,
                          "better_ms": other.rtt_p95_ms})  # fmt: skip
    gains.sort(key=lambda one: one["today_ms"] / one["better_ms"], reverse=True)
    first = {one["app"]: one for one in reversed(gains)}
    means: list[dict[str, Any]] = [
        {"app": app, "today_mbit": _mean(pair[0] for pair in some),
         "better_mbit": _mean(pair[1] for pair in some)}
        for app, some in costs.items()
    ]  # fmt: skip
    means.sort(key=lambda one: one["better_mbit"] / one["today_mbit"])
    return [first[app] for app in dict.fromkeys(one["app"] for one in gains)], means


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)


def settings(setup: Setup, case: GatewayCase) -> dict[str, str]:
    """The commands that set up the gateway of a case; empty if none are needed."""
    choice = setup.gateways[case.gateway]
    ways = {way: _shaper(setup, case, way, getattr(choice, way)) for way in ("down", "up")}
    if not any(ways.values()):
        return {}
    line = setup.line
    known = {**_framing(setup, line), **ways}
    told: dict[str, str] = json.loads(_core.gateway_settings(json.dumps(known)))
    return told


def _framing(setup: Setup, line: Line | None) -> dict[str, Any]:
    overhead = setup.scenario.path.up.overhead if line is None else line.overhead
    counted = 14 if line is None else line.device.counted
    return {
        "device": "eth0" if line is None else line.device.linux,
        "bsd_device": "em0" if line is None else line.device.bsd,
        "framing": {
            "bytes": overhead.bytes,
            "minimum": overhead.minimum,
            "atm": overhead.atm,
            "counted": counted,
        },
    }


def _shaper(
    setup: Setup, case: GatewayCase, way: str, managed: Managed | None
) -> dict[str, Any] | None:
    if managed is None or (managed.at == "line" and setup.line is not None):
        return None
    share = 100 if case.share is None else case.share
    params = {name: _tc(spelled(value)) for name, value in managed.qdisc.params.items()}
    bps = getattr(case.tier, way).bps * share // 100
    return {"bps": bps, "qdisc": managed.qdisc.kind, "params": params}


def _tc(value: object) -> str:
    """A parameter in tc's notation, without a space before the unit."""
    return str(value).replace(" ", "").removesuffix("packets")
