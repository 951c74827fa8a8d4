"""A scenario in another spelling is the same scenario."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from aqmlab.planning import planner
from aqmlab.scenario import catalogue
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Rate

from .. import scenarios, trials
from ..scenarios import Table
from . import same

UNITS = {
    "ns": ("duration", 1),
    "us": ("duration", 10**3),
    "µs": ("duration", 10**3),
    "ms": ("duration", 10**6),
    "s": ("duration", 10**9),
    "min": ("duration", 60 * 10**9),
    "h": ("duration", 3600 * 10**9),
    "bit/s": ("rate", 1),
    "kbit/s": ("rate", 10**3),
    "Mbit/s": ("rate", 10**6),
    "Mbps": ("rate", 10**6),
    "Gbit/s": ("rate", 10**9),
    "B": ("size", 1),
    "kB": ("size", 10**3),
    "KiB": ("size", 2**10),
    "MB": ("size", 10**6),
    "MiB": ("size", 2**20),
}
"""The units of docs/reference/scenarios.md, with their quantity and their size in base units."""
QUANTITY = re.compile(r"([\d.]+) ?(\S+)")


def _differ(one: Table, other: Table) -> Iterator[str]:
    first, second = scenarios.specs(one), scenarios.specs(other)
    if first != second:
        lines = [
            json.dumps(specs, indent=1, sort_keys=True).splitlines() for specs in (first, second)
        ]
        parts = [pair for pair in zip(*lines, strict=False) if pair[0] != pair[1]]
        yield f"the trials differ: {parts[:3]}"


def other_units(table: Table, rng: random.Random) -> Iterator[str]:
    """A quantity in another unit is the same quantity."""
    yield from _differ(table, _respelled(table, rng))


def _respelled(part: Any, rng: random.Random) -> Any:
    if isinstance(part, dict):
        words = ("segment",)  # a word of a list, not a quantity
        return {
            key: value if key in words else _respelled(value, rng) for key, value in part.items()
        }
    found = QUANTITY.fullmatch(part) if isinstance(part, str) else None
    if found is None or found[2] not in UNITS:
        return part
    quantity, size = UNITS[found[2]]
    value = Fraction(found[1]) * size
    names = [name for name, (other, _) in UNITS.items() if other == quantity]
    rng.shuffle(names)
    for name in names:
        text = _decimal(value / UNITS[name][1])
        if text is not None:
            return f"{text}{rng.choice(['', ' '])}{name}"
    return part


def _decimal(value: Fraction) -> str | None:
    """The value as a decimal number; `None` if it needs more than twelve decimals."""
    for digits in range(13):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            whole, rest = divmod(int(scaled), 10**digits)
            return f"{whole}.{rest:0{digits}d}" if digits else str(whole)
    return None


def both_ways_at_once(table: Table, _: random.Random) -> Iterator[str]:
    """One text for both directions equals a value for each; a kind as a text equals its table."""
    path = dict(table["path"])
    down, up = dict(path.pop("down")), dict(path.pop("up"))
    written = (down["rate"], up["rate"])
    if not any(isinstance(rate, list) or rate.endswith("%") for rate in written):
        rates = [Rate.parse(way.pop("rate")).bps for way in (down, up)]
        path["rate"] = f"{rates[0] / 1e6:.6f}/{rates[1] / 1e6:.6f} Mbit/s"
    for key in ("overhead", "shaper", "loss"):
        if key in down and down[key] == up.get(key):
            path[key] = down.pop(key)
            up.pop(key)
    for way in (down, up):
        way["qdisc"] = _in_one_line(way["qdisc"])
    yield from _differ(table, {**table, "path": {**path, "down": down, "up": up}})


def _in_one_line(kind: Table) -> str:
    words = [str(kind["kind"])]
    for key, value in kind.items():
        if key != "kind":
            text = str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
            words.append(f"{key}={text}")
    return " ".join(words)


def defaults_said(table: Table, rng: random.Random) -> Iterator[str]:
    """A parameter with its explicit default changes nothing."""
    known = catalogue.load()
    link = table["path"]["up"]
    said = {
        **table,
        "path": {
            **table["path"],
            "up": {**link, "qdisc": _said(known, "disciplines", link["qdisc"], rng)},
        },
    }
    said["apps"] = {name: _said(known, "apps", app, rng) for name, app in table["apps"].items()}
    yield from same.everything(trials.run_table(table), trials.run_table(said))


KEYS_OF_APPS = ("count", "duration", "start", "stop", "rtt", "priority")


def _said(known: catalogue.Catalogue, family: str, table: Table, rng: random.Random) -> Table:
    kind = known[family][table["kind"]]
    defaults = {
        param.name: "off" if param.default is None else param.show(param.default)
        for param in kind.params.values()
        if rng.random() < 0.5 and not (family == "apps" and param.name in KEYS_OF_APPS)
    }
    return {**defaults, **table}


def a_loop_of_one(table: Table, rng: random.Random) -> Iterator[str]:
    """A loop over only the present value changes nothing."""
    addresses = {
        "path.rtt": table["path"]["rtt"],
        "path.down.qdisc": table["path"]["down"]["qdisc"],
        "path.up.rate": table["path"]["up"]["rate"],
        "path.down.overhead": table["path"]["down"]["overhead"],
    }
    loops = {address: [addresses[address]] for address in rng.sample(sorted(addresses), 2)}
    yield from _differ(table, {**table, "vary": loops})


def written_and_read(table: Table, _: random.Random) -> Iterator[str]:
    """A scenario that is written to a file and read again has the same trials."""
    text = scenarios.toml_writer.write(table)
    once = Scenario.from_toml(text)
    twice = Scenario.from_toml(once.to_toml())
    if once != twice:
        yield "the value differs"
    specs = [[trial.spec.members() for trial in planner.load(one).trials] for one in (once, twice)]
    if specs[0] != specs[1]:
        yield "the trials differ"
