"""The JSON Schema of a resolved trial: the core states it, and planned trials conform to it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from aqmlab import _core

FOLDER = Path(__file__).parent / "golden"
TRIALS = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "digests")
CHECKER = jsonschema.Draft202012Validator(json.loads(_core.trial_schema()))


def trial(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return spec


@pytest.mark.parametrize("name", TRIALS)
def test_a_planned_trial_follows_the_schema(name: str) -> None:
    assert [error.message for error in CHECKER.iter_errors(trial(name))] == []


SLIPS: dict[str, Callable[[dict[str, Any]], object]] = {
    "unknown key": lambda spec: spec.update(lenght_ns=1),
    "missing key": lambda spec: spec["apps"][0].pop("start_ns"),
    "unknown discipline": lambda spec: spec["links"][0]["qdisc"].update(kind="fifi"),
    "unknown application": lambda spec: spec["apps"][0]["app"].update(kind="bulky"),
    "unknown controller": lambda spec: spec["apps"][0]["home"].update(cc={"kind": "qubic"}),
    "unknown host": lambda spec: spec["apps"][0]["home"].update(profile="beos"),
    "text for a number": lambda spec: spec.update(duration_ns="1 s"),
    "negative number": lambda spec: spec.update(duration_ns=-1),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_the_schema_refuses_what_the_core_refuses(slip: str) -> None:
    spec = copy.deepcopy(trial("household"))
    SLIPS[slip](spec)
    assert list(CHECKER.iter_errors(spec)) != []
    assert _core.check(json.dumps(spec)) is not None


def test_the_schema_lists_the_kinds_of_the_catalogue() -> None:
    lists = json.loads(_core.trial_schema())["$defs"]
    catalogue = _core.catalogue()
    names = {key: [entry["name"] for entry in catalogue[key]] for key in catalogue}
    assert lists["Discipline"]["enum"] == names["disciplines"]
    assert lists["Application"]["enum"] == names["apps"]
    assert lists["Host"]["enum"] == names["profiles"]
    assert set(names["tcp"]) <= set(lists["CongestionControl"]["enum"])
