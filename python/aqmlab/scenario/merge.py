"""Reads, expands and merges the layers of a scenario.

The layers of a scenario are the file that it extends, the file itself, one step of a varied
parameter, and a `--set`. Each layer is first *expanded*: `path.qdisc` becomes `path.down.qdisc` and
`path.up.qdisc`, `"fq_codel limit=1000"` becomes a table, and an array of applications becomes a
table by name. The expanded layer is then merged over the previous layer. The later layer therefore
has precedence in any notation. A layer stores the location of each of its keys for messages.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.base.text_files import MOST_BYTES
from aqmlab.scenario import toml_positions
from aqmlab.scenario.normalise import (
    BOTH_WAYS,
    MOST_APPS,
    ROOTS,
    Keys,
    Layer,
    Origin,
    expand,
    of_both_ways,
    refuse_two_names,
    step_changes,
)
from aqmlab.scenario.notation import MOST_NESTING, Table, refuse_deep_nesting

__all__ = [
    "BOTH_WAYS",
    "MOST_APPS",
    "ROOTS",
    "Keys",
    "Layer",
    "Origin",
    "combine",
    "covers",
    "expand",
    "from_address",
    "from_toml",
    "leaves",
    "merge",
    "read_toml",
    "refuse_two_names",
    "refuse_unknown_removals",
    "split_address",
    "step_changes",
    "uncovered",
]


_AT = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)
_DIGITS = re.compile(r"Exceeds the limit \((\d+) digits\).*value has (\d+) digits")
_LONG = re.compile(r"[0-9][0-9_]{4300,}")
_STRING = re.compile(r"""\"[^"]*\"|'[^']*'""")


def from_toml(text: str, source: str) -> Layer:
    """The expanded layer of a scenario's TOML text. Messages refer to the text as `source`."""
    return expand(read_toml(text, source))


def read_toml(text: str, source: str) -> Layer:
    """The tables of a TOML text, with their lines. Messages refer to the text as `source`.

    Raises `ScenarioError` for a text that is too long, too deeply nested or not TOML.
    """
    if len(text) > MOST_BYTES:
        raise ScenarioError(source, f"larger than {MOST_BYTES} characters")
    refuse_deep_nesting(text, source)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise _syntax_error(str(error), text, source) from None
    origins: dict[Keys, Origin] = {}
    for path, line in toml_positions.lines(text).items():
        if len(path) > MOST_NESTING:  # headers, keys and inline tables all count
            raise ScenarioError(f"{source}:{line}", f"nested deeper than {MOST_NESTING}")
        keys = tuple(str(key) for key in path)
        origins[keys] = Origin(f"{source}:{line}", ".".join(keys))
    return Layer(data, origins, source)


def refuse_path(text: object, source: str) -> None:
    """Raises `ScenarioError` if `text` is not text, or is the name of a TOML file."""
    is_name = isinstance(text, str) and re.fullmatch(r"[^=\n]{1,1000}\.toml", text) is not None
    if is_name or not isinstance(text, str):
        problem = f"`{shown(text)}` is not the text of a TOML file"
        raise ScenarioError(source, problem, "pass the file's text, as `Path(name).read_text()`")


def _syntax_error(problem: str, text: str, source: str) -> ScenarioError:
    """The error for a message of `tomllib`, with the line at its end moved to the front."""
    lines = text.split("\n")
    number = len(lines)
    found = _AT.fullmatch(problem)
    if found is not None:
        problem, number = found[1], int(found[2] or number)
    elif (digits := _DIGITS.match(problem)) is not None:  # its hint is for programmers
        problem = f"a number has {digits[2]} digits; the limit is {digits[1]}"
        number = next((at for at, one in enumerate(lines, 1) if _LONG.search(one)), number)
    what = f"this is not TOML: {problem[:1].lower()}{problem[1:]}"
    return ScenarioError(f"{source}:{number}", what, _unquoted(lines[number - 1]))


