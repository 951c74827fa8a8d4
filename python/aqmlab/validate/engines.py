"""What runs a trial: the simulator, the kernel, and peers.

An engine takes the trial as JSON and gives the tables of `aqmlab._core.run`. One that cannot
run a trial raises `ValueError` with the reason; `aqmlab.kernel.RefusedError` is one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aqmlab.errors import suggestion
from aqmlab.failures import RequestError
from aqmlab.validate.grid import Cell

Engine = Callable[[str], Mapping[str, Any]]
"""From a trial's JSON to its digest and tables."""

PEERS: dict[str, str] = {}
"""Other simulators by name, each as "module:function" of an `Engine`."""


def simulator() -> Engine:
    """The simulator."""
    from aqmlab import _core

    run: Engine = _core.run
    return run


def peer(name: str) -> Engine:
    """The peer called `name`; raises `RequestError` if there is none."""
    if name not in PEERS:
        hint = suggestion(name, PEERS) if PEERS else None
        raise RequestError(f"there is no peer called `{name}`", hint)
    module, _, function = PEERS[name].partition(":")
    run: Engine = getattr(importlib.import_module(module), function)
    return run


def kernel(cells: Sequence[Cell], say: Callable[[str], None]) -> tuple[Engine, dict[str, str]]:
    """The kernel's engine, and the recipe of what it runs.

    What is built meanwhile changes nothing: all trials of a growth are run by one image. Raises
    `aqmlab.kernel.MissingError` if something must be installed.
    """
    from aqmlab.engines import ENGINES, load
    from aqmlab.kernel import RefusedError

    engine = ENGINES["kernel"]
    prepared = engine.prepare([cell.spec for cell in cells], say)
    runner = load(engine.runner)

    def run(spec_json: str) -> Mapping[str, Any]:
        refusal = engine.refusal(json.loads(spec_json))
        if refusal is not None:
            raise RefusedError(refusal.problem, refusal.hint)
        outcome: Mapping[str, Any] = runner(spec_json, **prepared.options)
        return outcome

    return run, dict(prepared.versions)
