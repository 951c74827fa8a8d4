"""Records of agents that counted throughput in whole steps, brought to what is counted now.

These agents counted what arrived in the steps (`measure.step`) that begin while an application is
to run, over the time of those steps. Now it is what arrives from an application's start, which its
jitter delays, until its end (docs/results.md). Of an application that is to start where a step
begins, nothing arrives between the two starts, so the bytes are the same and only the time differs.
In the rest of the last step of a transfer that ends, its data's direction carries its last
acknowledgement, 52 bytes. The other direction carries a queue of acknowledgements then, so its rate
is not known.

A stored record stays as it is, so that the agent that made it can be seen to give it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aqmlab.engines.ns3.streams import Stream

_MEAN = "throughput_mean_mbit"


def as_now(spec: Mapping[str, Any], record: Mapping[str, Any]) -> Mapping[str, Any]:
    """`record` of the trial `spec` with throughput as it is counted now; itself if it has that."""
    tables = record["tables"]
    flows = tables["flows"]
    if not flows or "active_from_s" in flows:
        return record
    apps = {app["name"]: app for app in spec["apps"]}
    means = []
    for name, primary, mean in zip(flows["flow"], flows["primary"], flows[_MEAN], strict=True):
        took_s = _took_s(tables["apps"], name)
        longer = _counted_over_active(spec, apps[name], took_s)
        is_known = mean is not None and longer is not None and (primary or took_s is None)
        means.append(mean * longer if is_known else None)
    return {**record, "tables": {**tables, "flows": {**flows, _MEAN: means}}}


def _counted_over_active(
    spec: Mapping[str, Any], app: Mapping[str, Any], took_s: float | None
) -> float | None:
    """The time of the steps counted over the active time, if the same bytes are in both."""
    measure, end_s = spec["measure"], spec["duration_ns"] / 1e9
    is_cut = measure["from_ns"] or measure["to_ns"] is not None or app.get("stop_ns") is not None
    if is_cut or app["start_ns"] % measure["step_ns"] or "duration" in _of_bulk(app):
        return None
    late_ns = Stream(spec["seed"], f"start.{app['name']}").below(spec["start_jitter_ns"] + 1)
    told_s, starts_s = app["start_ns"] / 1e9, (app["start_ns"] + late_ns) / 1e9
    ends_s = end_s if took_s is None else min(starts_s + took_s, end_s)
    step_s = measure["step_ns"] / 1e9
    counted_s = min(math.ceil(ends_s / step_s) * step_s, end_s) - told_s
    return counted_s / (ends_s - starts_s) if ends_s > starts_s else None


def _of_bulk(app: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a bulk transfer, which alone ends by itself."""
    params: Mapping[str, Any] = app["app"]["params"] if app["app"]["kind"] == "bulk" else {}
    return params


def _took_s(apps: Mapping[str, Sequence[Any]], name: str) -> float | None:
    """How long a transfer took that ended."""
    rows = zip(apps.get("flow", ()), apps.get("metric", ()), apps.get("value", ()), strict=True)
    found = (value for flow, metric, value in rows if (flow, metric) == (name, "completion_time_s"))
    return next(found, None)
