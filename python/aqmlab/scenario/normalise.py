"""Converts scenario tables to one expanded form.

`path.qdisc` becomes `path.down.qdisc` and `path.up.qdisc`, "fq_codel limit=1000" becomes a
table, an array of applications becomes a table by name, and the dotted keys of `vary` become
one name each. Origins are copied too, so messages name the keys as the user wrote them.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.unique_names import Names
from aqmlab.scenario import quantities

Keys = tuple[str, ...]
"""The path of a member in nested tables."""

ROOTS = ("duration", "path", "hosts", "defaults", "apps", "measure")
"""Tables whose members can be set and varied."""

BOTH_WAYS = ("rate", "qdisc", "shaper", "pipe_delays", "overhead", "loss", "jitter", "reorder")
"""Keys that, directly under `path` or `path.modem`, apply to both directions."""

_UNIT = r"[kmgKMG]?(?:bits?/s|bits?|bps)"
_PAIR = re.compile(rf"([0-9.]{{1,20}})\s*(?:({_UNIT})\s*)?/\s*([0-9.]{{1,20}})\s*({_UNIT})")
_MARK = re.compile(r"""\"{3}|'{3}|["'.=,\n\[\]{}]|#[^\n]*""")
_ENDS = {
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile("'"),
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),  # up to two quotes belong to the string
    "'''": re.compile("'{3,5}"),
}
"""The end and the escapes of a string, by its opening quote."""

_INNER = ("params", "settings")
"""The inner tables of kinds and profiles in Python values."""

_WITH_INNER = ("path", "hosts", "apps", "defaults")
_LEAVES = frozenset(("qdisc", "queue", "overhead", "cc"))
_DEPENDS: dict[Keys, Keys] = {("measure",): ("duration",)}
"""The table with which the defaults of another table must be consistent."""

MOST_NESTING = 60
MOST_APPS = 10_000
"""The maximum number of applications of a trial with their copies, as in the simulator."""

_MOST_LOOPS = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """The location and the spelling of a key."""

    place: str
    path: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.path) if part)


@dataclass
class Layer:
    """Nested tables with the origins of their keys."""

    data: dict[str, Any]
    origins: dict[Keys, Origin] = field(default_factory=dict)
    source: str = ""

    def where(self, keys: tuple[str | int, ...]) -> str:
        """The location of `keys` for a message."""
        wanted = tuple(str(key) for key in keys)
        for length in range(len(wanted), 0, -1):
            origin = self.origins.get(wanted[:length])
            if origin is not None:
                path = ".".join((origin.path, *wanted[length:]))
                return str(Origin(origin.place, path))
        # A key without an origin has its default, which conflicts with another key.
        other = self.origins.get(_DEPENDS.get(wanted[:1], ()))
        place = other.place if other else f"{self.source}:1" if self.source else ""
        return str(Origin(place, ".".join(wanted)))


def expand(layer: Layer) -> Layer:
    """Expands a layer to the form in which layers are merged."""
    layer.data = copy.deepcopy(layer.data)
    _refuse_many_apps(layer)
    if isinstance(layer.data.get("apps"), list):
        _name_apps(layer)
    if isinstance(layer.data.get("path"), dict):
        _expand_path(layer)
    if "vary" in layer.data:
        _flatten_vary(layer)
    lifted: set[Keys] = set()
    for keys, table in list(_tables(layer.data)):
        if keys[0] in ("hosts", "apps", "defaults") and isinstance(table.get("cc"), str):
            table["cc"] = _located(layer, (*keys, "cc"), table["cc"])
        if keys[0] in _WITH_INNER:
            lifted.update(_lift(layer, keys, table))
    if lifted:
        _lift_origins(layer, lifted)
    return layer


def _lift(layer: Layer, keys: Keys, table: dict[str, Any]) -> Iterator[Keys]:
    """Moves members of `params` and `settings` to the table around them."""
    for name in _INNER:
        inner = table.get(name)
        if not isinstance(inner, dict):
            continue
        for key in inner:
            if key in table:
                problem = f"`{shown(key)}` is given here and beside `{name}`"
                raise ScenarioError(layer.where((*keys, name, key)), problem, "write it once")
        del table[name]
        table.update(inner)
        yield (*keys, name)


