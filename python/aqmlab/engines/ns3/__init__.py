"""The engine ns-3, which sets up a trial as an experienced user of ns-3 would.

ns-3 provides TCP, queue disciplines and the token bucket. The trial provides the path, the start
times and the measurements. A parameter of ns-3 that Linux also has gets Linux's value (`plan`). A
trial that ns-3 cannot run is refused with the reason. docs/findings/accuracy.md compares the
results of ns-3 with Linux.
"""

from __future__ import annotations

from aqmlab.engines.engine import Outcome
from aqmlab.engines.ns3 import plan, program, tables
from aqmlab.engines.ns3.program import Ns3MissingError, ProgramError
from aqmlab.engines.trial_spec import TrialSpec

__all__ = ["Ns3MissingError", "ProgramError", "prepare", "run", "version"]


def prepare() -> None:
    """Compiles the program if needed; raises `Ns3MissingError` for missing requirements."""
    program.build()


def version() -> str:
    """The installed version, such as "ns-3 3.37"; raises `Ns3MissingError` if there is none."""
    return f"ns-3 {program.version()}"


def run(spec_json: str) -> Outcome:
    """Runs a trial in ns-3; returns its digest and the tables for `aqmlab.validation.metrics`.

    Raises `ValueError` if ns-3 cannot run the trial, `Ns3MissingError` for missing requirements,
    and `ProgramError` if ns-3 ends early.
    """
    spec = TrialSpec.read(spec_json)
    planned = plan.of(spec)
    made = program.run(planned.text)
    return {
        "digest": made.digest,
        "events": 0,
        "packets": len(made.packets),
        "tables": tables.of(spec, planned, made),
    }
