"""The activities of people and things, with their demand and their traffic.

`activities.toml` lists them. A household names an activity by its key or by one of its words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import ValidationError

from aqmlab.base.errors import BadValueError, nearest, shown
from aqmlab.scenario import merge
from aqmlab.scenario.applications import App
from aqmlab.scenario.fields import Frozen, FrozenDict, Value
from aqmlab.scenario.model import first_problem
from aqmlab.scenario.quantities import Duration, Rate

Category = Literal["streaming", "tolerant", "sensitive"]
"""The kind of demand: a stream at a steady rate, a transfer that tolerates delay, or traffic that
is sensitive to delay."""

CATEGORIES: tuple[Category, ...] = ("streaming", "tolerant", "sensitive")


class Needs(Value):
    """The demand of an activity: the rates of its data and of its acknowledgements by direction.

    Without `acks_up` and `acks_down`, acknowledgements are a share of TCP's data. If `acks` is
    "included", the rates of the data already contain the acknowledgements.
    """

    down: Rate | None = None
    up: Rate | None = None
    acks_up: Rate | None = None
    acks_down: Rate | None = None
    acks: Literal["share", "included"] = "share"


class Activity(Value):
    """An activity of people or things on the internet.

    `words` are its names beside its key. `apps` are its applications, and `tolerances` their
    tolerated round-trip times.
    """

    title: str
    words: tuple[str, ...]
    category: Category
    needs: Needs
    source: str
    apps: Annotated[dict[str, App], Frozen]
    tolerances: Annotated[dict[str, Duration], Frozen] = FrozenDict()


@functools.cache
def activities() -> Mapping[str, Activity]:
    """Every activity by its key, in the order of the file."""
    text = (resources.files("aqmlab.households") / "activities.toml").read_text("utf-8")
    layer = merge.read_toml(text, "activities.toml")
    return {name: _made(layer, name, table) for name, table in layer.data.items()}


def _made(layer: merge.Layer, name: str, table: Mapping[str, Any]) -> Activity:
    try:
        return Activity(**table)
    except ValidationError as error:
        keys, problem = first_problem(error, Activity)
        raise problem.at(layer.where((name, *keys))) from None


@functools.cache
def by_words() -> Mapping[str, str]:
    """The key of each activity, by the words that name the activity."""
    named = {word: key for key, one in activities().items() for word in one.words}
    return {key.replace("-", " "): key for key in activities()} | named


def find(text: str) -> str:
    """The key of the activity that `text` names; raises `BadValueError` with a suggestion."""
    if text in activities():
        return text
    words = " ".join(re.split(r"[\s_-]+", text.strip().lower()))
    for known, key in by_words().items():
        if words in (known, known.replace("-", " ")):
            return key
    meant = nearest(words, by_words())
    hint = f"did you mean `{meant}`?" if meant else "`aqmlab list activities` shows all of them"
    raise BadValueError(f"unknown activity `{shown(text)}`", hint)
