"""The resolved trial in Python: it has the core's form, and its text is stable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aqmlab import _core
from aqmlab.engines import trial_spec
from aqmlab.engines.trial_spec import TrialSpec
from msgspec import UNSET

GOLDEN = Path(__file__).parents[1] / "golden"
TRIALS = sorted(path.stem for path in GOLDEN.glob("*.json") if path.stem != "digests")

CORE = json.loads(_core.trial_schema())
PYTHON = msgspec.json.schema(TrialSpec)
PARTS = sorted(name for name in PYTHON["$defs"] if name != "TrialSpec")


def part_of(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema of a part of a trial. The core's whole schema is that of the trial itself."""
    return dict(schema if name == "TrialSpec" and schema is CORE else schema["$defs"][name])


def form(schema: dict[str, Any], node: dict[str, Any]) -> Any:
    """The values that a node of a schema permits, without names and descriptions."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        inner = schema["$defs"][name]
        return re.sub(r"\d+$", "", name) if inner.get("type") == "object" else form(schema, inner)
    if "anyOf" in node:
        return frozenset(form(schema, one) for one in node["anyOf"])
    if "oneOf" in node:
        return frozenset(one["const"] for one in node["oneOf"])
    if isinstance(node.get("type"), list):
        return frozenset(form(schema, {**node, "type": one}) for one in node["type"])
    if node.get("type") == "array":
        return "array", form(schema, node["items"])
    if node.get("type") == "integer":
        return "integer", node.get("minimum"), node.get("maximum")
    # The core lists the names of kinds, which Python reads from the catalogue.
    if "enum" in node and node.get("type") != "string":
        return frozenset(node["enum"])
    return node["type"]


@pytest.mark.parametrize("name", ["TrialSpec", *PARTS])
def test_a_part_has_the_members_of_the_core(name: str) -> None:
    ours, core = part_of(PYTHON, name), part_of(CORE, name)
    assert ours["properties"].keys() == core["properties"].keys()
    assert set(ours.get("required", ())) == set(core.get("required", ()))
    assert ours["additionalProperties"] is core["additionalProperties"] is False
    forms = {key: form(PYTHON, node) for key, node in ours["properties"].items()}
    assert forms == {key: form(CORE, node) for key, node in core["properties"].items()}


@pytest.mark.parametrize("name", ["TrialSpec", *PARTS])
def test_a_part_has_the_defaults_of_the_core(name: str) -> None:
    core = part_of(CORE, name)
    optional = core["properties"].keys() - set(core.get("required", ()))
    fields = {one.name: one for one in msgspec.structs.fields(getattr(trial_spec, name))}
    for key in optional:
        wanted = core["properties"][key]["default"]
        if fields[key].default is not UNSET:
            assert part_of(PYTHON, name)["properties"][key]["default"] == wanted, key


def test_the_core_has_no_other_parts() -> None:
    names = {re.sub(r"\d+$", "", name) for name in CORE["$defs"] if name.endswith("Spec")}
    kinds = {re.sub(r"\d+$", "", name) for name in CORE["$defs"] if name.startswith("KindSpec")}
    assert names | kinds == {*PARTS, "ShaperSpec"}


@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_that_is_read_has_the_same_text(name: str) -> None:
    spec = json.loads((GOLDEN / f"{name}.json").read_text())
    text = json.dumps(spec, separators=(",", ":"))
    assert TrialSpec.read(text).text() == text
    assert TrialSpec.read(text).members() == spec


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"lenght_ns": 1}, "unknown field `lenght_ns`"),
        ({"duration_ns": "1 s"}, r"Expected `int`, got `str` - at `\$.duration_ns`"),
        ({"duration_ns": -1}, r"Expected `int` >= 0 - at `\$.duration_ns`"),
        ({"links": [{"name": "up"}]}, r"missing required field `qdisc` - at `\$.links\[0\]`"),
    ],
)
def test_a_text_of_another_form_is_refused_with_its_place(
    change: dict[str, Any], problem: str
) -> None:
    spec = json.loads((GOLDEN / "household.json").read_text()) | change
    with pytest.raises(ValueError, match=problem):
        TrialSpec.read(json.dumps(spec))


def test_equal_trials_have_equal_texts_whatever_their_seed() -> None:
    one = TrialSpec.read((GOLDEN / "household.json").read_text())
    other = one.with_seed(one.seed + 1)
    assert one.canonical_text() != other.canonical_text()
    assert one.canonical_text(seed=False) == other.canonical_text(seed=False)
