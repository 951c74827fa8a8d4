"""ns-3 as an engine: a trial as somebody who knows ns-3 would build it.

ns-3's own TCP, queue disciplines and token bucket run; the path, the starts and what is measured
are the trial's. The parameters are Linux's wherever ns-3 has them (`plan`), and what ns-3 does
not have is refused with the reason. docs/validation.md says what is alike and what is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aqmlab.engines.ns3 import plan, program, tables
from aqmlab.engines.ns3.program import MissingError, ProgramError

__all__ = ["MissingError", "ProgramError", "prepare", "run", "version"]


def prepare() -> None:
    """Compiles the program if need be; raises `MissingError` for what must be installed."""
    program.build()


def version() -> str:
    """What is installed, such as "ns-3 3.37"; raises `MissingError`."""
    return f"ns-3 {program.version()}"


def run(spec_json: str) -> Mapping[str, Any]:
    """Runs a trial in ns-3: its digest and the tables that `aqmlab.validation.metrics` needs.

    Raises `ValueError` for what ns-3 cannot do, `MissingError` for what must be installed, and
    `ProgramError` if ns-3 ends by itself.
    """
    spec = json.loads(spec_json)
    planned = plan.of(spec)
    made = program.run(planned.text)
    return {
        "digest": made.digest,
        "events": 0,
        "packets": len(made.packets),
        "tables": tables.of(spec, planned, made),
    }
