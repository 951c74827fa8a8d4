"""The types of verdicts and of the advice in Python have the core's form."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from aqmlab import _core
from aqmlab.advise.facts import AdviceReport
from aqmlab.results.verdicts.verdict import VerdictReport


def form(schema: dict[str, Any], node: dict[str, Any]) -> Any:
    """The values that a node of a schema permits, without names, descriptions and bounds."""
    if "$ref" in node:
        return form(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    if "anyOf" in node:
        return [sorted((form(schema, one) for one in node["anyOf"]), key=repr)]
    if "oneOf" in node:
        return {one["const"] for one in node["oneOf"]}
    if "enum" in node:
        return set(node["enum"])
    kind = node["type"]
    if isinstance(kind, list):
        return [sorted((form(schema, {**node, "type": one}) for one in kind), key=repr)]
    if "prefixItems" in node:
        return tuple(form(schema, one) for one in node["prefixItems"])
    if kind == "array":
        return kind, form(schema, node["items"])
    if kind == "object":
        assert set(node["required"]) == node["properties"].keys()
        return {key: form(schema, one) for key, one in node["properties"].items()}
    return kind


@pytest.mark.parametrize(
    ("core", "python"),
    [(_core.advice_schema(), AdviceReport), (_core.report_schema(), VerdictReport)],
    ids=["advice", "verdict"],
)
def test_a_type_has_the_members_of_the_core(core: str, python: type) -> None:
    stated, own = json.loads(core), msgspec.json.schema(python)
    assert form(own, own) == form(stated, stated)
