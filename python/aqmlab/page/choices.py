"""The choices that the page offers, as JSON: a selection of households, lines, tiers and gateways."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from aqmlab.advise.choices import GatewayChoice, Managed, Tier, gateways, tier_lists
from aqmlab.households import loading
from aqmlab.households.activity import activities
from aqmlab.households.household import Household
from aqmlab.households.line import Line, lines
from aqmlab.scenario.fields import plain
from aqmlab.scenario.parameters import spelled


def choices() -> dict[str, Any]:
    """Everything on offer: a selection by `choices.toml`, in its order."""
    text = (resources.files("aqmlab.page") / "choices.toml").read_text("utf-8")
    chosen = tomllib.loads(text)
    households = {name: _household(loading.load(name)) for name in chosen["households"]}
    offered = [*chosen["pastimes"], *chosen["things"]]
    used = [does for one in households.values() for person in one["people"] for does in person["does"]]
    used += [thing["does"] for one in households.values() for thing in one["things"]]
    keys = dict.fromkeys([*offered, *used])
    tiers = {name: [str(Tier.parse(one)) for one in known.tiers] for name, known in tier_lists().items()}
    return {
        "activities": {key: _activity(key) for key in keys},
        "pastimes": chosen["pastimes"],
        "things": chosen["things"],
        "people": [{"name": name, "does": does} for name, does in chosen["people"].items()],
        "households": households,
        "lines": {name: _line(line, tiers) for name, line in lines().items()},
        "tiers": {
            name: {"title": known.title, "tiers": tiers[name]} for name, known in tier_lists().items()
        },
        "firstTiers": chosen["tiers"],
        "gateways": {name: _gateway(gateways()[name]) for name in chosen["gateways"]},
        "better": chosen["better"],
    }


def _activity(key: str) -> dict[str, Any]:
    known = activities()[key]
    return {"title": known.title, "apps": {name: plain(app) for name, app in known.apps.items()}}


def _household(known: Household) -> dict[str, Any]:
    """A household without its devices and times: the page starts everything at once."""
    people: dict[str, list[str]] = {name: [] for name in known.people}
    counts: dict[str, int] = {}
    for owned in known.uses():
        if owned.who:
            people[owned.who] += [owned.use.does] * (owned.use.does not in people[owned.who])
        else:
            counts[owned.use.does] = counts.get(owned.use.does, 0) + owned.use.copies
    return {
        "title": known.title,
        "people": [{"name": name.capitalize(), "does": does} for name, does in people.items()],
        "things": [{"does": does, "count": count} for does, count in counts.items()],
        "line": known.line,
        "tier": known.tier,
        "rtt": known.rtt.ns // 1_000_000,
    }


def _line(known: Line, lists: dict[str, list[str]]) -> dict[str, Any]:
    """A line with its unmanaged queue at each tier."""
    tiers = {text: Tier.parse(text) for some in lists.values() for text in some}
    overhead = known.overhead
    return {
        "title": known.title,
        "overhead": plain(overhead),
        "queues": {
            text: {way: known.fifo(way, getattr(tier, way)) for way in ("down", "up")}
            for text, tier in tiers.items()
        },
        "device": {
            "device": known.device.linux,
            "bsd_device": known.device.bsd,
            "framing": {
                "bytes": overhead.bytes,
                "minimum": overhead.minimum,
                "atm": overhead.atm,
                "counted": known.device.counted,
            },
        },
    }


def _gateway(known: GatewayChoice) -> dict[str, Any]:
    return {"title": known.title, "up": _managed(known.up), "down": _managed(known.down)}


def _managed(known: Managed | None) -> dict[str, Any] | None:
    """The discipline of a direction, in a scenario's terms and in those of the settings."""
    if known is None:
        return None
    params = {name: str(spelled(value)).replace(" ", "") for name, value in known.qdisc.params.items()}
    return {"at": known.at, "qdisc": plain(known.qdisc), "tc": {"qdisc": known.qdisc.kind, "params": params}}
