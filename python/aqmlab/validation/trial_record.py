"""The record of one trial, and its metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from aqmlab.engines.engine import Outcome, Tables
from aqmlab.engines.trial_spec import AppSpec, TrialSpec
from aqmlab.validation.curves import SEGMENT_BYTES, curves_of, decimated, peaks, sample_s, series
from aqmlab.validation.exchangeable import alike_of, in_order, in_order_by

Scalar = bool | int | float | str | None
"""A value of a table in JSON's types."""

Columns = Mapping[str, Sequence[Scalar]]
Row = Mapping[str, Scalar]
RecordedTables = Mapping[str, Columns]
Items = dict[str, dict[str, float | None]]
"""The values of metrics, by metric and item."""


class WindowNumbers(TypedDict):
    """The mean of a congestion window over time, and its peaks per second."""

    mean_segments: float
    peaks_per_s: float


class RecordedSeries(TypedDict):
    """Decimated series by item: values half a second apart, or times and values."""

    cwnd_bytes: dict[str, list[int]]
    throughput_mbit: dict[str, list[list[float]]]
    rtt_ms: dict[str, list[list[float]]]


class TrialRecord(TypedDict):
    """The record of one trial: JSON of exact numbers, `None` for no value."""

    tables: RecordedTables
    windows: Mapping[str, WindowNumbers]
    series: RecordedSeries


_TIMES = {
    "completion": ("completion_p50_ms", "page_load_p50_ms", "delivery_p50_ms", "puback_p50_ms",
                   "rtt_p50_ms"),
    "completion_max": ("completion_max_ms", "page_load_max_ms", "delivery_max_ms",
                       "puback_max_ms", "rtt_max_ms"),
}  # fmt: skip
"""The applications' own measurements that give each metric of transfer times."""

_KEPT = ("flows", "queues", "apps")
"""The tables that a record keeps completely, so that metrics can be recomputed."""


def record(spec: TrialSpec, outcome: Outcome) -> TrialRecord:
    """The record of one trial, from the result of an engine."""
    tables: Tables = outcome["tables"]
    alike = alike_of(spec)
    curves = in_order_by(
        dict(curves_of(spec, tables)), alike, lambda curve: sum(curve) / len(curve)
    )
    return {
        "tables": {name: _plain_table(tables[name]) for name in _KEPT},
        "windows": {
            item: {
                "mean_segments": sum(curve) / len(curve) / SEGMENT_BYTES,
                "peaks_per_s": peaks(curve) / (len(curve) * sample_s(spec)),
            }
            for item, curve in curves.items()
        },
        "series": {
            "cwnd_bytes": {item: decimated(curve, spec) for item, curve in curves.items()},
            "throughput_mbit": series(spec, tables["windows"], "throughput_mbit", alike),
            "rtt_ms": series(spec, tables["rtt"], "rtt_p50_ms", alike),
        },
    }


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of one trial, by metric and item, and the number of packets of each item."""

    values: dict[str, dict[str, float | None]]
    packets: dict[str, float]


def measure(spec: TrialSpec, kept: TrialRecord) -> Measured:
    """The metrics of a trial from its record."""
    tables = kept["tables"]
    found: Items = defaultdict(dict)
    packets: dict[str, float | None] = {}
    for row in rows(tables["flows"]):
        _flow(row, tables, found, packets)
    for row in rows(tables["queues"]):
        _queue(row, found, packets)
    for app in spec.apps:
        _own(app.name, app, tables, found)
    alike = alike_of(spec)
    values = {name: in_order(items, alike) for name, items in sorted(found.items())}
    for item, window in kept["windows"].items():  # These items are already named by rank.
        values.setdefault("cwnd_mean", {})[item] = window["mean_segments"]
        values.setdefault("cwnd_peaks", {})[item] = window["peaks_per_s"]
    counted = in_order(packets, alike)
    return Measured(values, {item: float(value or 0) for item, value in counted.items()})


def _plain_table(table: Mapping[str, Sequence[Any]]) -> dict[str, list[Scalar]]:
    return {name: [_plain(value) for value in values] for name, values in sorted(table.items())}


def _plain(value: Any) -> Scalar:
    """`value` in JSON's types; `None` for a number that is not finite."""
    plain = value.item() if hasattr(value, "item") else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def rows(table: Columns) -> Iterator[Row]:
    """Yields the rows of a table of columns."""
    names = list(table)
    for values in zip(*table.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def _number(value: Scalar) -> float | None:
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else None


def _exact(value: Scalar) -> float:
    """The number `value`; raises `ValueError` if it is absent."""
    if value is None:
        raise ValueError("a count is missing in a record")
    return float(value)


def _flow(row: Row, tables: RecordedTables, found: Items, packets: dict[str, float | None]) -> None:
    if not row["primary"]:
        return
    item = f"{row['flow']} {row['direction']}"
    sent = _exact(row["packets_sent"])
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


def _other(row: Row, tables: RecordedTables) -> float | None:
    """The rate of a flow's direction without data, if it is known.

    Transfers that end are not compared, because earlier agents do not record the bytes that arrived
    before the transfer's end (`earlier`).
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


def _queue(row: Row, found: Items, packets: dict[str, float | None]) -> None:
    item = str(row["link"])
    offered = _exact(row["packets_offered"])
    packets[item] = offered
    dropped = sum(_exact(row[name]) for name in row if name.startswith("drops_"))
    share = 100 / offered if offered else 0.0
    found["drops"][item] = dropped * share
    found["marks"][item] = _exact(row["marks"]) * share
    found["utilisation"][item] = _number(row["utilisation"])
    for quantile in ("p50", "p95", "p99"):
        found[f"sojourn_{quantile}"][item] = _number(row[f"sojourn_{quantile}_ms"])


def _own(name: str, app: AppSpec, tables: RecordedTables, found: Items) -> None:
    """Adds the application's own measurements."""
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
