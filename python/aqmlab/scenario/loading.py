"""Loads built-in scenarios and scenario files, with the scenarios that they extend."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from aqmlab.base.errors import ScenarioError, nearest, shown
from aqmlab.base.files import special_kind
from aqmlab.base.text_files import beside, file_text
from aqmlab.scenario import merge
from aqmlab.scenario.builtin_files import BuiltinFiles
from aqmlab.scenario.merge import Layer

_MOST_ANCESTORS = 10

_FILES = BuiltinFiles("aqmlab.scenario", "scenario")
builtin_names, builtin_text = _FILES.names, _FILES.text


def builtins() -> dict[str, str]:
    """The titles of the built-in scenarios by name."""
    return {name: read_builtin(name).data.get("title", "") for name in builtin_names()}


def read_builtin(name: str) -> Layer:
    """The layer of a built-in scenario, merged with the scenarios that it extends."""
    return _read(builtin_text(name), f"{name}.toml", None, 0)


class Found(NamedTuple):
    """A scenario's text, and its tables merged over the tables of the scenarios that it extends."""

    layer: Layer
    name: str
    source: str
    """The path of the file, or the word `built-in` and the name."""
    text: str
    """The scenario's own text, including comments."""
    folder: Path = Path()
    """The folder that holds the scenario's delivery traces."""


def find(source: str | Path) -> Found:
    """Finds the scenario of a file or a built-in name; raises `ScenarioError` if there is none."""
    path = Path(source)
    if str(source) in builtin_names():
        name = str(source)
        text = builtin_text(name)
        return Found(_read(text, f"{name}.toml", None, 0), name, f"built-in {name}", text)
    if path.suffix == ".toml" or path.is_file():
        text = file_text(path)
        layer = _read(text, path.name, path.parent, 0)
        return Found(layer, path.stem, str(path), text, path.parent)
    if source == "":  # the path of an empty name is this folder
        hint = "name a .toml file, or a scenario of `aqmlab list scenarios`"
        raise ScenarioError("", "the name of the scenario is empty", hint)
    if path.is_dir():
        raise ScenarioError(shown(str(source)), "is a folder, not a scenario", _inside(path))
    known = builtin_names()
    meant = nearest(str(source), [*known, *beside(path)])
    hint = f"name a .toml file, a TEACUP config (.py) or a built-in: {', '.join(known)}"
    if meant is not None:
        hint = f"did you mean `{shown(meant)}`?"
    raise ScenarioError(shown(str(source)), "there is no such scenario", hint)


def _inside(folder: Path) -> str:
    """A hint for a folder that was given in place of a scenario."""
    if (folder / "manifest.json").is_file():
        return f"it holds a campaign's results: `aqmlab show {folder}` shows them"
    if (folder / "study.toml").is_file():
        return f"it holds a study: `aqmlab reproduce {folder}` runs it"
    found = beside(folder / "any")
    return f"name a file in it, such as `{found[0]}`" if found else "it holds no .toml file"


def _read(text: str, source: str, folder: Path | None, depth: int) -> Layer:
    layer = merge.from_toml(text, source)
    parent = layer.data.pop("extends", None)
    if parent is None:
        merge.refuse_unknown_removals(None, layer)
        return layer
    place = layer.where(("extends",))
    if depth >= _MOST_ANCESTORS:
        raise ScenarioError(place, f"more than {_MOST_ANCESTORS} scenarios extend each other")
    base = _parent(parent, place, folder, depth)
    merge.refuse_unknown_removals(base, layer)
    return merge.merge(base, layer)


def _parent(name: Any, place: str, folder: Path | None, depth: int) -> Layer:
    """The layer of the extended scenario: a built-in scenario, or a file in the same folder."""
    if isinstance(name, str) and name in builtin_names():
        return _read(builtin_text(name), f"{name}.toml", None, depth + 1)
    hint = f"name a .toml file beside this one, or a built-in: {', '.join(builtin_names())}"
    if not isinstance(name, str) or folder is None or not name.endswith(".toml"):
        raise ScenarioError(place, f"there is no scenario `{shown(name)}`", hint)
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve()) and not Path(name).is_absolute()
    except ValueError:  # a NUL character
        raise ScenarioError(place, f"`{shown(name)}` is not the name of a file", hint) from None
    except (OSError, RuntimeError):  # RuntimeError: a cycle of symbolic links
        inside = False
    if not inside:
        raise ScenarioError(place, f"`{shown(name)}` is outside the scenario's folder", hint)
    kind = special_kind(path)
    if kind is not None:
        raise ScenarioError(place, f"`{shown(name)}` is {kind}, not a file", hint)
    if not path.is_file():
        raise ScenarioError(place, f"there is no file `{shown(name)}`", hint)
    return _read(file_text(path), name, path.parent, depth + 1)
