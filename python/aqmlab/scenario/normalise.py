"""Converts scenario tables to one expanded form.

`path.qdisc` becomes `path.down.qdisc` and `path.up.qdisc`, and "fq_codel limit=1000" becomes a
table. An array of applications becomes a table by name. Each dotted key of `vary` becomes one name.
Origins are also copied, so messages name the keys as the user wrote them.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.unique_names import Names
from aqmlab.scenario import presets
from aqmlab.scenario.catalogue import table_of
from aqmlab.scenario.line_rates import both_directions
from aqmlab.scenario.links import Link
from aqmlab.scenario.notation import Table, rate_pair

Keys = tuple[str, ...]
"""The path of a member in nested tables."""

ROOTS = ("duration", "path", "hosts", "defaults", "apps", "measure")
"""The top-level keys that can be set and varied, or whose members can be set and varied."""

BOTH_WAYS = tuple(Link.model_fields)
"""Keys that, directly under `path` or `path.modem`, apply to both directions."""

_INNER = ("params", "settings")
"""The inner tables of kinds and profiles in Python values."""

_WITH_INNER = ("path", "hosts", "apps", "defaults")
_LEAVES = frozenset(("qdisc", "queue", "overhead", "cc"))
_DEPENDS: dict[Keys, Keys] = {("measure",): ("duration",)}
"""By table: the key whose value can conflict with the table's defaults."""

MOST_APPS = 10_000
"""The maximum number of applications of a trial, including copies, as in the simulator."""

_MOST_LOOPS = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """The location of a key, and its path as the user wrote it."""

    place: str
    path: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.path) if part)


@dataclass
class Layer:
    """Nested tables with the origins of their keys."""

    data: Table
    origins: dict[Keys, Origin] = field(default_factory=dict)
    source: str = ""

    def where(self, keys: tuple[str | int, ...]) -> str:
        """The location of `keys`, or of the nearest table around them, for a message."""
        wanted = tuple(str(key) for key in keys)
        for length in range(len(wanted), 0, -1):
            origin = self.origins.get(wanted[:length])
            if origin is not None:
                path = ".".join((origin.path, *wanted[length:]))
                return str(Origin(origin.place, path))
        # A key without an origin has its default value. The default then conflicts with another
        # key.
        other = self.origins.get(_DEPENDS.get(wanted[:1], ()))
        place = other.place if other else f"{self.source}:1" if self.source else ""
        return str(Origin(place, ".".join(wanted)))


def expand(layer: Layer) -> Layer:
    """Expands `layer` to the form in which layers are merged, and returns it.

    The layer gets new tables and further origins. Its earlier tables stay unchanged.
    """
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


def _lift(layer: Layer, keys: Keys, table: Table) -> Iterator[Keys]:
    """Moves the members of `params` and `settings` into `table`; yields the keys of both tables."""
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
    """Copies the origins of lifted members to their new keys.

    One pass handles all tables, because a pass for each table would be slow with many applications.
    """
    for keys, origin in list(layer.origins.items()):
        for length in range(2, len(keys)):
            if keys[:length] in lifted:
                layer.origins[keys[: length - 1] + keys[length:]] = origin


def _tables(value: Any, above: Keys = ()) -> Iterator[tuple[Keys, Table]]:
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
    named: Table = {}
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
    """A free name for an unnamed application: its kind, with a number if there are several."""
    name = kinds.free(str(app.get("kind", "app")))
    while name in taken:
        name = kinds.free(str(app.get("kind", "app")))
    return name


def of_both_ways(keys: Keys) -> tuple[Keys, Keys]:
    """Splits a key for both directions where a key for one direction has `down` or `up`. The second
    part has `qdisc` in place of `queue`.

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


def _two_names() -> BadValueError:
    problem = "`queue` and `qdisc` are two names of one key, and both are given"
    return BadValueError(problem, "write `qdisc` alone")


def _expand_path(layer: Layer) -> None:
    path = layer.data["path"]
    _expand_ways(layer, path, ("path",))
    if isinstance(path.get("modem"), dict):
        _expand_ways(layer, path["modem"], ("path", "modem"))


def _expand_ways(layer: Layer, path: Table, above: Keys) -> None:
    for prefix, way in (
        (above, path),
        ((*above, "down"), path.get("down")),
        ((*above, "up"), path.get("up")),
    ):
        if isinstance(way, dict) and "queue" in way:
            if "qdisc" in way:
                raise _two_names().at(layer.where((*prefix, "queue")))
            way["qdisc"] = way.pop("queue")
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
        if isinstance(table, dict) and way != "wifi" and above == ("path",):
            presets.apply(way, table)


def _located(layer: Layer, keys: Keys, text: str) -> Table:
    try:
        return table_of("disciplines", text)
    except BadValueError as problem:
        raise problem.at(layer.where(keys)) from None


def _rates(value: Any, place: str) -> tuple[Any, Any]:
    """Both rates of "12/1 Mbit/s", down before up. A single rate applies to both directions."""
    if isinstance(value, dict):
        return value, copy.deepcopy(value)
    if isinstance(value, (list, tuple)):
        try:
            return both_directions(value)
        except BadValueError as problem:
            raise problem.at(place) from None
    hint = 'write down and up and a unit, such as "12/1 Mbit/s"'
    if not isinstance(value, str):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            hint = f'write the unit, too: "{value} Mbit/s", or down before up: "12/1 Mbit/s"'
        raise ScenarioError(place, f"`{shown(value)}` is not a rate", hint)
    try:
        return rate_pair(value)
    except BadValueError as problem:
        raise ScenarioError(place, problem.problem, problem.hint or hint) from None


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
    flat: Table = {}
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


def refuse_two_names(addresses: Iterable[str]) -> None:
    """Raises `BadValueError` if two of the addresses name one discipline by both of its names."""
    named = set(addresses)
    for address in named:
        keys = address.split(".")
        renamed = ".".join("qdisc" if key == "queue" else key for key in keys)
        if keys[0] == "path" and renamed != address and renamed in named:
            raise _two_names()


def step_changes(step: Mapping[str, Any]) -> Table:
    """The addresses and values of one step of a linked loop, without its label."""

    def walk(table: Mapping[str, Any], above: Keys) -> Iterator[tuple[str, Any]]:
        for key, member in table.items():
            if isinstance(member, Mapping) and key.rpartition(".")[2] not in _LEAVES:
                yield from walk(member, (*above, key))
            else:
                yield ".".join((*above, key)), member

    return dict(walk({key: value for key, value in step.items() if key != "label"}, ()))
