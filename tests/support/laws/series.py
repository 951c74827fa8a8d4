"""Laws of time series."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from .. import bounds
from ..trials import Row, Run
from .flows import ROUNDING

Key = tuple[str, ...]


def _by(rows: Sequence[Row], *names: str) -> dict[Key, list[Row]]:
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def _width_and_step(rows: Sequence[Row]) -> tuple[float, float]:
    """The width and the step of windows in seconds. The first window begins with the trial."""
    width_s = 2 * rows[0]["t_s"]
    return width_s, rows[1]["t_s"] - rows[0]["t_s"] if len(rows) > 1 else width_s


def windows_add_up_to_the_bytes(run: Run) -> Iterator[str]:
    """Windows that do not overlap contain the bytes that arrived, except at the trial's end."""
    if not run.whole:
        return
    for (app, way), rows in _by(run.tables["windows"], "flow", "direction").items():
        flow = run.flow(app, way)
        if flow is None:
            yield f"{app} {way} has windows and no row in flows"
            continue
        width_s, step_s = _width_and_step(rows)
        apart = rows[:: max(1, round(width_s / step_s))]
        counted = sum(row["throughput_mbit"] for row in apart) * 1e6 * width_s / 8
        rest_s = run.duration_s - (apart[-1]["t_s"] + width_s / 2)
        if abs(rest_s) < 1e-9:
            if not math.isclose(counted, flow["bytes_received"], rel_tol=1e-9, abs_tol=1e-3):
                yield f"{app} {way}: windows hold {counted} B of {flow['bytes_received']} B"
        elif not (
            flow["bytes_received"] - bounds.arriving_ip_bits(run, app, way, rest_s) / 8 - 1e-3
            <= counted
            <= flow["bytes_received"] + 1e-3
        ):
            yield f"{app} {way}: windows hold {counted} B, {rest_s} s before the end"


def windows_are_within_the_line(run: Run) -> Iterator[str]:
    """No window holds more than the last link can carry in it."""
    for (app, way), rows in _by(run.tables["windows"], "flow", "direction").items():
        width_s, step_s = _width_and_step(rows)
        most = bounds.arriving_ip_bits(run, app, way, width_s) / width_s / 1e6
        for row in rows:
            if not 0 <= row["throughput_mbit"] <= most * (1 + ROUNDING):
                yield f"{app} {way}: {row['throughput_mbit']} Mbit/s at {row['t_s']} of {most}"
            ends_s = (row["t_s"] - width_s / 2, row["t_s"] + width_s / 2)
            most_bits = bounds.arriving_ip_bits_between(run, app, way, *ends_s)
            if row["throughput_mbit"] * 1e6 * width_s > most_bits * (1 + ROUNDING) + 1e-3:
                yield f"{app} {way}: {row['throughput_mbit']} Mbit/s, {most_bits} bits at {ends_s}"
        for one, other in itertools.pairwise(rows):
            if abs(other["t_s"] - one["t_s"] - step_s) > 1e-9:
                yield f"{app} {way}: windows at {one['t_s']} and {other['t_s']} s"


def round_trips_over_time_are_those_of_the_flow(run: Run) -> Iterator[str]:
    """The series of round trips has the number, the minimum and the maximum of the flow's row."""
    groups = _by(run.tables["rtt"], "flow", "direction")
    for (app, way), rows in groups.items():
        for row in rows:
            if not (
                row["n"] > 0
                and row["rtt_min_ms"] <= row["rtt_p50_ms"] <= row["rtt_max_ms"]
                and row["rtt_min_ms"] <= row["rtt_mean_ms"] <= row["rtt_max_ms"]
            ):
                yield f"{app} {way}: {row}"
    if not run.whole or not run.spec["measure"]["series"]:
        return
    for flow in run.tables["flows"]:
        rows = groups.get((flow["flow"], flow["direction"]), [])
        place = f"{flow['flow']} {flow['direction']}"
        if sum(row["n"] for row in rows) != flow["rtt_n"]:
            yield f"{place}: {sum(row['n'] for row in rows)} round trips of {flow['rtt_n']}"
        elif rows and (
            min(row["rtt_min_ms"] for row in rows) != flow["rtt_min_ms"]
            or max(row["rtt_max_ms"] for row in rows) != flow["rtt_max_ms"]
        ):
            yield f"{place}: the extremes over time are not those of the flow"


KEYS = {
    "windows": ("flow", "direction"),
    "rtt": ("flow", "direction"),
    "app_series": ("flow", "metric"),
    "queue_series": ("link",),
    "queue_gauges": ("link", "gauge"),
    "tcp_series": ("flow", "side", "conn"),
}


def times_rise_within_the_trial(run: Run) -> Iterator[str]:
    """The times of a series increase, and lie within the trial."""
    step_s = run.spec["measure"]["step_ns"] / 1e9
    for table, names in KEYS.items():
        for key, rows in _by(run.tables[table], *names).items():
            times = [row["t_s"] for row in rows]
            # Only the middle of the last bin of a series may be after the end.
            last_s = max(times[-1] - (times[0] if table == "rtt" else 0), times[0])
            if times[0] < 0 or (table != "rtt" and last_s > run.duration_s + 1e-9):
                yield f"{table} {key}: from {times[0]} to {times[-1]} s, step {step_s}"
            rises = all(
                one < other if table != "app_series" else one <= other
                for one, other in itertools.pairwise(times)
            )
            if not rises:
                yield f"{table} {key}: times do not rise"
    if not run.spec["measure"]["series"]:
        for table in KEYS:
            if run.tables[table]:
                yield f"{table} has rows though nothing is kept over time"