def _unquoted(line: str) -> str | None:
    """A hint if a value in `line` is text without quotes; otherwise `None`."""
    bare = _STRING.sub('""', line[:1000]).partition("#")[0].partition("=")[2]
    first, *members = re.split(r"[\[\]{},]", bare)
    for value in (first, *(one.partition("=")[2] or one for one in members)):
        try:
            tomllib.loads(f"x = {value.strip() or 0}")
        except tomllib.TOMLDecodeError:
            return None if '"' in value else f'put text in quotes: "{shown(value.strip())}"'
        except ValueError:  # the number is too long
            return None
    return None


def from_address(address: str, value: Any, place: str) -> Layer:
    """The expanded layer that sets the dotted `address` to `value`. `place` is its location."""
    keys = split_address(address, place)
    data: Any = value
    for key in reversed(keys):
        data = {key: data}
    origins = {keys[: n + 1]: Origin(place, ".".join(keys[: n + 1])) for n in range(len(keys))}
    origins |= {
        (*keys, *below): Origin(place, ".".join((*keys, *below))) for below, _ in leaves(value)
    }
    return expand(Layer(data, origins))


def split_address(address: str, place: str) -> Keys:
    """The keys of a dotted address; raises `ScenarioError` for an address that cannot be set."""
    keys = tuple(key.strip() for key in address.split("."))
    if keys[0] not in ROOTS or not all(keys) or len(keys) > MOST_NESTING:
        if keys[0] in (*BOTH_WAYS, "queue", "rtt", "lan", "modem", "wifi", "down", "up"):
            meant = f"did you mean `path.{shown(address)}`?"
            raise ScenarioError(place, f"unknown parameter `{shown(address)}`", meant)
        if keys == ("tier",):
            meant = "did you mean `path.rate`?"
            raise ScenarioError(place, f"unknown parameter `{shown(address)}`", meant)
        known = [*ROOTS, "path.rate", "path.qdisc", "path.rtt", "apps.NAME.start"]
        raise ScenarioError.unknown(place, "parameter", address, known)
    return keys


