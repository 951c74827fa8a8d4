"""Conversion of records from agents that counted throughput in whole steps.

These agents counted arrivals in the steps (`measure.step`) that begin while an application is
scheduled to run. They divided the bytes of the arrivals by the time of these steps. Throughput is
now counted from an application's actual start, which includes its jitter, until its end
(docs/reference/results.md). If the scheduled start is at the beginning of a step, nothing arrives
between the two starts. The bytes are then equal, and only the time differs.

A transfer that ends sends its last acknowledgement of 52 bytes in the direction of its data, during
the rest of the last step. The other direction may then carry a backlog of acknowledgements, so the
rate of the other direction is not known.

Stored records do not change, so a run of the old agent can still be compared with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aqmlab.engines.ns3.streams import Stream
from aqmlab.engines.trial_spec import AppSpec, Argument, TrialSpec
from aqmlab.validation.trial_record import Columns, Scalar, TrialRecord

_MEAN = "throughput_mean_mbit"


def as_now(spec: TrialSpec, record: TrialRecord) -> TrialRecord:
    """Converts `record` of the trial `spec` to the present definition of throughput, if needed."""
    tables = record["tables"]
    flows = tables["flows"]
    if not flows or "active_from_s" in flows:
        return record
    apps = spec.apps_by_name()
    means: list[Scalar] = []
    for name, primary, mean in zip(flows["flow"], flows["primary"], flows[_MEAN], strict=True):
        took_s = _took_s(tables["apps"], str(name))
        longer = _counted_over_active(spec, apps[str(name)], took_s)
        if mean is None or longer is None or not (primary or took_s is None):
            means.append(None)
        else:
            means.append(float(mean) * longer)
    return {**record, "tables": {**tables, "flows": {**flows, _MEAN: means}}}


def _counted_over_active(spec: TrialSpec, app: AppSpec, took_s: float | None) -> float | None:
    """The ratio of counted step time to active time, if both contain the same bytes."""
    measure, end_s = spec.measure, spec.duration_s
    is_cut = measure.from_ns or measure.to_ns is not None or app.stop_ns is not None
    if is_cut or app.start_ns % measure.step_ns or "duration" in _of_bulk(app):
        return None
    late_ns = Stream(spec.seed, f"start.{app.name}").below(spec.start_jitter_ns + 1)
    told_s, starts_s = app.start_ns / 1e9, (app.start_ns + late_ns) / 1e9
    ends_s = end_s if took_s is None else min(starts_s + took_s, end_s)
    step_s = measure.step_ns / 1e9
    counted_s = min(math.ceil(ends_s / step_s) * step_s, end_s) - told_s
    return counted_s / (ends_s - starts_s) if ends_s > starts_s else None


def _of_bulk(app: AppSpec) -> Mapping[str, Argument]:
    """The parameters of a bulk transfer, the only application that ends by itself; else empty."""
    return app.app.params if app.app.kind == "bulk" else {}


def _took_s(apps: Columns, name: str) -> float | None:
    """The duration of a transfer in seconds, if it ended."""
    rows = zip(apps.get("flow", ()), apps.get("metric", ()), apps.get("value", ()), strict=True)
    for flow, metric, value in rows:
        if (flow, metric) == (name, "completion_time_s"):
            return None if value is None else float(value)
    return None