def _lift_origins(layer: Layer, lifted: Collection[Keys]) -> None:
    """Moves the origins of lifted members, in one pass because there may be many applications."""
    for keys, origin in list(layer.origins.items()):
        for length in range(2, len(keys)):
            if keys[:length] in lifted:
                layer.origins[keys[: length - 1] + keys[length:]] = origin


def _tables(value: Any, above: Keys = ()) -> Iterator[tuple[Keys, dict[str, Any]]]:
    if isinstance(value, dict):
        if above:
            yield above, value
        for key, member in value.items():
            yield from _tables(member, (*above, key))


def _copy_origins(layer: Layer, old: Keys, new: Keys) -> None:
    for keys, origin in list(layer.origins.items()):
        if keys[: len(old)] == old:
            layer.origins[(*new, *keys[len(old) :])] = origin


def _refuse_many_apps(layer: Layer) -> None:
    apps = layer.data.get("apps")
    if isinstance(apps, (list, dict)) and len(apps) > MOST_APPS:
        problem = f"{len(apps)} applications are too many, {MOST_APPS} at most"
        raise ScenarioError(layer.where(("apps",)), problem)


def _name_apps(layer: Layer) -> None:
    named: dict[str, Any] = {}
    own_names: dict[str, str] = {}
    kinds = Names()
    for number, app in enumerate(layer.data["apps"]):
        place = layer.where(("apps", str(number)))
        if not isinstance(app, dict):
            raise ScenarioError(place, f"`{shown(app)}` is not a table", "write [apps.NAME]")
        name = app.pop("name", None) or _free_name(app, named, kinds)
        if not isinstance(name, str):
            raise ScenarioError(place, f"`{shown(name)}` is not a name")
        if name in named:
            raise ScenarioError(
                place, f"there are two applications called `{shown(name)}`", "rename one of them"
            )
        named[name] = app
        own_names[str(number)] = name
    layer.data["apps"] = named
    for keys, origin in list(layer.origins.items()):
        if keys[0] == "apps" and len(keys) > 1 and keys[1] in own_names:
            layer.origins["apps", own_names[keys[1]], *keys[2:]] = origin


def _free_name(app: Mapping[str, Any], taken: Mapping[str, Any], kinds: Names) -> str:
    """A name for an unnamed application: its kind, with a number if there are several."""
    name = kinds.free(str(app.get("kind", "app")))
    while name in taken:
        name = kinds.free(str(app.get("kind", "app")))
    return name


def of_both_ways(keys: Keys) -> tuple[Keys, Keys]:
    """Splits a key for both directions into the parts before and after the direction.

    Returns two empty parts for any other key.

    >>> of_both_ways(("path", "modem", "qdisc", "limit"))
    (('path', 'modem'), ('qdisc', 'limit'))
    """
    length = 2 if keys[:2] == ("path", "modem") else 1
    if keys[:1] != ("path",) or keys[length : length + 1] not in {(key,) for key in _BOTH_WAYS}:
        return (), ()
    name, *rest = keys[length:]
    return keys[:length], ("qdisc" if name == "queue" else name, *rest)


_BOTH_WAYS = (*BOTH_WAYS, "queue")


def _expand_path(layer: Layer) -> None:
    path = layer.data["path"]
    _expand_ways(layer, path, ("path",))
    if isinstance(path.get("modem"), dict):
        _expand_ways(layer, path["modem"], ("path", "modem"))


def _expand_ways(layer: Layer, path: dict[str, Any], above: Keys) -> None:
    for way in (path, path.get("down"), path.get("up")):
        if isinstance(way, dict) and "queue" in way:
            prefix = above if way is path else (*above, "down" if way is path["down"] else "up")
            way.setdefault("qdisc", way.pop("queue"))
            _copy_origins(layer, (*prefix, "queue"), (*prefix, "qdisc"))
    for key in BOTH_WAYS:
        if key in path:
            value = path.pop(key)
            values = (value, copy.deepcopy(value))
            if key == "rate":
                values = _rates(value, layer.where((*above, key)))
            for way, one in zip(("down", "up"), values, strict=True):
                table = path.setdefault(way, {})
                if isinstance(table, dict) and key not in table:
                    table[key] = one
                    _copy_origins(layer, (*above, key), (*above, way, key))
    for way in ("down", "up", "wifi"):
        table = path.get(way)
        if isinstance(table, dict) and isinstance(table.get("qdisc"), str):
            table["qdisc"] = _located(layer, (*above, way, "qdisc"), table["qdisc"])


