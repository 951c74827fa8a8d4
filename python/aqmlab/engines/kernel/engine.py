"""The engine `kernel`: a trial on Linux's TCP and queue disciplines.

`run` takes the same trial as `aqmlab._core.run` and returns a dictionary of the same form:
`digest`, `packets` and `tables` of columns. The digest covers every packet at both taps, with its
time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.failures import DiskError
from aqmlab.base.scratch import Scratch
from aqmlab.engines.engine import Outcome
from aqmlab.engines.kernel import agent, image, kinds, machine
from aqmlab.engines.kernel.errors import MachineError, RefusedError
from aqmlab.engines.kernel.options import QdiscSource
from aqmlab.engines.trial_spec import TrialSpec

_PATIENCE_S = 300.0
"""The limit in real seconds for the boot, and for each virtual second, on a slow machine.

Time in which the guest waits for a processor does not count.
"""

_TYPES = {"float": "float64", "count": "uint64", "flag": "bool"}
"""numpy's types for the types of columns in the agent's answer."""


def run(
    spec_json: str,
    *,
    agent_path: Path | None = None,
    patience_s: float = _PATIENCE_S,
    progress: machine.Progress | None = None,
    qdisc_source: QdiscSource = "kernel",
    captures: tuple[str, str] | None = None,
) -> Outcome:
    """Runs one trial in a virtual machine. Repeats it once if the machine dies or hangs.

    If `qdisc_source` is "sim", the simulator's disciplines replace the kernel's. `captures` names
    two files for the headers of all packets, at the tap in the home and at the tap on the internet.
    Raises `RefusedError` (a `ValueError`) if the kernel cannot run the trial, `MissingError` for
    missing requirements, and `MachineError` if the machine dies or hangs twice, or if the trial
    fails in it.
    """
    booted = image.build(agent_path or agent.find())
    how = _How(patience_s, progress, qdisc_source)
    return _run_on(booted, spec_json, how, captures)


def run_prepared(
    spec_json: str,
    *,
    kernel: str,
    release: str,
    initramfs: str,
    patience_s: float = _PATIENCE_S,
    progress: machine.Progress | None = None,
    qdisc_source: QdiscSource = "kernel",
    captures: tuple[str, str] | None = None,
) -> Outcome:
    """Runs one trial, as `run` does, on an existing image of `installed.prepare`."""
    booted = image.Image(Path(kernel), release, Path(initramfs))
    image.note_use(booted.initramfs)
    how = _How(patience_s, progress, qdisc_source)
    return _run_on(booted, spec_json, how, captures)


@dataclass(frozen=True, slots=True)
class _How:
    """The options of a run that do not depend on the trial."""

    patience_s: float
    progress: machine.Progress | None
    qdisc_source: QdiscSource


def _run_on(
    booted: image.Image, spec_json: str, how: _How, captures: tuple[str, str] | None
) -> Outcome:
    spec = TrialSpec.read(spec_json)
    extra = image.on_demand_files(booted.release, kinds.modules([spec]))

    def attempt(file: Path | None) -> dict[str, Any]:
        try:
            text = machine.run(
                booted,
                spec_json,
                seed=spec.seed,
                patience_s=how.patience_s,
                progress=how.progress,
                qdisc_source=how.qdisc_source,
                captures=file,
                extra=extra,
            )
        except OSError as error:
            place = Path(error.filename or tempfile.gettempdir())
            raise DiskError.of(error, place) from error
        return machine.parse(text)

    def run_twice(file: Path | None) -> dict[str, Any]:
        try:
            return attempt(file)
        except MachineError:
            return attempt(file)

    if captures is None:
        return outcome(run_twice(None))
    with Scratch() as folder:
        file = Path(folder) / "captures"
        result = run_twice(file)
        made = outcome(result)
        _write_captures(file, result.get("captures"), captures)
        return made


def _write_captures(file: Path, lengths: Any, paths: tuple[str, str]) -> None:
    """Writes the captures of both taps, which have these `lengths` in `file`, to `paths`.

    Raises `MachineError` if the lengths do not match the file, and `DiskError` on failure.
    """
    whole = file.read_bytes() if file.exists() else b""
    if not isinstance(lengths, list) or sum(lengths) != len(whole):
        raise MachineError("the guest's captures are damaged", f"{lengths} of {len(whole)} bytes")
    for path, part in zip(paths, (whole[: lengths[0]], whole[lengths[0] :]), strict=True):
        try:
            Path(path).write_bytes(part)
        except OSError as error:
            raise DiskError.of(error, Path(path)) from error


def outcome(result: Mapping[str, Any]) -> Outcome:
    """Converts an agent's result to the form of `aqmlab._core.run`; raises the agent's error."""
    if "refused" in result:
        raise RefusedError(f"the kernel cannot run this trial: {result['refused']}")
    if "failed" in result:
        hint = "`aqmlab kernel status` shows the kernel in use; another kernel image may work"
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
    import numpy as np

    if kind == "word":
        indices, words = values
        return [words[index] for index in indices]
    if kind == "float":
        values = [np.nan if value is None else value for value in values]
    return np.array(values, dtype=_TYPES[kind])
