"""The JSON Schema of scenario files, for completion and error markers in editors.

Pydantic generates the schema from the class `Scenario`. It is slightly more lenient than the
planner, which also checks combinations of values.
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from aqmlab.scenario.fields import plain
from aqmlab.scenario.model import Scenario


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with default values in the form of a scenario file."""

    def encode_default(self, dft: Any) -> Any:
        return plain(dft)


def schema() -> JsonSchemaValue:
    """The schema of a scenario file, as JSON Schema of draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "aqmlab scenario",
        **Scenario.model_json_schema(schema_generator=_Generator),
    }
