"""The catalogue as Markdown: disciplines, applications, congestion controls, hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from aqmlab import _core
from aqmlab.scenario import catalogue


def section(family: str) -> str:
    """Every kind of a family: its summary, source and parameters."""
    return "\n".join(_kind(kind) for kind in catalogue.load()[family].values())


def _kind(kind: catalogue.Kind) -> str:
    lines = [f"### `{kind.name}`\n", f"{kind.summary}.\n", f"Source: {_escaped(kind.source)}.\n"]
    if kind.params:
        rows = (
            (f"`{one.name}`", _default(one), one.allowed, _doc(one)) for one in kind.params.values()
        )
        lines.append(_table(("Parameter", "Default", "Allowed", "Meaning"), rows))
    return "\n".join(lines)


def needs(_: str) -> str:
    """The needs of every kind of application, with their limits and sources."""
    rows = []
    for kind in _core.catalogue()["apps"]:
        stated = kind["needs"]
        rows += [_need(kind["name"], need) for need in stated["needs"]]
    return _table(("Kind", "Need", "Good", "Tolerable", "Measured by", "Source"), rows)


def _need(kind: str, need: Mapping[str, Any]) -> tuple[str, ...]:
    to = "from" if need["more_is_better"] else "to"
    limits = (f"{to} {_core.quantity(need[one], need['unit'])}" for one in ("good", "tolerable"))
    measures = ", ".join(f"`{name}`" for name in need["measure"])
    if need["at_most"]:
        measures += f"; scaled to `{need['at_most']}`"
    return (f"`{kind}`", need["name"], *limits, measures, _escaped(need["source"]))


def requirements(_: str) -> str:
    """The sets of requirements for the Quality of Outcome, and the kinds that have them."""
    found = _core.catalogue()
    rows = []
    for one in found["requirements"]:
        kinds = [
            kind["name"] for kind in found["apps"] if kind["needs"]["requirement"] == one["name"]
        ]
        rows.append(_requirement(one, ", ".join(f"`{name}`" for name in kinds) or "–"))
    return _table(("Set", "Round trips", "Loss", "Rate", "Kinds", "Source"), rows)


def _requirement(one: Mapping[str, Any], kinds: str) -> tuple[str, ...]:
    def pair(values: tuple[float, float], unit: str) -> str:
        return " … ".join(_core.quantity(value, unit) for value in values)

    delays = (
        f"{name.replace('_', '.')} {pair(values, 'ms')}" for name, values in one["latency_ms"]
    )
    loss = "–" if one["loss_percent"] is None else pair(one["loss_percent"], "%")
    rate = "–" if one["rate_mbit"] is None else _core.quantity(one["rate_mbit"], "Mbit/s")
    return (f"`{one['name']}`", ", ".join(delays), loss, rate, kinds, _escaped(one["source"]))


def notes(_: str) -> str:
    """The notes that some kinds have for readers of their verdicts."""
    told = ((kind["name"], kind["needs"]["note"]) for kind in _core.catalogue()["apps"])
    return "".join(f"- `{name}`: {note}.\n" for name, note in told if note)


def profiles() -> str:
    """The host profiles side by side: each setting with its value on each host."""
    hosts = catalogue.load()["profiles"]
    named = (
        (f"`{host.name}`", host.summary, f"`{host.default_cc}`", _escaped(host.source))
        for host in hosts.values()
    )
    head = _table(("Profile", "Which host", "Congestion control", "Source"), named)
    settings = dict.fromkeys(name for host in hosts.values() for name in host.params)
    rows = (_setting(name, list(hosts.values())) for name in settings)
    columns = ("Setting", *(f"`{name}`" for name in hosts), "Allowed", "Meaning")
    return f"{head}\n{_table(columns, rows)}"


def _setting(name: str, hosts: list[catalogue.Kind]) -> tuple[str, ...]:
    values = (_default(host.params[name]) if name in host.params else "–" for host in hosts)
    one = next(host.params[name] for host in hosts if name in host.params)
    return (f"`{name}`", *values, one.allowed, _doc(one))


def _default(param: catalogue.Param) -> str:
    """The default in scenario notation."""
    value = param.default if param.type == "word" else param.show(param.default)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _doc(param: catalogue.Param) -> str:
    words = ", ".join(f"`{word}`" for word in param.choices)
    return _escaped(param.doc) + (f" One of {words}." if words else "")


def _escaped(text: str) -> str:
    """`text` with Markdown's and tables' special characters escaped outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([_*<>])", r"\\\1", part) for part in parts
    ).replace("|", "\\|")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
