"""Measurement changes no packet.

The grid of windows and steps changes only the numbers that are defined by windows or steps.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .. import trials
from ..laws.form import documented
from ..scenarios import Table
from ..trials import Run
from . import same

BY_WINDOW = {
    "throughput_p5_mbit",
    "throughput_p25_mbit",
    "throughput_p50_mbit",
    "throughput_p75_mbit",
    "throughput_p95_mbit",
    "throughput_nonempty_mean_mbit",
}
"""The columns that docs/reference/results.md defines by windows."""
WHOLE_TRIAL = ("apps", "conns", "queue_drops")
OF_INTERVAL = {"throughput_mbit", "backlog_mean_packets"} | {
    name for name in documented("queues") if name.startswith("sojourn")
}


def with_measure(table: Table, **changes: Any) -> Table:
    """The scenario with some keys of `measure` changed."""
    keys = {key.removesuffix("_"): value for key, value in changes.items()}
    return {**table, "measure": {**table["measure"], **keys}}


def pair(table: Table, **changes: Any) -> tuple[Run, Run]:
    """Runs the scenario, and the scenario with another measurement."""
    return trials.run_table(table), trials.run_table(with_measure(table, **changes))


def again(table: Table, _: random.Random) -> Iterator[str]:
    """A second run gives the same bytes."""
    yield from same.everything(trials.run_table(table), trials.run_table(table))


def other_steps(table: Table, rng: random.Random) -> Iterator[str]:
    """Steps and windows change only the columns defined by windows."""
    step_us = rng.randrange(1_000, 1_000_000)
    window = f"{step_us * rng.randrange(1, 8)} us"
    one, other = pair(table, step=f"{step_us} us", window=window)
    yield from same.digest(one, other)
    yield from same.table(one, other, "flows", but=BY_WINDOW)
    for name in ("queues", "tcp_series", "app_series", "summary", "queue_gauges", *WHOLE_TRIAL):
        yield from same.table(one, other, name)
    yield from same.table(one, other, "queue_series", but={"sojourn_max_ms"})


def other_points(table: Table, rng: random.Random) -> Iterator[str]:
    """The number of points changes only the series."""
    one, other = pair(table, points=rng.choice([1, 2, 7, 100, 5_000]))
    yield from same.digest(one, other)
    for name in ("flows", "queues", "summary", *WHOLE_TRIAL):
        yield from same.table(one, other, name, but={"events"})  # each sample counts as an event


def other_samples(table: Table, rng: random.Random) -> Iterator[str]:
    """The sampling interval changes samples only."""
    one, other = pair(table, sample=f"{rng.randrange(1, 3_000)} ms")
    yield from same.digest(one, other)
    for name in ("flows", "queues", "windows", "rtt", "app_series", *WHOLE_TRIAL):
        yield from same.table(one, other, name)


def without_series(table: Table, _: random.Random) -> Iterator[str]:
    """Without time series, the numbers over the whole interval are unchanged."""
    one, other = pair(table, series=False)
    yield from same.digest(one, other)
    for name in ("flows", "queues", *WHOLE_TRIAL):
        yield from same.table(one, other, name)


def with_packets(table: Table, _: random.Random) -> Iterator[str]:
    """A measurement that keeps every packet gives the same packets and tables."""
    yield from same.everything(*pair(table, packets=True))


def other_interval(table: Table, rng: random.Random) -> Iterator[str]:
    """The interval of the statistics does not change numbers of the whole trial."""
    length_ms = int(table["duration"].removesuffix(" ms"))
    from_ms = rng.randrange(length_ms)
    to = f"{rng.randrange(from_ms, length_ms) + 1} ms"
    one, other = pair(table, from_=f"{from_ms} ms", to=to)
    yield from same.digest(one, other)
    for name in ("app_series", "queue_series", "queue_gauges", "tcp_series", *WHOLE_TRIAL):
        yield from same.table(one, other, name)
    yield from same.table(one, other, "queues", but=OF_INTERVAL)


def unmeasured(table: Table, _: random.Random) -> Iterator[str]:
    """Without measurement, the packets are the same.

    The counters of the table `links` then equal those of the table `queues` with measurement.
    """
    one, other = pair(table, enabled=False)
    yield from same.digest(one, other)
    drops = (
        "drops_overlimit", "drops_sojourn", "drops_early", "drops_forced", "drops_filtered",
    )  # fmt: skip
    queues = [
        {
            "link": row["link"],
            "packets_out": row["packets_out"],
            "bytes_out": row["bytes_out"],
            "drops": sum(row[name] for name in drops),
            "marks": row["marks"],
        }
        for row in one.tables["queues"]
    ]
    yield from same.rows(queues, other.tables["links"], "links")
