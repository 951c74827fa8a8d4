"""Changes of a scenario by its user: assignments, loops and seeds as values.

Messages name the options `--set`, `--vary` and `--seeds` of the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, nearest, shown, suggestion
from aqmlab.scenario import merge
from aqmlab.scenario import seeds as seed_numbers
from aqmlab.scenario.merge import Layer

TomlValue = Any
"""A value in TOML's types: text, a number, a boolean, a list or a table."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A parameter that is set to a value."""

    address: str
    value: TomlValue


@dataclass(frozen=True, slots=True)
class Variation:
    """A parameter that takes each of several values."""

    address: str
    values: tuple[TomlValue, ...]


def with_vary(layer: Layer, vary: Sequence[Variation]) -> Layer:
    """Returns `layer` with the loops `vary`.

    A loop over a parameter that `layer` already varies takes the position of the earlier loop. Any
    other loop becomes the innermost loop. Raises `ScenarioError` for an invalid loop.
    """
    loops = dict(layer.data.get("vary") or {})
    for number, one in enumerate(vary):
        address = one.address
        if any(address == other.address for other in vary[:number]):
            raise ScenarioError("--vary", f"`{shown(address)}` is given twice", "give it once")
        merge.split_address(address, "--vary")
        if not one.values:
            place = f"--vary {shown(address)}"
            raise ScenarioError(place, "no value is given", f'write --vary "{address}=A,B"')
        if address not in loops:
            loops = merge.uncovered(loops, [address])
        loops[address] = list(one.values)
    origins: dict[merge.Keys, merge.Origin] = {
        ("vary", one.address): merge.Origin("--vary", one.address) for one in vary
    }
    return merge.merge(layer, Layer({"vary": loops}, origins, layer.source))


def checked_seeds(seeds: Any) -> int | str:
    """The canonical spelling of `--seeds`; raises `ScenarioError` if the value is invalid."""
    try:
        return seed_numbers.spelled(seeds)
    except BadValueError as problem:
        raise problem.at("--seeds") from None


def refuse_unknown_app(layer: Layer, address: str, place: str) -> None:
    """Raises `ScenarioError` if `address` is in an unknown application.

    Without this check, a misspelt name would count as a new application without a `kind`. `place`
    is the option or the location that states the address.
    """
    keys = address.split(".")
    apps = layer.data.get("apps")
    if keys[0] == "apps" and len(keys) > 2 and isinstance(apps, dict) and keys[1] not in apps:
        hint = suggestion(keys[1], apps)
        if place in ("--set", "--vary") and nearest(keys[1], apps) is None:
            hint += f"; only a scenario's file can add an application: [apps.{shown(keys[1])}]"
        problem = f"unknown application `{shown(keys[1])}`"
        raise ScenarioError(f"{place}: {address}", problem, hint)
