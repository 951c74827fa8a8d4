"""The built-in scenarios, as `aqmlab list` shows them."""

from __future__ import annotations

from aqmlab.cli.listed import Listed, only
from aqmlab.scenario import loading


def entries(topic: str, name: str | None) -> list[Listed]:
    """The built-in scenarios, or the scenario called `name`."""
    every: list[Listed] = [
        {"name": name, "title": title} for name, title in loading.builtins().items()
    ]
    return only(topic, name, every)
