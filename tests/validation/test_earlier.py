"""Records of agents that counted throughput in whole steps."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from aqmlab import _core
from aqmlab.engines.trial_spec import AppSpec, TrialSpec
from aqmlab.validation import earlier, trial_record
from msgspec.structs import replace

from .support import small

MEAN = "throughput_mean_mbit"


def _run(name: str, seed: int, params: dict[str, Any]) -> tuple[TrialSpec, dict[str, Any]]:
    spec = small().select([name])[0].spec.with_seed(seed)
    spec = replace(spec, apps=tuple(_with(app, params) for app in spec.apps))
    return spec, trial_record.record(spec, _core.run(spec.text()))


def _with(app: AppSpec, params: dict[str, Any]) -> AppSpec:
    """A bulk transfer with additional parameters; any other application is unchanged."""
    if app.app.kind != "bulk":
        return app
    return replace(app, app=replace(app.app, params=app.app.params | params))


def _in_steps(spec: TrialSpec, record: dict[str, Any]) -> dict[str, Any]:
    """The record in the form of agents that counted whole steps.

    Each of `windows` is as wide as a step.
    """
    measure = replace(spec.measure, window_ns=spec.measure.step_ns)
    windows = _core.run(replace(spec, measure=measure).text())["tables"]["windows"]
    made = copy.deepcopy(record)
    flows, step_s = made["tables"]["flows"], spec.measure.step_ns / 1e9
    ends_s = flows.pop("active_to_s")
    del flows["active_from_s"]
    for row, (name, way) in enumerate(zip(flows["flow"], flows["direction"], strict=True)):
        keys = zip(windows["flow"], windows["direction"], windows["throughput_mbit"], strict=True)
        rates = [mbit for flow, direction, mbit in keys if (flow, direction) == (name, way)]
        counted = math.ceil(ends_s[row] / step_s)
        flows[MEAN][row] = sum(rates[:counted]) / counted
    return made


@pytest.mark.parametrize("params", [{}, {"size": 300_000}])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_counted_in_steps_becomes_what_is_counted_now(
    seed: int, params: dict[str, Any]
) -> None:
    spec, now = _run("both.*", seed, params)
    made = earlier.as_now(spec, _in_steps(spec, now))
    flows = made["tables"]["flows"]
    last_ack_mbit = 8 * 52 / 1e6
    for row, want in enumerate(now["tables"]["flows"][MEAN]):
        active = [now["tables"]["flows"][f"active_{end}_s"][row] for end in ("from", "to")]
        is_known = flows["primary"][row] or active[1] == spec.duration_s
        if is_known:
            slack = 1.001 * last_ack_mbit / (active[1] - active[0])
            assert flows[MEAN][row] == pytest.approx(want, abs=slack, rel=1e-9)
        else:
            assert flows[MEAN][row] is None


def test_a_record_of_now_stays_as_it_is() -> None:
    spec, now = _run("alone.codel", 1, {})
    assert earlier.as_now(spec, now) is now


@pytest.mark.parametrize(
    "change", [{"start_ns": 1}, {"stop_ns": 10**9}, {"duration": 10**9}], ids=str
)
def test_what_cannot_be_known_is_absent(change: dict[str, int]) -> None:
    spec, now = _run("alone.codel", 1, {})
    old = _in_steps(spec, now)
    (app,) = spec.apps
    changed = _with(app, change) if "duration" in change else replace(app, **change)
    spec = replace(spec, apps=(changed,))
    assert set(earlier.as_now(spec, old)["tables"]["flows"][MEAN]) == {None}
