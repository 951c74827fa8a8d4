"""Named parts of the JSON Schema of scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

NUMBER_PATTERN = r"^\s*[+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*"
"""The start of a pattern: a number and the blanks before its unit."""


@dataclass(frozen=True, eq=False)
class Definition:
    """A named schema under `$defs`.

    As an annotation, it replaces the JSON Schema of the annotated type.
    """

    name: str
    schema: JsonSchemaValue

    @property
    def ref(self) -> str:
        """The name of the definition in the generator."""
        return f"aqmlab.{self.name}"

    def reference(self, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """A reference to the schema, which the generator of `handler` then defines."""

        def schema(_: CoreSchema, __: GetJsonSchemaHandler) -> JsonSchemaValue:
            return dict(self.schema)

        core = core_schema.any_schema(ref=self.ref, metadata={"pydantic_js_functions": [schema]})
        return reference(core, handler)

    def __get_pydantic_json_schema__(self, _: Any, handler: GetJsonSchemaHandler) -> Any:
        return self.reference(handler)


def reference(core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """A reference to the schema of `core`, which the generator of `handler` then defines."""
    # A handler defines only the schemas within the schema that it receives.
    made: JsonSchemaValue = handler(core_schema.list_schema(core))["items"]
    return made


COUNT = Definition("Count", {"type": ["integer", "string"], "examples": [490, "490 packets"]})
NUMBER = Definition("Number", {"type": ["number", "string"], "examples": [0.05, "5 %"]})
FLAG = Definition("Flag", {"enum": [True, False, "on", "off", "yes", "no", "true", "false"]})
PERCENTAGE: JsonSchemaValue = {
    "type": "string",
    "pattern": NUMBER_PATTERN + "%$",
    "examples": ["95 %"],
}
