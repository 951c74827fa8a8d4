"""Gateways that give the same trials on a path. The advice runs only the first of them.

If a scenario keeps its own path, today's gateway has the scenario's disciplines, so another gateway
can be equal to it. Without a modem, the device with a discipline makes no difference either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Tier
from aqmlab.api import Request
from aqmlab.planning.without_defaults import without_defaults


def distinct(setup: Setup, tier: Tier) -> tuple[Setup, dict[str, str]]:
    """The setup without each gateway that is equal to an earlier one, and the earlier one's name.

    Two gateways are equal if they give the same trial at `tier`.
    """
    first: dict[str, str] = {}
    equal: dict[str, str] = {}
    for name in setup.gateways:
        case = GatewayCase(tier, name, setup.shares(name)[0])
        (trial,) = Request(setup.whole([case], 1)).plan().trials
        other = first.setdefault(without_defaults(trial.spec).text(), name)
        if other != name:
            equal[name] = other
    kept = {name: one for name, one in setup.gateways.items() if name not in equal}
    return replace(setup, gateways=kept), equal


def stated(equal: Mapping[str, str]) -> str:
    """A sentence for each gateway that `distinct` left out; empty if there are none.

    >>> stated({"sqm-up": "today", "provider": "sqm"})
    'On this path, sqm-up is the same as today. On this path, provider is the same as sqm.'
    """
    return " ".join(f"On this path, {one} is the same as {other}." for one, other in equal.items())