def _located(layer: Layer, keys: Keys, text: str) -> dict[str, Any]:
    try:
        return kind_table(text)
    except BadValueError as problem:
        raise problem.at(layer.where(keys)) from None


def _rates(value: Any, place: str) -> tuple[Any, Any]:
    """Both rates of "12/1 Mbit/s", down before up. A single rate applies to both directions."""
    hint = 'write down and up and a unit, such as "12/1 Mbit/s"'
    if not isinstance(value, str):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            hint = f'write the unit, too: "{value} Mbit/s", or down before up: "12/1 Mbit/s"'
        raise ScenarioError(place, f"`{shown(value)}` is not a rate", hint)
    try:
        return rate_pair(value)
    except BadValueError as problem:
        raise ScenarioError(place, problem.problem, problem.hint or hint) from None


def rate_pair(text: str) -> tuple[str, str]:
    """The rates down and up of "12/1 Mbit/s", "12 Mbit/s / 800 kbit/s", "12 Mbit/s" or "95 %".

    >>> rate_pair("1.5/0.5 Mbit/s"), rate_pair("90/95 %")
    (('1.5 Mbit/s', '500 kbit/s'), ('90 %', '95 %'))
    """
    if text.strip().endswith("%"):
        parts = [quantities.show_share(quantities.share(f"{part} %")) for part in _shares(text)]
        return parts[0], parts[-1]
    pair = _PAIR.fullmatch(text.strip())
    if pair is None and re.fullmatch(r"[0-9.]{1,20}\s*/\s*[0-9.]{1,20}", text.strip()):
        raise BadValueError(
            f"`{shown(text)}` has no unit", f'write it, too: "{text.strip()} Mbit/s"'
        )
    if pair is None:
        both = quantities.show_rate(quantities.rate(text))
        return both, both
    down, down_unit, up, unit = pair.groups()
    rates = quantities.rate(f"{down} {down_unit or unit}"), quantities.rate(f"{up} {unit}")
    return quantities.show_rate(rates[0]), quantities.show_rate(rates[1])


def _shares(text: str) -> list[str]:
    """The numbers in "95 %" or "90/95 %"."""
    parts = text.strip().removesuffix("%").split("/")
    if len(parts) > 2:
        raise BadValueError(f"`{shown(text)}` are more than two shares, down before up")
    return [part.strip().removesuffix("%") for part in parts]


def kind_table(text: str) -> dict[str, Any]:
    """Parses a kind with parameters, such as "fq_codel limit=1000 target=5ms", into a table.

    >>> kind_table("fq_codel limit=1000")
    {'kind': 'fq_codel', 'limit': 1000}
    """
    words = text.split()
    table: dict[str, Any] = {"kind": words[0] if words else ""}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals or not name or name in table:
            meant = "" if equals else f'"{shown(words[0])} {shown(word)}=…", as in '
            raise BadValueError(
                f"`{shown(word)}` is not a parameter",
                f'write {meant}"fq_codel limit=1000 target=5ms"',
            )
        table[name] = parse_text(value)
    return table


