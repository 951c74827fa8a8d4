"""Trials in the form that the engine takes."""

from __future__ import annotations

import json
from typing import Any

TCP = {"profile": "linux", "cc": {"kind": "cubic", "params": {}}}


def link(name: str, rate_bps: int, kind: str, **params: Any) -> dict[str, Any]:
    """A bottleneck whose rate counts only the bytes of IP packets."""
    return {"name": name, "rate_bps": rate_bps, "qdisc": {"kind": kind, "params": params}}


def app(name: str, kind: str, *, delay_ms: int = 20, **params: Any) -> dict[str, Any]:
    """An application over link 0 upstream and link 1 downstream."""
    up, down = ({"links": [index], "delay_ns": delay_ms * 1_000_000} for index in (0, 1))
    return {
        "name": name,
        "app": {"kind": kind, "params": params},
        "start_ns": 0,
        "up": up,
        "down": down,
        "home": dict(TCP),
        "wan": dict(TCP),
    }


def trial(
    *apps: dict[str, Any], kind: str = "pfifo", seconds: float = 3, seed: int = 1, **params: Any
) -> dict[str, Any]:
    """A trial on a line of 12/1 Mbit/s."""
    links = [link("up", 1_000_000, kind, **params), link("down", 12_000_000, kind, **params)]
    duration_ns = int(seconds * 1e9)
    return {"seed": seed, "duration_ns": duration_ns, "links": links, "apps": list(apps)}


def text(trial: dict[str, Any]) -> str:
    """A trial as JSON."""
    return json.dumps(trial)
