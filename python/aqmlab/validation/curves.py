"""Computes curves of the congestion window, their peaks, and decimated series."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aqmlab.engines.engine import Tables
from aqmlab.engines.trial_spec import AppSpec, TrialSpec
from aqmlab.validation.exchangeable import in_order_by

SEGMENT_BYTES = 1_448

_SERIES_S = 0.5


def sample_s(spec: TrialSpec) -> float:
    """The interval between samples of the congestion window, in seconds."""
    return spec.measure.sample_ns / 1e9


def curves_of(spec: TrialSpec, tables: Tables) -> Iterator[tuple[str, list[float]]]:
    """Yields the congestion window of each bulk transfer without a size, at every sample.

    It is the window of the sender's first connection. In a gap, the last value before the gap is
    repeated.
    """
    step_s = sample_s(spec)
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
    """The number of times that a curve falls by more than 10 % from its latest peak.

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


def decimated(curve: Sequence[float], spec: TrialSpec) -> list[int]:
    """The windows of `curve` half a second apart, in whole bytes."""
    step = max(1, round(_SERIES_S / sample_s(spec)))
    return [int(value) for value in curve[step - 1 :: step]]


def series(
    spec: TrialSpec,
    table: Mapping[str, Sequence[Any]],
    column: str,
    alike: Mapping[str, str],
) -> dict[str, list[list[float]]]:
    """For each flow's data direction, the first point (time and value) of each second."""
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
    """The directions of an application that drawings show."""
    kind = app.app.kind
    if kind in ("bulk", "cbr"):
        default = "down" if kind == "bulk" else "up"
        return (str(app.app.params.get("direction", default)),)
    return ("up",) if kind in ("iot_low", "iot_high", "mqtt", "ping") else ("down",)
