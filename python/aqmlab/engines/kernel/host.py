"""The host's own kernel as the place of trials: as root, in real time.

The agent makes network namespaces that have no name, so they are gone when it is, and it dies
with the process that started it, kill -9 included. Nothing of the host's own network is changed.
Two runs of the same trial differ: the clock is that of the world.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.engines.kernel import abilities, agent, engine, image, installed, machine
from aqmlab.engines.kernel.errors import APT_LINE, MachineError, MissingError
from aqmlab.engines.registry import Prepared, Refusal, Say

_SLACK_S = 60.0
"""How much longer than its duration a trial may take: for building, measuring and a busy host."""
_VM = "or leave out `--place host`: a virtual machine needs no rights"


def run_prepared(
    spec_json: str,
    *,
    program: str,
    ours: bool,
    progress: machine.Progress | None = None,
) -> dict[str, Any]:
    """Runs one trial on this kernel by the agent `program`; see `engine.run`."""
    limit_s = json.loads(spec_json)["duration_ns"] / 1e9 + _SLACK_S
    words = ["ours", "host"] if ours else ["host"]
    with tempfile.TemporaryFile("w+") as spec, tempfile.TemporaryFile("w+") as errors:
        spec.write(spec_json)
        spec.seek(0)
        running = subprocess.Popen(
            [program, "run", str(os.getpid()), *words],
            stdin=spec,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        patience = threading.Timer(limit_s, running.kill)
        patience.start()
        try:
            last = _listen(running, progress)
        finally:
            patience.cancel()
            running.kill()
            running.wait()
        errors.seek(0)
        if not last:
            said = errors.read().strip()[-500:] or f"it said nothing for {limit_s:.0f} s"
            raise MachineError("the agent gave no result", said)
    return engine.outcome(machine.parse(last))


def _listen(running: subprocess.Popen[str], progress: machine.Progress | None) -> str:
    """The result; a point on a line is a second that has passed."""
    for passed, line in enumerate(running.stdout or (), start=1):
        if line != ".\n":
            return line
        if progress is not None:
            progress(float(passed))
    return ""


def refusal(spec: Mapping[str, Any]) -> Refusal | None:
    """Why the kernel could not run a trial here, if so."""
    return abilities.ask(agent.find(abilities.to_stderr), spec, "host")


def refusal_around_ours(spec: Mapping[str, Any]) -> Refusal | None:
    """The same where disciplines are ours."""
    return abilities.ask(agent.find(abilities.to_stderr), spec, "host", "ours")


def prepare(specs: Sequence[Mapping[str, Any]], say: Say) -> Prepared:
    """What running `specs` on the kernel's own disciplines needs; raises `MissingError`."""
    return _prepare(_kernel_kinds(specs), say, ours=False)


def prepare_for_ours(specs: Sequence[Mapping[str, Any]], say: Say) -> Prepared:
    """What running them on disciplines of ours needs, which is none of the kernel's."""
    return _prepare([], say, ours=True)


def _kernel_kinds(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kernel's disciplines that trials need, those that shape and delay among them."""
    modules = abilities.modules(specs)
    own = (module.removeprefix("sch_") for module in modules if module.startswith("sch_"))
    return ["htb", "netem", *own]


def _prepare(kinds: Sequence[str], say: Say, *, ours: bool) -> Prepared:
    for tool in image.TOOLS:
        if shutil.which(tool, path=image.tools_path()) is None:
            raise MissingError(f"`{tool}` is not installed", APT_LINE)
    program = agent.find(say)
    _require(program, kinds)
    versions = {"host": _kernel(), "agent": installed.digest_of(program)}
    return Prepared(versions, {"program": str(program), "ours": ours})


def _require(program: Path, kinds: Sequence[str]) -> None:
    """Raises `MissingError` for the first right or module that this host lacks."""
    done = subprocess.run([program, "missing", *kinds], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingError(f"{program}: {done.stderr.strip()}", _VM)
    lines = done.stdout.splitlines()
    if not lines:
        return
    problem = f"--place host: {'; '.join(lines)}"
    if "CAP_NET_ADMIN" in lines[0]:
        raise MissingError(problem, f"run it as root, {_VM}")
    modules = [line.split("(module ")[1].rstrip(")") for line in lines if "(module " in line]
    load = f"`sudo modprobe -a {' '.join(modules)}` if this kernel comes with them"
    without = ", `--discipline ours`, which needs none of them" if kinds else ""
    raise MissingError(problem, f"{load}{without}, {_VM}")


def _kernel() -> str:
    """This kernel, with the build that tells it from others of its release."""
    return f"{platform.release()} {platform.version()}"
