"""Common random numbers: two trials that differ in one aspect draw the same values elsewhere."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .. import scenarios, trials
from ..scenarios import Table
from ..trials import Row, Run
from . import same

BOTH_WAYS = frozenset(("cbr", "video_call", "voip", "voip_g729"))
ONE_WAY = frozenset(("irtt", "ping"))
"""Applications whose sending depends only on their own clocks and random streams.

This is true of both directions for `BOTH_WAYS`, and of requests only for `ONE_WAY`. A game is in
neither, because its server starts when a client's packet arrives and uses the same stream.
"""


def another_discipline(table: Table, rng: random.Random) -> Iterator[str] | None:
    """Under another discipline, the sources stay the same (`_same_sources`).

    The relation does not apply to a program of the gateway that changes the rate of CAKE.
    """
    if "cake_autorate" in table["apps"]:
        return None
    kind = scenarios.Drawing(rng).kind("disciplines")
    way = rng.choice(["up", "down"])
    link = {**table["path"][way], "qdisc": kind}
    if link.get("shaper") == "cake" and kind["kind"] != "cake":
        del link["shaper"]  # no other discipline has this shaper
    changed = {**table["path"], way: link}
    other = {**table, "path": changed}
    return _same_sources(trials.run_table(table), trials.run_table(other))


def another_order(table: Table, rng: random.Random) -> Iterator[str] | None:
    """If applications are listed in another order, the sources stay the same (`_same_sources`)."""
    names = list(table["apps"])
    if len(names) == 1:
        return None
    rng.shuffle(names)
    other = {**table, "apps": {name: table["apps"][name] for name in names}}
    return _same_sources(trials.run_table(table), trials.run_table(other))


def _same_sources(one: Run, other: Run) -> Iterator[str]:
    """First connections open at the same times, and sources without feedback send as much."""
    for name, about in one.apps.items():
        kind = about["app"]["kind"]
        ways = ("up", "down") if kind in BOTH_WAYS else ("up",) if kind in ONE_WAY else ()
        for way in ways:
            sent = [_sent(run, name, way) for run in (one, other)]
            if sent[0] != sent[1]:
                yield f"{name} sends {sent[0]} and {sent[1]} packets and bytes {way}"
        opened = [_opened(run, name) for run in (one, other)]
        if opened[0] != opened[1]:
            yield f"{name} opens its first connection at {opened[0]} and {opened[1]} s"


def _sent(run: Run, app: str, way: str) -> tuple[int, int]:
    row = run.flow(app, way)
    return (row["packets_sent"], row["bytes_sent"]) if row else (0, 0)


def _opened(run: Run, app: str) -> float | None:
    conns: list[Row] = [row for row in run.tables["conns"] if row["flow"] == app]
    # Later connections, and the first connection of a page, wait for responses.
    if not conns or run.apps[app]["app"]["kind"] == "web":
        return None
    return float(conns[0]["opened_s"])


def one_that_never_starts(table: Table, rng: random.Random) -> Iterator[str]:
    """An application that starts after the trial's end changes nothing for other applications."""
    late = scenarios.Drawing(rng).app() | {"start": "1 h", "kind": "ping"}
    ping = {key: value for key, value in late.items() if key in ("kind", "start", "rtt")}
    other = {**table, "apps": {**table["apps"], "late": ping}}
    one, with_late = trials.run_table(table), trials.run_table(other)
    yield from same.digest(one, with_late)
    for name, rows in with_late.tables.items():
        of_others = [row for row in rows if row.get("flow") != "late"]
        yield from same.rows(one.tables[name], of_others, name)


def among_other_seeds(table: Table, rng: random.Random) -> Iterator[str]:
    """A seed gives the same trial in any list of seeds."""
    seed, _ = table["seeds"]
    others = [*sorted(rng.sample(range(20_000, 30_000), 2)), seed]
    rng.shuffle(others)
    among = {spec["seed"]: spec for spec in scenarios.specs({**table, "seeds": others})}
    if set(among) != set(others):
        yield f"seeds {others} are trials of {sorted(among)}"
    elif among[seed] != scenarios.specs(table)[0]:
        yield f"seed {seed} is another trial among {others}"
