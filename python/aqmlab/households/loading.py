"""Loads built-in households and household files, with the household that they extend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aqmlab.base.errors import ScenarioError, nearest, shown
from aqmlab.base.text_files import beside, file_text
from aqmlab.households.household import Household, build
from aqmlab.scenario import loading as scenarios
from aqmlab.scenario import merge
from aqmlab.scenario.builtin_files import BuiltinFiles
from aqmlab.scenario.merge import Keys, Layer

MARKS = ("people", "things")
"""The tables that distinguish a household's file from a scenario's."""

_KEYS = ("tier", "line")
"""Keys of a household that no scenario has."""

_OF_SCENARIOS = ("path", "apps", "hosts", "extends")
"""Keys of a scenario that no household has, or that name the scenario below it."""

_FILES = BuiltinFiles("aqmlab.households", "household")
builtin_names, builtin_text = _FILES.names, _FILES.text


class FoundHousehold(NamedTuple):
    """A household, with its name, its file or built-in name, and its text."""

    household: Household
    name: str
    source: str
    text: str


def load(source: str | Path) -> Household:
    """The household of a file or a built-in name; raises `ScenarioError`."""
    return find(source).household


def find(source: str | Path) -> FoundHousehold:
    """Finds the household of a file or a built-in name; raises `ScenarioError`."""
    name, path = str(source), Path(source)
    if name in builtin_names():
        return _builtin(name)
    if path.suffix == ".toml" or path.is_file():
        text = file_text(path)
        return _of_layer(merge.read_toml(text, path.name), path, text)
    if path.is_dir():
        raise ScenarioError(shown(name), "is a folder, not a household")
    if " " in name.strip():  # the words that describe a household
        hint = "write its file from these words with `aqmlab new`, and name that file"
        raise ScenarioError(shown(name), "there is no such household", hint)
    meant = nearest(name, [*builtin_names(), *beside(path)])
    hint = f"name a .toml file or a built-in: {', '.join(builtin_names())}"
    hint = hint if meant is None else f"did you mean `{shown(meant)}`?"
    raise ScenarioError(shown(name), "there is no such household", hint)


def find_among_scenarios(source: str | Path) -> FoundHousehold | None:
    """The household that `source` names; `None` if `source` is not a household.

    `source` may be a built-in name, or a file with people or things. A file that extends a built-in
    household also counts, unless a built-in scenario has the same name as that household. A file
    with a tier or a line is a household that lacks people, unless it has the tables of a scenario.
    """
    if str(source) in builtin_names():
        return _builtin(str(source))
    path = Path(source)
    if path.suffix != ".toml":
        return None
    try:
        text = file_text(path)
        layer = merge.read_toml(text, path.name)
    except ScenarioError:
        return None  # The reader of scenarios reports the error.
    parent = layer.data.get("extends")
    names = set(builtin_names()).difference(scenarios.builtin_names())
    inherited = isinstance(parent, str) and parent in names
    stated = any(key in layer.data for key in _KEYS) and not any(
        key in layer.data for key in _OF_SCENARIOS
    )
    if inherited or stated or any(mark in layer.data for mark in MARKS):
        return _of_layer(layer, path, text)
    return None


def _builtin(name: str) -> FoundHousehold:
    text = builtin_text(name)
    made = build(_extended(merge.read_toml(text, f"{name}.toml"), ()))
    return FoundHousehold(made, name, f"built-in {name}", text)


def _of_layer(layer: Layer, path: Path, text: str) -> FoundHousehold:
    """The household of a file's tables."""
    return FoundHousehold(build(_extended(layer, ())), path.stem, str(path), text)


def _extended(layer: Layer, above: tuple[str, ...]) -> Layer:
    """The tables of a file, merged over the tables of the household that the file extends."""
    parent = layer.data.pop("extends", None)
    if parent is None:
        return layer
    place = layer.where(("extends",))
    if not isinstance(parent, str) or parent not in builtin_names():
        raise ScenarioError.unknown(place, "built-in household", parent, builtin_names())
    if parent in above:
        raise ScenarioError(place, f"`{parent}` extends itself")
    lower = merge.read_toml(builtin_text(parent), f"{parent}.toml")
    below = _extended(lower, (*above, parent))
    merged = _over(below.data, layer.data, layer, ())
    return Layer(merged, {**below.origins, **layer.origins}, layer.source)


_REMOVED = {"people": "person", "things": "device", "devices": "device"}
"""The tables whose members "off" removes, each with the word for one member."""


def _over(
    below: Mapping[str, Any], above: Mapping[str, Any], layer: Layer, keys: Keys
) -> dict[str, Any]:
    """Merges `above` over `below`. A member set to "off" is removed.

    `above` are the tables of `layer` at `keys`. Raises `ScenarioError` for a person or a device
    that is to be removed and that `below` does not have. Any other member that `below` does not
    have keeps the value "off", so the checks of its value or of its name refuse it.
    """
    made = dict(below)
    for key, value in above.items():
        own = (*keys, key)
        lower = made.get(key)
        if value != "off":
            both = isinstance(value, Mapping) and isinstance(lower, Mapping)
            made[key] = _over(lower, value, layer, own) if both else value  # type: ignore[arg-type]
        elif key in made:
            del made[key]
        elif keys and keys[-1] in _REMOVED:
            raise ScenarioError.unknown(layer.where(own), _REMOVED[keys[-1]], key, below)
        else:
            made[key] = value
    return made
