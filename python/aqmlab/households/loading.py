"""Loads built-in households and household files, with the household that they extend."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from aqmlab.base.errors import ScenarioError, nearest, shown
from aqmlab.base.text_files import beside, file_text
from aqmlab.households.household import Household, build
from aqmlab.scenario import loading as scenarios
from aqmlab.scenario import merge
from aqmlab.scenario.merge import Layer

MARKS = ("people", "things")
"""The tables that distinguish a household's file from a scenario's."""


class FoundHousehold(NamedTuple):
    """A household, with its name, its file or built-in name, and its text."""

    household: Household
    name: str
    source: str
    text: str


def builtin_names() -> list[str]:
    """The names of the built-in households, sorted."""
    folder = resources.files("aqmlab.households") / "builtin"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def builtin_text(name: str) -> str:
    """The TOML text of a built-in household, including comments."""
    if name not in builtin_names():
        raise ScenarioError.unknown("", "household", name, builtin_names())
    return (resources.files("aqmlab.households") / "builtin" / f"{name}.toml").read_text("utf-8")


def load(source: str | Path) -> Household:
    """The household of a file or a built-in name; raises `ScenarioError`."""
    return find(source).household


def find(source: str | Path) -> FoundHousehold:
    """Finds the household of a file or a built-in name; raises `ScenarioError`."""
    name, path = str(source), Path(source)
    if name in builtin_names():
        text = builtin_text(name)
        made = build(_read(text, f"{name}.toml", ()))
        return FoundHousehold(made, name, f"built-in {name}", text)
    if path.suffix == ".toml" or path.is_file():
        text = file_text(path)
        return FoundHousehold(build(_read(text, path.name, ())), path.stem, name, text)
    if path.is_dir():
        raise ScenarioError(shown(name), "is a folder, not a household")
    meant = nearest(name, [*builtin_names(), *beside(path)])
    hint = f"name a .toml file or a built-in: {', '.join(builtin_names())}"
    hint = hint if meant is None else f"did you mean `{shown(meant)}`?"
    raise ScenarioError(shown(name), "there is no such household", hint)


def is_household(source: str | Path) -> bool:
    """Whether `source` names a household: a built-in household, or a file with people or things.

    A file that only extends a household may have neither. A name that is also a scenario's does not
    count.
    """
    if str(source) in builtin_names():
        return True
    path = Path(source)
    if path.suffix != ".toml":
        return False
    try:
        data = merge.read_toml(file_text(path), path.name).data
    except ScenarioError:
        return False  # the reader of scenarios reports it
    parent = data.get("extends")
    names = set(builtin_names()).difference(scenarios.builtin_names())
    inherited = isinstance(parent, str) and parent in names
    return inherited or any(mark in data for mark in MARKS)


def _read(text: str, source: str, above: tuple[str, ...]) -> Layer:
    layer = merge.read_toml(text, source)
    parent = layer.data.pop("extends", None)
    if parent is None:
        return layer
    place = layer.where(("extends",))
    if not isinstance(parent, str) or parent not in builtin_names():
        raise ScenarioError.unknown(place, "built-in household", parent, builtin_names())
    if parent in above:
        raise ScenarioError(place, f"`{parent}` extends itself")
    below = _read(builtin_text(parent), f"{parent}.toml", (*above, parent))
    return Layer(_over(below.data, layer.data), {**below.origins, **layer.origins}, source)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merges `above` over `below`. A person or a device set to "off" is removed."""
    made = dict(below)
    for key, value in above.items():
        lower = made.get(key)
        both = isinstance(value, Mapping) and isinstance(lower, Mapping)
        made[key] = _over(lower, value) if both else value  # type: ignore[arg-type]
    return {key: value for key, value in made.items() if value != "off"}
