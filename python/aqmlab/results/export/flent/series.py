"""The series of a Flent file, from the tables of a trial.

A series has samples (`raw_values`) and their values on the common grid (`results`). Flent plots
lines, distributions and boxes from the samples. Throughput counts IP packets in the trial's
windows, while netperf counts payload. The round trips of a ping are its own measurements. The round
trips of any other flow come from synthetic packet pairs, one median per step of the trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aqmlab.results.export.flent.form import Sample
from aqmlab.results.export.flent.tests import GENERIC, Cast, Test
from aqmlab.results.export.rows import AppSeriesRow, QueueSeriesRow
from aqmlab.results.export.trials import TrialRows

TABLES = ("flows", "windows", "rtt", "app_series", "tcp_series", "queue_series")
"""The tables that the series need."""

Pair = tuple[float, float]


@dataclass(slots=True)
class FlentSeries:
    """A series of a Flent file: its units, its samples, and its values for the common grid."""

    units: str
    raw: list[Sample] = field(default_factory=list)
    """The samples: the time `t` in seconds from the start, and values by Flent's names."""
    line: list[Pair] | None = None
    """Times and values for the grid; if absent, the times and values of `raw`."""
    mean: float | None = None
    """The mean that the measuring tool would print."""

    def samples(self) -> list[Pair]:
        """Times and values for the grid."""
        if self.line is not None:
            return self.line
        return [(one["t"], one["val"]) for one in self.raw if one.get("val") is not None]

    def mean_value(self) -> float | None:
        """The stated mean, or otherwise the mean of the samples; `None` without samples."""
        values = [value for _, value in self.samples()]
        if self.mean is not None or not values:
            return self.mean
        return math.fsum(values) / len(values)


def of_test(trial: TrialRows, test: Test, cast: Cast) -> dict[str, FlentSeries]:
    """The series of a trial, by the names that `test` gives them."""
    named = _generic(trial, cast) if test is GENERIC else _stock(trial, test, cast)
    return {**named, **_pages(trial, cast), **_film(trial, cast), **_queues(trial)}


def _stock(trial: TrialRows, test: Test, cast: Cast) -> dict[str, FlentSeries]:
    flows = [
        (getattr(test, way).name(index), throughput(trial, app, way))
        for way in ("up", "down")
        for index, app in enumerate(getattr(cast, way))
    ]
    probes = [
        (getattr(test, part).name(index), round_trips(trial, app, "up"))
        for part in ("icmp", "udp")
        for index, app in enumerate(getattr(cast, part))
    ]
    return dict([*flows, *probes])


def labels(trial: TrialRows) -> list[str]:
    """The application names in the generic test's series, in the scenario's order."""
    return [app.name for app in trial.spec.apps]


def _generic(trial: TrialRows, cast: Cast) -> dict[str, FlentSeries]:
    """Throughputs and round-trip times by application; probes have round-trip times only."""
    probes = {*cast.icmp, *cast.udp}
    found: dict[str, FlentSeries] = {}
    for row in trial.of("flows", primary=True):
        app, way = row["flow"], row["direction"]
        name = "Ping (ms)::ICMP" if app in cast.icmp[:1] else f"Ping (ms)::UDP {app}"
        if app not in probes:
            found[f"TCP {way}load::{app}"] = throughput(trial, app, way)
        if name not in found:
            found[name] = round_trips(trial, app, way)
    return {name: series for name, series in found.items() if series.raw}


def throughput(trial: TrialRows, app: str, way: str) -> FlentSeries:
    """A flow's throughput, with the sender's TCP state if the flow has exactly one connection."""
    rows = trial.of("windows", flow=app, direction=way)
    flow = next(iter(trial.of("flows", flow=app, direction=way)), None)
    mean = None if flow is None else flow["throughput_mean_mbit"]
    raw = [{"t": row["t_s"], "val": row["throughput_mbit"]} for row in rows]
    line = [(one["t"], one["val"]) for one in raw]
    return FlentSeries("Mbits/s", [*raw, *_socket(trial, app, way)], line, mean)


