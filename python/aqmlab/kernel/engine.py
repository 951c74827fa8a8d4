"""The engine `kernel`: a trial on Linux's own TCP and queue disciplines.

`run` takes the same trial as `aqmlab._core.run` and returns the same dictionary: `digest`,
`packets` and `tables` of columns. The digest folds every packet at both taps with its time.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from aqmlab.failures import DiskError
from aqmlab.kernel import agent, image, machine
from aqmlab.kernel.errors import MachineError, RefusedError

_BOOT_S = 120.0
_SLOWEST = 40.0
"""Seconds of ours in which a second of the guest's is over, however slow the machine."""

_TYPES = {"float": np.float64, "count": np.uint64, "flag": np.bool_}


def run(
    spec_json: str,
    *,
    agent_path: Path | None = None,
    timeout_s: float | None = None,
    progress: machine.Progress | None = None,
) -> dict[str, Any]:
    """Runs one trial in a virtual machine; once more if the machine dies.

    Raises `RefusedError` (a `ValueError`) for what the kernel cannot do, `MissingError` for what
    must be installed, and `MachineError` if the machine dies or hangs twice.
    """
    booted = image.build(agent_path or agent.find())
    return _run_on(booted, spec_json, timeout_s, progress)


def run_prepared(
    spec_json: str,
    *,
    kernel: str,
    release: str,
    initramfs: str,
    timeout_s: float | None = None,
    progress: machine.Progress | None = None,
) -> dict[str, Any]:
    """Runs one trial, as `run` does, on an image that is there (`installed.prepare` makes it)."""
    booted = image.Image(Path(kernel), release, Path(initramfs))
    return _run_on(booted, spec_json, timeout_s, progress)


def _run_on(
    booted: image.Image,
    spec_json: str,
    timeout_s: float | None,
    progress: machine.Progress | None,
) -> dict[str, Any]:
    spec = json.loads(spec_json)
    seed, duration_s = int(spec["seed"]), spec["duration_ns"] / 1e9
    limit_s = timeout_s if timeout_s is not None else _BOOT_S + _SLOWEST * duration_s

    def attempt() -> str:
        try:
            return machine.run(booted, spec_json, seed=seed, timeout_s=limit_s, progress=progress)
        except OSError as error:
            place = Path(error.filename or tempfile.gettempdir())
            raise DiskError.of(error, place) from error

    try:
        text = attempt()
    except MachineError:
        text = attempt()
    return _outcome(machine.parse(text))


def _outcome(result: dict[str, Any]) -> dict[str, Any]:
    if "refused" in result:
        raise RefusedError(f"the kernel cannot run this trial: {result['refused']}")
    if "failed" in result:
        hint = "`aqmlab kernel status` shows what it ran on; another kernel image may do it"
        raise MachineError(f"the kernel's trial failed: {result['failed']}", hint)
    tables = {
        table: {name: _column(kind, values) for name, kind, values in columns}
        for table, columns in result["tables"].items()
    }
    return {
        "digest": result["digest"],
        "events": 0,
        "packets": result["packets"],
        "kernel": result["kernel"],
        "tables": tables,
    }


def _column(kind: str, values: list[Any]) -> Any:
    if kind == "word":
        indices, words = values
        return [words[index] for index in indices]
    if kind == "float":
        values = [np.nan if value is None else value for value in values]
    return np.array(values, dtype=_TYPES[kind])
