"""The engines of a validation: the simulator, the kernel, and peers.

An engine takes the trial as JSON and returns the tables of `aqmlab._core.run`. An engine that
cannot run a trial raises `ValueError` with the reason, such as
`aqmlab.engines.kernel.RefusedError`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.validation.grid import Cell

Engine = Callable[[str], Mapping[str, Any]]
"""A function from a trial's JSON to its digest and tables."""

PEERS: dict[str, str] = {"ns3": "aqmlab.engines.ns3:run"}
"""Other simulators by name, each as "module:function" of an `Engine`."""


def simulator() -> Engine:
    """The simulator."""
    from aqmlab import _core

    run: Engine = _core.run
    return run


def peer(name: str) -> Engine:
    """The peer called `name`; raises `RequestError` if there is none.

    If its module has a function `prepare`, this function calls it first to find missing
    requirements.
    """
    if name not in PEERS:
        hint = suggestion(name, PEERS) if PEERS else None
        raise RequestError(f"there is no peer called `{name}`", hint)
    path, _, function = PEERS[name].partition(":")
    module = importlib.import_module(path)
    getattr(module, "prepare", lambda: None)()
    run: Engine = getattr(module, function)
    return run


@dataclass(frozen=True, slots=True)
class Maker:
    """The kernel engine with one agent, which makes trials of a reference set."""

    run: Engine
    recipe: Mapping[str, str]
    """The versions and options on which the results depend."""
    program: Path | None = None
    """The agent."""


def kernel(cells: Sequence[Cell], say: Callable[[str], None], program: Path | None = None) -> Maker:
    """The kernel engine with the agent `program`, or else with this package's agent.

    All trials of a maker use one image, also if a new build appears meanwhile. Raises
    `aqmlab.engines.kernel.MissingError` if a program is not installed.
    """
    from aqmlab.engines import core_check
    from aqmlab.engines.kernel import RefusedError, abilities, agent, engine, installed

    used = program or agent.find(say)
    prepared = installed.prepare([cell.spec for cell in cells], say, used)

    def run(spec_json: str) -> Mapping[str, Any]:
        spec = json.loads(spec_json)
        refusal = core_check.refusal(spec) or abilities.refusal(spec, used)
        if refusal is not None:
            raise RefusedError(refusal.problem, refusal.hint)
        return engine.run_prepared(spec_json, **prepared.options)

    return Maker(run, dict(prepared.versions), used)