def _flatten_vary(layer: Layer) -> None:
    """Flattens `vary`: `vary.path.rtt` and `vary."path.rtt"` become the member "path.rtt"."""
    if not isinstance(layer.data["vary"], dict):
        hint = 'write [vary] and, below it, path.rtt = ["20 ms", "40 ms"]'
        problem = f"`{shown(layer.data['vary'])}` is not a table"
        raise ScenarioError(layer.where(("vary",)), problem, hint)
    leaves = list(_vary_leaves(layer.data["vary"]))
    if len(leaves) > _MOST_LOOPS:
        problem = f"{len(leaves)} loops are too many, {_MOST_LOOPS} at most"
        raise ScenarioError(layer.where(("vary",)), problem)
    flat: dict[str, Any] = {}
    # Dotted keys with a common prefix share a table, but loops keep their order in the file.
    written = {keys: number for number, keys in enumerate(layer.origins)}
    members = sorted(leaves, key=lambda member: written.get(("vary", *member[0]), 0))
    for keys, value in members:
        address = spelled(".".join(keys))
        if address in flat:
            raise ScenarioError(layer.where(("vary", *keys)), "varied twice")
        flat[address] = value
        _copy_origins(layer, ("vary", *keys), ("vary", address))
    layer.data["vary"] = flat


def spelled(address: str) -> str:
    """The canonical spelling of an address, without blanks around its keys.

    >>> spelled("path. rtt"), spelled("a linked loop. ")
    ('path.rtt', 'a linked loop. ')
    """
    keys = [key.strip() for key in address.split(".")]
    return ".".join(keys) if keys[0] in ROOTS else address


def _vary_leaves(table: Mapping[str, Any], above: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    for key, member in table.items():
        if isinstance(member, dict):
            yield from _vary_leaves(member, (*above, key))
        else:
            yield (*above, key), member


def step_changes(step: Mapping[str, Any]) -> dict[str, Any]:
    """The addresses and values of one step of a linked loop, without its label."""

    def walk(table: Mapping[str, Any], above: Keys) -> Iterator[tuple[str, Any]]:
        for key, member in table.items():
            if isinstance(member, Mapping) and key.rpartition(".")[2] not in _LEAVES:
                yield from walk(member, (*above, key))
            else:
                yield ".".join((*above, key)), member

    return dict(walk({key: value for key, value in step.items() if key != "label"}, ()))


def refuse_deep_nesting(text: str, source: str) -> None:
    """Bounds the recursion of `tomllib` and of everything that walks its result."""
    depth = dots = at = 0
    while found := _MARK.search(text, at):
        mark, at = found[0], found.end()
        if mark in _ENDS:
            at = _behind_string(text, at, mark)
        elif mark == ".":
            dots += 1  # the dot of a key or of a number
        elif mark[0] != "#":
            dots = 0
            depth = max(0, depth + (mark in "[{") - (mark in "]}"))
        if max(depth, dots) > MOST_NESTING:
            line = text.count("\n", 0, at) + 1
            raise ScenarioError(f"{source}:{line}", f"nested deeper than {MOST_NESTING}")


def refuse_deep(value: Any, place: str) -> None:
    """Bounds the nesting of values from Python, because later functions recurse."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MOST_NESTING:
            raise ScenarioError(place, f"nested deeper than {MOST_NESTING}")
        if isinstance(one, (Mapping, list, tuple)):
            members = one.values() if isinstance(one, Mapping) else one
            waiting.extend((member, depth + 1) for member in members)


def _behind_string(text: str, at: int, quote: str) -> int:
    """The end of the string whose opening `quote` ends at `at`."""
    for found in _ENDS[quote].finditer(text, at):
        if found[0][0] != "\\":
            return found.end()
    return len(text)


def parse_text(text: str) -> Any:
    """Parses a value from the command line as TOML, or returns the text itself.

    >>> parse_text("5"), parse_text("20 ms"), parse_text('{kind = "pie", limit = 9}')
    (5, '20 ms', {'kind': 'pie', 'limit': 9})
    """
    stripped = text.strip()
    if len(stripped) > 100_000 or "\n" in stripped:
        return stripped
    try:
        refuse_deep_nesting(stripped, "")
        parsed = tomllib.loads(f"value = {stripped}")
    except (ScenarioError, ValueError, RecursionError):
        return stripped
    value = parsed.get("value")
    return value if set(parsed) == {"value"} and _is_plain(value) else stripped


def _is_plain(value: Any) -> bool:
    """Returns whether a value has a type that scenarios use. TOML dates, for example, do not."""
    if isinstance(value, dict):
        return all(_is_plain(member) for member in value.values())
    if isinstance(value, list):
        return all(_is_plain(member) for member in value)
    return isinstance(value, (str, int, float, bool))
