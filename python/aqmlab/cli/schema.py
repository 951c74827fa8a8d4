"""`aqmlab schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

from aqmlab.cli import console
from aqmlab.scenario.json_schema import schema


def command() -> int:
    """Runs `aqmlab schema`; returns the exit status."""
    console.print_json(schema())
    return 0
