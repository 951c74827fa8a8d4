"""The presets of `cake` for gateways, as `aqmlab list` shows them."""

from __future__ import annotations

from aqmlab.cli.listed import Listed, only
from aqmlab.scenario import presets
from aqmlab.scenario.notation import Table


def entries(topic: str, name: str | None) -> list[Listed]:
    """The presets, or the preset called `name`."""
    every: list[Listed] = [
        {
            "name": name,
            "title": f"{preset['title']}: {_cake(preset['up'])} up, {_cake(preset['down'])} down",
            "source": preset["source"],
        }
        for name, preset in presets.load().items()
    ]
    return only(topic, name, every)


def _cake(params: Table) -> str:
    """The discipline `cake` with `params`, as a scenario writes it."""
    words = [f"{name}={str(value).lower()}" for name, value in params.items()]
    return " ".join(["cake", *words])
