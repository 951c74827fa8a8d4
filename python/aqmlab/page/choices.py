"""The choices that the page offers, as JSON.

STAND-IN: `standin.json` holds activities, lines and people until the room `households` has them.
Only this file changes when it is replaced.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from aqmlab.scenario.notation import rate_pair
from aqmlab.scenario.quantities import Duration, Rate


def choices() -> dict[str, Any]:
    """Activities, people, things, lines with their queues at each tier, tiers and gateways."""
    found: dict[str, Any] = json.loads(
        (resources.files("aqmlab.page") / "standin.json").read_text("utf-8")
    )
    for line in found["lines"].values():
        queue = line.pop("queue")
        line["queues"] = {tier: _fifos(tier, queue) for tier in found["tiers"]}
    return found


def _fifos(tier: str, queue: dict[str, str]) -> dict[str, str]:
    """The unmanaged queue of each direction at a tier."""
    rates = dict(zip(("down", "up"), rate_pair(tier), strict=True))
    return {way: _fifo(queue[way], Rate.parse(rate)) for way, rate in rates.items()}


def _fifo(stated: str, rate: Rate) -> str:
    if stated.endswith(" packets"):
        return f"pfifo limit={stated.removesuffix(' packets')}"
    size_bytes = rate.bps * Duration.parse(stated).ns // 8_000_000_000
    return f"bfifo limit={max(size_bytes, 15_140)}B"
