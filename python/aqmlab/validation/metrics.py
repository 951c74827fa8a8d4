"""The compared metrics: numbers of one trial, from the tables of either engine.

A metric has items: a flow and its direction, or a link. Its resolution is the smallest meaningful
difference in one trial, such as one packet, one rounding step of a transfer, or the jitter of a
host. A difference within the resolution counts as zero. Each resolution follows from its cause, and
never from the results.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.engines.engine import Outcome
from aqmlab.engines.trial_spec import AppSpec, TrialSpec
from aqmlab.validation.exchangeable import alike_of, in_order, in_order_by

Tables = Mapping[str, Mapping[str, Sequence[Any]]]
Row = dict[str, Any]

PACKET_BYTES = 1_500
SEGMENT_BYTES = 1_448
DELAY_MS = 0.1
"""The jitter of a scenario's two hosts, 50 µs each."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The properties of a trial on which resolutions depend."""

    duration_s: float
    packets: float
    """The number of packets that is 100 % of the item's share."""
    rate_bps: float = math.nan

    @property
    def packet_mbit(self) -> float:
        """The rate of one full packet over the whole trial."""
        return PACKET_BYTES * 8 / self.duration_s / 1e6

    @property
    def packet_percent(self) -> float:
        """One packet as a percentage of those that the item counts."""
        return 100 / max(self.packets, 1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that both engines give for every trial."""

    name: str
    unit: str
    of: str
    """`flow` or `link`."""
    what: str
    finest: str
    """The resolution in words."""
    resolution: Callable[[Scale], float]
    counts: bool = False
    """Whether it counts rare events, so that its variance is proportional to its mean."""


def _packet_share(scale: Scale) -> float:
    return scale.packet_percent


def _delay(_: Scale) -> float:
    return DELAY_MS


def _fixed(value: float) -> Callable[[Scale], float]:
    return lambda _: value


def _rtt(name: str, of: str) -> Metric:
    return Metric(name, "ms", "flow", f"round-trip times: {of}", "0.1 ms", _delay)


_ONE = "one packet in the trial"
_HOST = "0.1 ms"

METRICS = (
    Metric(
        "throughput", "Mbit/s", "flow", "throughput of a flow that carries data", _ONE,
        lambda scale: scale.packet_mbit,
    ),
    _rtt("rtt_p5", "5th percentile"),
    _rtt("rtt_p50", "median"),
    _rtt("rtt_p95", "95th percentile"),
    _rtt("rtt_p99", "99th percentile"),
    Metric("loss", "%", "flow", "packets lost, of those sent", _ONE, _packet_share, True),
    Metric(
        "retransmissions", "%", "flow", "segments sent again, of the packets sent", _ONE,
        _packet_share, True,
    ),
    Metric(
        "reverse", "Mbit/s", "flow",
        "the other direction's rate: acknowledgements, requests; of flows without an end",
        _ONE, lambda scale: scale.packet_mbit,
    ),
    Metric("drops", "%", "link", "packets dropped by the queue, of those offered", _ONE,
           _packet_share, True),
    Metric("marks", "%", "link", "packets marked by the queue, of those offered", _ONE,
           _packet_share, True),
    Metric("utilisation", "share", "link", "time in which the link was sending", _ONE,
           lambda scale: scale.packet_mbit * 1e6 / scale.rate_bps),
    Metric("sojourn_p50", "ms", "link", "time in the queue: median", _HOST, _delay),
    Metric("sojourn_p95", "ms", "link", "time in the queue: 95th percentile", _HOST, _delay),
    Metric("sojourn_p99", "ms", "link", "time in the queue: 99th percentile", _HOST, _delay),
    Metric("completion", "ms", "flow", "a transfer, page or message: median time", _HOST, _delay),
    Metric("completion_max", "ms", "flow", "a transfer, page or message: longest time", _HOST,
           _delay),
    Metric("video_rate", "Mbit/s", "flow", "mean representation rate of video", "none",
           _fixed(0.0)),
    Metric("opinion", "MOS", "flow", "opinion score of a call", "0.01", _fixed(0.01)),
    Metric("cwnd_mean", "segments", "flow", "congestion window: mean over time", "one segment",
           _fixed(1.0)),
    Metric("cwnd_peaks", "1/s", "flow", "congestion window: peaks in a second",
           "one in the trial", lambda scale: 1 / scale.duration_s),
    Metric("cwnd_shape", "", "flow", "congestion window: distance between curves", "none",
           _fixed(0.0)),
)  # fmt: skip
"""Every metric. `cwnd_shape` is made from curves when trials are compared, not in a trial."""

BY_NAME = {metric.name: metric for metric in METRICS}

_TIMES = {
    "completion": ("completion_p50_ms", "page_load_p50_ms", "delivery_p50_ms", "puback_p50_ms",
                   "rtt_p50_ms"),
    "completion_max": ("completion_max_ms", "page_load_max_ms", "delivery_max_ms",
                       "puback_max_ms", "rtt_max_ms"),
}  # fmt: skip
"""The application metric that gives the time of its transfers."""

_SERIES_S = 0.5


_KEPT = ("flows", "queues", "apps")
"""The tables that a record keeps whole, so that metrics can be recomputed."""


def record(spec: TrialSpec, outcome: Outcome) -> dict[str, Any]:
    """The record of one trial: JSON of exact numbers, `None` for no value, and decimated series."""
    tables: Tables = outcome["tables"]
    alike = alike_of(spec)
    curves = in_order_by(dict(_curves(spec, tables)), alike, lambda curve: sum(curve) / len(curve))
    return {
        "tables": {name: _plain_table(tables[name]) for name in _KEPT},
        "windows": {
            item: {
                "mean_segments": sum(curve) / len(curve) / SEGMENT_BYTES,
                "peaks_per_s": peaks(curve) / (len(curve) * _sample_s(spec)),
            }
            for item, curve in curves.items()
        },
        "series": {
            "cwnd_bytes": {item: _decimated(curve, spec) for item, curve in curves.items()},
            "throughput_mbit": _series(spec, tables["windows"], "throughput_mbit", alike),
            "rtt_ms": _series(spec, tables["rtt"], "rtt_p50_ms", alike),
        },
    }


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of one trial, by metric and item, and the number of packets of each item."""

    values: dict[str, dict[str, float | None]]
    packets: dict[str, float]


def measure(spec: TrialSpec, kept: Mapping[str, Any]) -> Measured:
    """The metrics of a trial from its record."""
    tables: Tables = kept["tables"]
    found: dict[str, dict[str, float | None]] = defaultdict(dict)
    packets: dict[str, float | None] = {}
    for row in rows(tables["flows"]):
        _flow(row, tables, found, packets)
    for row in rows(tables["queues"]):
        _queue(row, found, packets)
    for app in spec.apps:
        _own(app.name, app, tables, found)
    alike = alike_of(spec)
    values = {name: in_order(items, alike) for name, items in sorted(found.items())}
    for item, window in kept["windows"].items():  # The windows are already in order.
        values.setdefault("cwnd_mean", {})[item] = window["mean_segments"]
        values.setdefault("cwnd_peaks", {})[item] = window["peaks_per_s"]
    counted = in_order(packets, alike)
    return Measured(values, {item: float(value or 0) for item, value in counted.items()})


def _plain_table(table: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [_plain(value) for value in values] for name, values in sorted(table.items())}


def _plain(value: Any) -> Any:
    """`value` without NumPy's types."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def rows(table: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """The rows of a table of columns."""
    names = list(table)
    for values in zip(*table.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def _number(value: Any) -> float | None:
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else None


def _flow(
    row: Row, tables: Tables, found: dict[str, Any], packets: dict[str, float | None]
) -> None:
    if not row["primary"]:
        return
    item = f"{row['flow']} {row['direction']}"
    sent = float(row["packets_sent"])
    packets[item] = sent
    found["throughput"][item] = _number(row["throughput_mean_mbit"])
    for quantile in ("p5", "p50", "p95", "p99"):
        found[f"rtt_{quantile}"][item] = _number(row[f"rtt_{quantile}_ms"])
    found["loss"][item] = _number(row["loss_percent"])
    again = _number(row["retransmissions"])
    if again is not None:
        found["retransmissions"][item] = 100 * again / sent if sent else 0.0
    other = _other(row, tables)
    if other is not None:
        found["reverse"][item] = other


def _other(row: Row, tables: Tables) -> float | None:
    """The rate of a flow's direction that carries no data.

    Transfers that end are not compared: earlier agents do not record the bytes that arrived before
    the transfer's end (`earlier`).
    """
    if any(
        one["flow"] == row["flow"] and one["metric"] == "completion_time_s"
        for one in rows(tables["apps"])
    ):
        return None
    for one in rows(tables["flows"]):
        if one["flow"] == row["flow"] and not one["primary"]:
            return _number(one["throughput_mean_mbit"])
    return None


def _queue(row: Row, found: dict[str, Any], packets: dict[str, float | None]) -> None:
    item = str(row["link"])
    offered = float(row["packets_offered"])
    packets[item] = offered
    dropped = sum(float(row[name]) for name in row if name.startswith("drops_"))
    share = 100 / offered if offered else 0.0
    found["drops"][item] = dropped * share
    found["marks"][item] = float(row["marks"]) * share
    found["utilisation"][item] = _number(row["utilisation"])
    for quantile in ("p50", "p95", "p99"):
        found[f"sojourn_{quantile}"][item] = _number(row[f"sojourn_{quantile}_ms"])


def _own(name: str, app: AppSpec, tables: Tables, found: dict[str, Any]) -> None:
    """Adds the measurements of an application itself."""
    said = {row["metric"]: row["value"] for row in rows(tables["apps"]) if row["flow"] == name}
    for metric, names in _TIMES.items():
        for own in names:
            if own in said:
                found[metric][name] = _number(said[own])
                break
    if "completion_time_s" in said:
        value = _number(said["completion_time_s"])
        found["completion"][name] = None if value is None else 1e3 * value
    if app.app.kind == "dash" and "rr_mean_mbit" in said:
        found["video_rate"][name] = _number(said["rr_mean_mbit"])
    for way in ("up", "down"):
        if f"mos_{way}" in said:
            found["opinion"][f"{name} {way}"] = _number(said[f"mos_{way}"])


# --- Over time ---------------------------------------------------------------------------------


def _sample_s(spec: TrialSpec) -> float:
    return spec.measure.sample_ns / 1e9


def _curves(spec: TrialSpec, tables: Tables) -> Iterator[tuple[str, list[float]]]:
    """The congestion window of each bulk transfer by item, at every sample; gaps repeat values."""
    step_s = _sample_s(spec)
    table = tables["tcp_series"]  # The table has no columns if no TCP ran.
    columns = [table.get(name, ()) for name in ("flow", "side", "conn", "t_s", "cwnd_bytes")]
    points: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for flow, side, conn, t_s, cwnd in zip(*columns, strict=True):
        if conn == 0:
            points[flow, side][int(float(t_s) / step_s + 0.5)] = float(cwnd)
    for app in spec.apps:
        if app.app.kind != "bulk" or app.app.params.get("size"):
            continue
        way = app.app.params.get("direction", "down")
        sampled = points.get((app.name, "home" if way == "up" else "wan"))
        if sampled:
            yield f"{app.name} {way}", _filled(sampled)


def _filled(sampled: Mapping[int, float]) -> list[float]:
    first, last = min(sampled), max(sampled)
    curve, value = [], sampled[first]
    for place in range(first, last + 1):
        value = sampled.get(place, value)
        curve.append(value)
    return curve


def peaks(curve: Sequence[float]) -> int:
    """The number of falls of a curve by more than a tenth from its latest peak.

    >>> peaks([10, 20, 14, 15, 30, 30, 21, 20, 19]), peaks([5, 6, 7])
    (2, 0)
    """
    found, rising, extreme = 0, True, curve[0]
    for value in curve:
        if rising and value < 0.9 * extreme:
            found, rising, extreme = found + 1, False, value
        elif not rising and value > 1.1 * extreme:
            rising, extreme = True, value
        else:
            extreme = max(extreme, value) if rising else min(extreme, value)
    return found


def _decimated(curve: Sequence[float], spec: TrialSpec) -> list[int]:
    """Values half a second apart; windows are whole bytes."""
    step = max(1, round(_SERIES_S / _sample_s(spec)))
    return [int(value) for value in curve[step - 1 :: step]]


def _series(
    spec: TrialSpec,
    table: Mapping[str, Sequence[Any]],
    column: str,
    alike: Mapping[str, str],
) -> dict[str, list[list[float]]]:
    """One point per second of each flow's data direction: time and value."""
    kept: dict[str, dict[int, list[float]]] = defaultdict(dict)
    carried = {app.name: _carries(app) for app in spec.apps}
    for flow, way, t_s, value in zip(
        table["flow"], table["direction"], table["t_s"], table[column], strict=True
    ):
        if way in carried.get(flow, ()) and math.isfinite(float(value)):
            kept[f"{flow} {way}"].setdefault(int(float(t_s)), [float(t_s), float(value)])
    found = {item: list(points.values()) for item, points in kept.items()}
    return in_order_by(found, alike, lambda points: sum(value for _, value in points))


def _carries(app: AppSpec) -> tuple[str, ...]:
    """The direction that a drawing of an application shows."""
    kind = app.app.kind
    if kind in ("bulk", "cbr"):
        default = "down" if kind == "bulk" else "up"
        return (str(app.app.params.get("direction", default)),)
    return ("up",) if kind in ("iot_low", "iot_high", "mqtt", "ping") else ("down",)