def _socket(trial: TrialRows, app: str, way: str) -> Iterator[Sample]:
    """Yields the sender's state in the form of `ss`, if `app` has exactly one connection."""
    rows = trial.of("tcp_series", flow=app, side="home" if way == "up" else "wan")
    if len({row["conn"] for row in rows}) != 1:
        return
    segment = _segment_bytes(trial, app)
    for row in rows:
        yield {
            "t": row["t_s"],
            "tcp_cwnd": round(row["cwnd_bytes"] / segment, 3),
            **({} if row["srtt_ms"] is None else {"tcp_rtt": row["srtt_ms"]}),
        }


def _segment_bytes(trial: TrialRows, app: str) -> int:
    """The payload of a full segment: the MTU less 40 bytes of headers and 12 of timestamps."""
    ends = trial.spec.apps_by_name()[app]
    return min(ends.home.mtu, ends.wan.mtu) - 52


def round_trips(trial: TrialRows, app: str, way: str) -> FlentSeries:
    """The round trips that a probe measured; for another flow, the round trips of packet pairs."""
    own = trial.of("app_series", flow=app, metric="rtt_ms")
    if own:
        return FlentSeries("ms", [{"t": row["t_s"], "val": row["value"]} for row in own])
    rows = trial.of("rtt", flow=app, direction=way)
    return FlentSeries(
        "ms",
        [
            {
                "t": row["t_s"],
                "val": row["rtt_p50_ms"],
                "min": row["rtt_min_ms"],
                "mean": row["rtt_mean_ms"],
                "max": row["rtt_max_ms"],
                "n": row["n"],
            }
            for row in rows
        ],
    )


def _pages(trial: TrialRows, cast: Cast) -> dict[str, FlentSeries]:
    """The load times of pages, in the form of `http-getter`."""
    names = (
        ["HTTP latency"]
        if len(cast.web) == 1
        else [f"HTTP latency::{number + 1}" for number in range(len(cast.web))]
    )
    return {
        name: FlentSeries("ms", _values(trial.of("app_series", flow=app, metric="page_load_ms")))
        for name, app in zip(names, cast.web, strict=True)
    }


def _values(rows: Iterable[AppSeriesRow]) -> list[Sample]:
    return [{"t": row["t_s"], "val": row["value"]} for row in rows]


def _film(trial: TrialRows, cast: Cast) -> dict[str, FlentSeries]:
    """The rates and the buffer of a video player; empty unless there is exactly one player.

    Flent's format has room for one player only.
    """
    if len(cast.dash) != 1:
        return {}
    scales = {"ar_mbit": ("val", 1), "rr_mbit": ("bitrate", 1), "buffer_s": ("buflen", 1000)}
    raw = [
        {"t": row["t_s"], scales[row["metric"]][0]: row["value"] * scales[row["metric"]][1]}
        for row in trial.of("app_series", flow=cast.dash[0])
        if row["metric"] in scales
    ]
    return (
        {"Dash": FlentSeries("Mbits/s", sorted(raw, key=lambda one: float(one["t"])))}
        if raw
        else {}
    )


def _queues(trial: TrialRows) -> dict[str, FlentSeries]:
    """Backlogs, and drops and marks since the previous sample, in the form of `tc`."""
    rows = trial.of("queue_series")
    return {
        f"qdisc_stats_{link}": FlentSeries(
            "misc", list(_queue([r for r in rows if r["link"] == link]))
        )
        for link in dict.fromkeys(row["link"] for row in rows)
    }


def _queue(rows: Iterable[QueueSeriesRow]) -> Iterator[Sample]:
    drops = marks = 0
    for row in rows:
        marked = row["marks"] or 0  # the table may lack this column
        yield {
            "t": row["t_s"],
            "backlog_bytes": row["backlog_bytes"],
            "backlog_pkts": row["backlog_packets"],
            "dropped": row["drops"] - drops,
            "ecn_mark": marked - marks,
        }
        drops, marks = row["drops"], marked
