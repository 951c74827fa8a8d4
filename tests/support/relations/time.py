"""Numbers depend neither on the length of a trial nor on its start time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from aqmlab.scenario.quantities import Duration

from .. import trials
from ..scenarios import Table
from ..trials import Row, Run
from . import same

QUIET_MS = 4_000
"""A time in which transfers of 20 kB end on most of the random paths."""
STILL_MS = 1_000
"""A time longer than any packet's delay, including jitter."""
SHIFT_MS = 2_304_000
"""A common multiple of the ticks of hosts (1, 4, 10 ms; Linux's timer wheel, 32, 256, 2048 ms) and
of the timers of disciplines (15, 16, 30, 500 ms). It is also a multiple of a slot of 802.11 (9 us).
"""
TIMERS = ("tupdate", "tick", "interval", "typical_rtt", "max_rtt")
"""Parameters that set the period of a clock. `dualpi2` computes its period from the two RTTs."""


def _ms(text: str) -> float:
    return Duration.parse(text).ns / 1e6


def longer(table: Table, rng: random.Random) -> Iterator[str] | None:
    """A trial that goes on after all traffic has ended has the same numbers.

    Averages over the whole trial are not compared.
    """
    length_ms = _ms(table["duration"])
    apps = {}
    for name, app in table["apps"].items():
        bounded = {key: value for key, value in app.items() if key not in ("stop", "count", "rtt")}
        apps[name] = bounded | {"stop": f"{2 * length_ms:.0f} ms"}
        if app["kind"] == "bulk":
            apps[name]["size"] = "20 kB"
    measure: Table = {"points": rng.choice([10, 1024]), "from": "0 s"}
    if rng.random() < 0.5:
        measure["to"] = f"{length_ms:.0f} ms"
    grid = {key: value for key, value in table["measure"].items() if key != "to"}
    short = {**table, "apps": apps, "measure": grid | measure}
    short["duration"] = f"{2 * length_ms + QUIET_MS:.0f} ms"
    long = {**short, "duration": f"{2 * length_ms + QUIET_MS + rng.randrange(1, 9_000):.0f} ms"}
    before = {**short, "duration": f"{2 * length_ms + QUIET_MS - STILL_MS:.0f} ms"}
    one, other, earlier = (trials.run_table(part) for part in (short, long, before))
    if not _sent(earlier) == _sent(one) == _sent(other):
        return None  # packets still wait, or are retransmitted
    return _after_the_end(one, other, same_interval="to" in measure)


def _sent(run: Run) -> tuple[int, list[float]]:
    """The number of packets of the trial, and the number that each link sent."""
    return run.result["packets"], [row["packets_out"] for row in run.tables["queues"]]


def _after_the_end(one: Run, other: Run, *, same_interval: bool) -> Iterator[str]:
    yield from same.digest(one, other)
    for name in ("flows", "conns", "queue_drops"):
        yield from same.table(one, other, name)
    over_time = set() if same_interval else {"throughput_mbit", "backlog_mean_packets"}
    yield from same.table(one, other, "queues", but={"utilisation", *over_time})


def later(table: Table, _: random.Random) -> Iterator[str] | None:
    """A trial that begins later, by whole periods of every clock, has the same numbers.

    Times and the utilisation of links are not compared, except that the times of connections are
    later by the shift.
    """
    plain = _without_own_clocks(table)
    if plain is None:
        return None
    one, other = (trials.run_table(_shifted(plain, shift)) for shift in (SHIFT_MS, 2 * SHIFT_MS))
    return _moved(one, other)


def _without_own_clocks(table: Table) -> Table | None:
    """The scenario with default periods of all clocks.

    `None` for BBR, whose random values depend on time, for `perturb`, and for dummynet.
    """
    text = str(table)
    if "bbr" in text or "perturb" in text or "dummynet" in text:
        return None

    def plain(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        timers = (*TIMERS, "target") if part.get("kind") == "dualpi2_rfc" else TIMERS
        return {key: plain(value) for key, value in part.items() if key not in timers}

    hosts = {side: _plain_host(host) for side, host in table["hosts"].items()}
    apps = {
        name: app | ({"tcp": _plain_host(app["tcp"])} if "tcp" in app else {})
        for name, app in table["apps"].items()
    }
    return {**table, "path": plain(table["path"]), "hosts": hosts, "apps": apps}


def _plain_host(host: Table) -> Table:
    plain = {key: value for key, value in host.items() if key in ("profile", "mtu", "ecn")}
    return plain | ({"cc": host["cc"]["kind"]} if "cc" in host else {})


def _shifted(table: Table, shift_ms: float) -> Table:
    apps = {name: _later(app, shift_ms) for name, app in table["apps"].items()}
    length_ms = _ms(table["duration"]) + shift_ms
    measure = {"from": f"{shift_ms:.0f} ms", "series": False, "step": "100 ms", "window": "1 s"}
    return {**table, "apps": apps, "measure": measure, "duration": f"{length_ms:.0f} ms"}


def _later(app: Table, shift_ms: float) -> Table:
    moved = {**app, "start": f"{_ms(app.get('start', '0 s')) + shift_ms:.0f} ms"}
    if "stop" in app:
        moved["stop"] = f"{_ms(app['stop']) + shift_ms:.0f} ms"
    return moved


def _moved(one: Run, other: Run) -> Iterator[str]:
    active = {"active_from_s", "active_to_s"}
    for name in ("flows", "apps", "queue_drops", "summary"):
        yield from same.table(one, other, name, but={"events", *active})
    yield from same.table(one, other, "queues", but={"utilisation"})
    times = {"opened_s", "established_s", "closed_s"}
    yield from same.table(one, other, "conns", but=times)
    yield from _times_moved(one.tables["conns"], other.tables["conns"], times)


def _times_moved(first: list[Row], second: list[Row], names: set[str]) -> Iterator[str]:
    for one, other in zip(first, second, strict=False):
        for name in names:
            moved = other[name] - one[name]
            if moved == moved and abs(moved - SHIFT_MS / 1e3) > 1e-9:
                yield f"conns {one['flow']}: {name} moved by {moved} s"
