"""Runs commands for a gateway on the kernel of a virtual machine, and reads the result back.

`aqmlab advise` prints such commands. They run in a network namespace with one device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.engines.kernel import agent, image, machine
from aqmlab.engines.kernel.errors import MachineError

_LIMIT_S = 300.0


def paste(
    commands: str, device: str, *, agent_path: Path | None = None
) -> Mapping[str, Mapping[str, str]]:
    """Runs `commands` in a virtual machine with the device `device`.

    Returns the output of `tc` afterwards: qdiscs, classes and filters, by device. Raises
    `MachineError` with the line that the kernel refuses.
    """
    job = json.dumps({"paste": {"device": device, "lines": commands.splitlines()}})
    booted = image.build(agent_path or agent.find())
    extra = image.pasted_files(booted.release)
    text = machine.run(booted, job, seed=1, timeout_s=_LIMIT_S, extra=extra)
    result: dict[str, Any] = machine.parse(text)
    if "shown" not in result:
        said = result.get("failed") or result.get("refused")
        raise MachineError(f"the commands could not be run: {said}")
    shown: Mapping[str, Mapping[str, str]] = result["shown"]
    return shown
