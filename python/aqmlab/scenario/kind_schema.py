"""The JSON Schema of kinds: their names, and their parameters with bounds.

The schema is made from the catalogue, so it always contains all registered kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue

from aqmlab.scenario.catalogue import Kind, Param
from aqmlab.scenario.quantities import Duration, Rate, Size
from aqmlab.scenario.schema_definitions import COUNT, FLAG, NUMBER

Properties = dict[str, JsonSchemaValue]

_DEFINITIONS = {
    "duration": Duration.SCHEMA,
    "duration or off": Duration.SCHEMA,
    "rate": Rate.SCHEMA,
    "rate or off": Rate.SCHEMA,
    "bytes": Size.SCHEMA,
    "count": COUNT,
    "number": NUMBER,
    "flag": FLAG,
}


def table(properties: Properties) -> JsonSchemaValue:
    """The schema of a table with no other keys than `properties`."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


def choice(kinds: Mapping[str, Kind], handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """The schema of a kind: a name, a name with parameters, or a table."""
    pattern = f"^({'|'.join(kinds)})(\\s+\\S+=\\S+)+$"
    tables = [table(named(kind) | params(kind, handler)) for kind in kinds.values()]
    # A table without `kind` changes the parameters of the extended scenario's kind.
    partial = table(any_params(kinds))
    return {"anyOf": [{"enum": list(kinds)}, {"type": "string", "pattern": pattern},
                      *tables, partial]}  # fmt: skip


def named(kind: Kind) -> Properties:
    """The key `kind` of a table, with the documentation of the kind."""
    return {"kind": {"const": kind.name, "description": f"{kind.summary}. {kind.source}."}}


def params(kind: Kind, handler: GetJsonSchemaHandler) -> Properties:
    """The schemas of the parameters of `kind`, by name."""
    return {name: _param(param, handler) for name, param in kind.params.items()}


def any_params(kinds: Mapping[str, Kind]) -> Properties:
    """The names of all parameters of `kinds`, each with a schema that permits any value."""
    names = {name for kind in kinds.values() for name in kind.params}
    return {name: {} for name in sorted(names)}


def _param(param: Param, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    about = f"{param.doc} Default: {param.text}."
    if param.type == "word":
        return {"enum": list(param.choices), "description": about}
    typed = _DEFINITIONS[param.type].reference(handler)
    if param.type.endswith(" or off"):
        typed = {"anyOf": [typed, {"enum": ["off", "none", "never", False]}]}
    bounds: JsonSchemaValue = {}
    if param.allowed:
        about += f" From {param.allowed}."
        if param.type in ("count", "number"):  # other types are text with a unit
            bounds = {"minimum": param.least, "maximum": param.most}
    return {**typed, **bounds, "description": about}
