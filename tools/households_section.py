"""Makes the tables of households, activities, lines, tiers and gateways for the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aqmlab.advise import choices
from aqmlab.households import activity, line, loading
from aqmlab.households.demand import WAYS, demand_of


def section(what: str) -> str:
    """The table `what` as Markdown, such as "lines" (see `_TABLES`)."""
    return _TABLES[what]()


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] * len(list(head)), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _households() -> str:
    rows = []
    for name in loading.builtin_names():
        home = loading.load(name)
        down, up = (f"{demand_of(home).total_mbit(way):.1f}" for way in WAYS)
        rows.append((f"`{name}`", home.title, f"{down}/{up}", home.source))
    return _table(("Name", "What it is", "Demand, Mbit/s", "Source"), rows)


def _activities() -> str:
    rows = []
    for key, one in activity.activities().items():
        needs = "/".join(
            "0" if rate is None else f"{rate.bps / 1e6:g}"
            for rate in (one.needs.down, one.needs.up)
        )
        kinds = ", ".join(dict.fromkeys(f"`{app.kind}`" for app in one.apps.values()))
        rows.append((f"`{key}`", ", ".join(one.words), one.category, needs, kinds, one.source))
    head = ("Name", "Words", "Category", "Mbit/s down/up", "Traffic", "Source")
    return _table(head, rows)


def _lines() -> str:
    rows = [
        (f"`{name}`", one.title, f"{one.overhead.bytes} B{', ATM' if one.overhead.atm else ''}",
         (one.fastest or "–").removesuffix(" Mbit/s"), one.queue.down, one.queue.up,
         one.device.linux, one.source)
        for name, one in line.lines().items()
    ]  # fmt: skip
    head = (
        "Name", "Line", "Framing", "Fastest, Mbit/s", "Queue down", "Queue up", "Device",
        "Source of the queue",
    )  # fmt: skip
    return _table(head, rows)


def _tiers() -> str:
    rows = [
        (f"`{name}`", one.title, ", ".join(text.removesuffix(" Mbit/s") for text in one.tiers))
        for name, one in choices.tier_lists().items()
    ]
    return _table(("Name", "Whose", "Mbit/s"), rows)


def _gateways() -> str:
    def told(way: choices.Managed | None) -> str:
        return "the line's FIFO" if way is None else f"`{way.qdisc.kind}` at the {way.at}"

    rows = [
        (f"`{name}`", one.title, told(one.up), told(one.down))
        for name, one in choices.gateways().items()
    ]
    return _table(("Name", "Gateway", "Up", "Down"), rows)


_TABLES: dict[str, Callable[[], str]] = {
    "households": _households,
    "activities": _activities,
    "lines": _lines,
    "tiers": _tiers,
    "gateways": _gateways,
}
