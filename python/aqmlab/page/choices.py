"""The choices that the page offers, as JSON.

They are a selection of the built-in households, activities, lines, tiers and gateways.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from aqmlab.advise.cases import SHARES, UNSHAPED
from aqmlab.advise.choices import GatewayChoice, Managed, Tier, gateways, tier_lists
from aqmlab.advise.settings import discipline, interface
from aqmlab.households import loading
from aqmlab.households.activity import activities
from aqmlab.households.household import Household
from aqmlab.households.line import LEAST_QUEUE_BYTES, Line, lines
from aqmlab.results.verdicts.verdict import WORST_FIRST
from aqmlab.scenario import catalogue
from aqmlab.scenario.fields import plain


def choices() -> dict[str, Any]:
    """The page's choices: the selection in `choices.toml`, all lines, and all lists of tiers."""
    text = (resources.files("aqmlab.page") / "choices.toml").read_text("utf-8")
    chosen = tomllib.loads(text)
    households = {name: _household(loading.load(name)) for name in chosen["households"]}
    offered = [*chosen["pastimes"], *chosen["things"], *_used(households.values())]
    lists = {name: _tiers(name) for name in tier_lists()}
    return {
        "activities": {key: _activity(key) for key in dict.fromkeys(offered)},
        "pastimes": chosen["pastimes"],
        "things": chosen["things"],
        "people": [{"name": name, "does": does} for name, does in chosen["people"].items()],
        "households": households,
        "lines": {name: _line(line) for name, line in lines().items()},
        "tiers": lists,
        "firstTiers": chosen["tiers"],
        "gateways": {name: _gateway(gateways()[name]) for name in chosen["gateways"]},
        "better": chosen["better"],
        "noticedMs": _noticed_ms(),
        "verdicts": WORST_FIRST,
        "shares": SHARES,
        "unshaped": UNSHAPED,
        "leastQueueBytes": LEAST_QUEUE_BYTES,
    }


def _noticed_ms() -> float:
    """The largest one-way delay of speech, in ms, with a good verdict."""
    speech = next(kind for kind in catalogue.raw()["apps"] if kind["name"] == "voip")
    needs: list[dict[str, Any]] = speech["needs"]["needs"]
    return next(float(need["good"]) for need in needs if need["name"] == "one-way delay")


def _used(households: Iterable[Mapping[str, Any]]) -> list[str]:
    """The activities of `households`, with repetitions."""
    found = []
    for one in households:
        found += [does for person in one["people"] for does in person["does"]]
        found += [thing["does"] for thing in one["things"]]
    return found


def _activity(key: str) -> dict[str, Any]:
    known = activities()[key]
    return {
        "title": known.title,
        "apps": {name: plain(app) for name, app in known.apps.items()},
        "tolerances": {name: str(limit) for name, limit in known.tolerances.items()},
    }


def _household(known: Household) -> dict[str, Any]:
    """A household without its devices and times, because the page starts all activities at once."""
    people: dict[str, list[str]] = {name: [] for name in known.people}
    counts: dict[str, int] = {}
    for owned in known.uses():
        does = owned.use.does
        if not owned.who:
            counts[does] = counts.get(does, 0) + owned.use.copies
        elif does not in people[owned.who]:
            people[owned.who].append(does)
    return {
        "title": known.title,
        "people": [{"name": name.capitalize(), "does": does} for name, does in people.items()],
        "things": [{"does": does, "count": count} for does, count in counts.items()],
        "line": known.line,
        "tier": known.tier,
        "rtt": known.rtt.ns // 1_000_000,
    }


def _tiers(name: str) -> dict[str, Any]:
    known = tier_lists()[name]
    return {"title": known.title, "tiers": [str(Tier.parse(text)) for text in known.tiers]}


def _line(known: Line) -> dict[str, Any]:
    """A line with its queues, its fastest tier, and its device and framing for the settings."""
    return {
        "title": known.title,
        "overhead": plain(known.overhead),
        "queue": {"down": known.queue.down, "up": known.queue.up},
        "device": interface(known.overhead, known.device),
        "fastest": known.fastest,
        "limit": known.limit,
    }


def _gateway(known: GatewayChoice) -> dict[str, Any]:
    return {"title": known.title, "up": _managed(known.up), "down": _managed(known.down)}


def _managed(known: Managed | None) -> dict[str, Any] | None:
    """The discipline of a direction, if any, as scenarios and as the settings state it."""
    if known is None:
        return None
    qdisc = known.qdisc
    return {"at": known.at, "qdisc": plain(qdisc), "settings": discipline(qdisc)}
