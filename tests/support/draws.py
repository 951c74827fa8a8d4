"""Draws random values of parameters, near their defaults and within their bounds."""

from __future__ import annotations

import math
import random
from typing import Any

from aqmlab.scenario.catalogue import Kind, Param

NEAR = 8
"""The factor by which a drawn number may differ from its default, in both directions."""

WHEN_ZERO = {"duration": 1e8, "bytes": 2e4, "rate": 1e6, "count": 50, "number": 0.5}
"""The values around which a number is drawn if its default is zero or off."""

MOST_COUNT = {
    **dict.fromkeys(("parallel", "hosts", "connections", "initial", "increment"), 8),
    "objects": 100,
    "clients": 4,
}
"""The maximum of each count that multiplies packets or connections."""

WHOLE_SECONDS = ("keepalive",)
"""The durations that are whole numbers of seconds."""


def log_uniform(rng: random.Random, least: float, most: float) -> float:
    """A number between `least` and `most` with a uniformly distributed logarithm."""
    return math.exp(rng.uniform(math.log(least), math.log(most)))


def params(rng: random.Random, kind: Kind, share: float) -> dict[str, Any]:
    """Some parameters of `kind` in scenario notation.

    Each parameter is included with probability `share`.
    """
    chosen = [param for param in kind.params.values() if rng.random() < share]
    return {param.name: _written(param.show(value(rng, param))) for param in chosen}


def _written(value: Any) -> Any:
    return "off" if value is None else value


def value(rng: random.Random, param: Param) -> Any:
    """A random value of a parameter in base units; `None` stands for "off"."""
    if param.type == "word":
        return rng.choice(param.choices)
    if param.type == "flag":
        return rng.random() < 0.5
    if param.type == "duration or off" and rng.random() < 0.3:
        return None
    number = _near(rng, param)
    if param.name in WHOLE_SECONDS:
        return round(number / 1e9) * 10**9
    return number if param.type == "number" else round(number)


def _near(rng: random.Random, param: Param) -> float:
    least, most = param.least or 0, param.most or math.inf
    most = min(most, MOST_COUNT.get(param.name, most))
    middle = param.default
    if not isinstance(middle, (int, float)) or middle == 0:
        middle = WHEN_ZERO[param.type.removesuffix(" or off")]
    drawn = log_uniform(rng, middle / NEAR, middle * NEAR)
    return float(min(max(drawn, least), most))
