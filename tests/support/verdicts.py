"""Verdicts on a scenario's first trial, without a campaign."""

import json

import msgspec
from aqmlab import _core
from aqmlab.planning import planner


def judged(text, folder):
    """The verdict on each application of the scenario `text`, by name."""
    path = folder / "scenario.toml"
    path.write_text(text, "utf-8")
    plan = planner.load(path)
    stated = {
        "limits_ms": plan.stated_tolerances,
        "rates_mbit": plan.rates,
        "requirements": plan.requirements,
    }
    judge = _core.Judge()
    add(judge, plan.trials[0].text, stated)
    return {one["app"]: one for one in json.loads(judge.verdicts_json())}


def add(judge, spec, stated=None, *, condition=0, seed=1):
    """Runs the trial `spec`, and adds its results to `judge` as `condition` and `seed`."""
    tables = _core.run(spec)["tables"]
    flows, apps = tables["flows"], tables["apps"]
    numbers = zip(*(map(float, flows[name]) for name in _core.flow_numbers()), strict=True)
    primary = (bool(one) for one in flows["primary"])
    rows = list(zip(flows["flow"], flows["direction"], primary, map(list, numbers), strict=True))
    own = list(zip(apps["flow"], apps["metric"], map(float, apps["value"]), strict=True))
    judge.add((condition, seed), spec, msgspec.json.encode(stated or {}).decode(), rows, own)