def leaves(value: Any, above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yields the keys and the value of each member of nested tables that is not a table."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from leaves(member, (*above, str(key)))
    elif above:
        yield above, value


# --- Laying one layer over another -----------------------------------------------------------


def combine(layers: Iterable[Layer]) -> Layer:
    """Combines several changes into one layer.

    Together, the changes may replace a whole loop of which each replaces only a part.
    """
    whole = Layer({})
    for layer in layers:
        whole = Layer(_merged(whole.data, layer.data), whole.origins | layer.origins, layer.source)
    return whole


def merge(base: Layer, over: Layer) -> Layer:
    """Merges `over` over `base`. Both stay unchanged; the result shares their unmerged tables.

    A table in `over` replaces a table with another `kind` in `base`, because the parameters of one
    kind do not apply to another. A parameter that `over` sets is no longer varied by `base`. A
    `vary` table in `over` replaces the `vary` table in `base`. An application set to "off" is
    removed.
    """
    data = _merged(base.data, over.data)
    if "vary" in over.data:
        data["vary"] = over.data["vary"]
    elif isinstance(data.get("vary"), dict):
        fixed = [".".join(keys) for keys, _ in leaves(over.data)]
        data["vary"] = uncovered(data["vary"], fixed)
    if isinstance(data.get("apps"), dict):
        data["apps"] = {name: app for name, app in data["apps"].items() if not is_removal(app)}
    return Layer(data, {**base.origins, **over.origins}, over.source or base.source)


def is_removal(app: object) -> bool:
    """Returns whether a member of `apps` is "off" or false, which removes the application."""
    return app is False or (isinstance(app, str) and app == "off")


def refuse_unknown_removals(base: Layer | None, over: Layer) -> None:
    """Raises `ScenarioError` if `over` removes an application that `base` does not have.

    An application that a loop of `base` adds counts as well. `base` is `None` if `over` is a file
    that extends no scenario. `merge` itself ignores such a removal, because two changes of one
    trial may remove the same application.
    """
    apps = over.data.get("apps")
    members = apps.items() if _is_table(apps) else ()
    removed = {name: app for name, app in members if is_removal(app)}
    known = _app_names(base) if removed and base is not None else {}
    for name, app in removed.items():
        where = over.where(("apps", name))
        if base is None:
            said = "false" if app is False else '"off"'
            problem = f"{said} removes nothing, because the file extends no scenario"
            raise ScenarioError(where, problem, "leave the line out")
        if name not in known:
            raise ScenarioError.unknown(where, "application", name, known)


def _app_names(layer: Layer) -> dict[str, None]:
    """The names of the applications in the tables and in the loops `apps.NAME` of `layer`."""
    apps, vary = layer.data.get("apps"), layer.data.get("vary")
    names = [name for name, app in apps.items() if not is_removal(app)] if _is_table(apps) else []
    for address, values in vary.items() if _is_table(vary) else ():
        root, _, name = address.partition(".")
        if root == "apps" and isinstance(values, list) and any(map(_is_table, values)):
            names.append(name)
    return dict.fromkeys(names)


def _is_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _merged(base: Any, over: Any) -> Any:
    """Merges tables key by key. Returns `over` if a value is no table or the kinds differ.

    If `over` changes the profile, the congestion control of `base` is left out.
    """
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    if "kind" in base and over.get("kind", base["kind"]) != base["kind"]:
        return over
    result = dict(base)
    if "profile" in over and over["profile"] != base.get("profile"):
        result.pop("cc", None)  # it belongs to the replaced profile
    for key, value in over.items():
        result[key] = _merged(result[key], value) if key in result else value
    return result


def uncovered(vary: Mapping[str, object], fixed: Iterable[str]) -> Table:
    """A copy of `vary` without the `fixed` addresses, in loops and in the steps of linked loops."""
    given = {one for item in fixed for one in _both(item)}
    left: Table = {}
    for name, values in vary.items():
        if _covered(given, name):
            continue
        steps = values
        if isinstance(values, list) and name.partition(".")[0] not in ROOTS:
            steps = [_uncovered_step(step, given) for step in values]
            if steps != values and not any(map(_sets, steps)):
                continue
        left[name] = steps
    return left


def _sets(step: Any) -> bool:
    """Returns whether a step of a linked loop sets anything. Invalid steps are refused later."""
    return not isinstance(step, dict) or bool(step_changes(step))


def _uncovered_step(step: Any, given: Collection[str]) -> Any:
    if not isinstance(step, dict):
        return step
    kept = {
        address: value
        for address, value in step_changes(step).items()
        if not _covered(given, address)
    }
    return ({"label": step["label"]} if "label" in step else {}) | kept


def covers(fixed: Iterable[str], address: str) -> bool:
    """Returns whether the `fixed` addresses override everything that `address` sets."""
    return _covered({one for item in fixed for one in _both(item)}, address)


def _covered(given: Collection[str], address: str) -> bool:
    """Returns whether the expanded addresses `given` override everything that `address` sets.

    An address in `given` that ends with `kind` overrides the whole table.
    """
    return all(
        f"{one}.kind" in given or any(above in given for above in _prefixes(one))
        for one in _both(address)
    )


def _prefixes(address: str) -> Iterator[str]:
    """Yields each table that contains an address, and the address itself."""
    keys = address.split(".")
    return (".".join(keys[:length]) for length in range(1, len(keys) + 1))


def _both(address: str) -> tuple[str, ...]:
    """The expanded addresses of an address: two for a key of both directions, otherwise one."""
    above, below = of_both_ways(tuple(address.split(".")))
    if not below:
        return (address,)
    return tuple(".".join((*above, way, *below)) for way in ("down", "up"))
