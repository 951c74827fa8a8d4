"""The built-in households and the activities, as `aqmlab list` shows them."""

from __future__ import annotations

from aqmlab.cli.listed import Listed, only
from aqmlab.households import activity, loading


def households(topic: str, name: str | None) -> list[Listed]:
    """The built-in households, or the household called `name`."""
    every: list[Listed] = [
        {"name": one, "title": loading.load(one).title} for one in loading.builtin_names()
    ]
    return only(topic, name, every)


def activities(topic: str, name: str | None) -> list[Listed]:
    """The activities with the words that name them, or the activity called `name`."""
    every: list[Listed] = [
        {"name": key, "summary": f"{one.title}: {', '.join(one.words)}", "source": one.source}
        for key, one in activity.activities().items()
    ]
    return only(topic, name, every)
