"""`aqmlab schema`: the JSON Schema of scenario files, for editors."""

from __future__ import annotations


def command() -> int:
    """Print the JSON Schema of scenario files, for editors."""
    from aqmlab.cli import console
    from aqmlab.scenario.json_schema import schema

    console.print_json(schema())
    return 0
