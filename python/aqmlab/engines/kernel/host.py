"""Trials on the host's kernel, as root and in real time.

The agent makes unnamed network namespaces, which disappear when the agent ends. The agent ends with
the process that started it, even after kill -9. The host's own network is not changed. Two runs of
the same trial differ because the clock is real.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from aqmlab.engines.engine import Outcome, Prepared, Say
from aqmlab.engines.kernel import abilities, agent, engine, image, installed, kinds, machine
from aqmlab.engines.kernel.errors import APT_LINE, MachineError, MissingError
from aqmlab.engines.kernel.options import QdiscSource
from aqmlab.engines.trial_spec import TrialSpec

_SLACK_S = 60.0
"""The seconds that a trial may take beyond its duration, for setup, measurement and a busy host."""
_VM = "or leave out `--run-on host`: a virtual machine needs no rights"


def run_prepared(
    spec_json: str,
    *,
    program: str,
    qdisc_source: QdiscSource,
    progress: machine.Progress | None = None,
) -> Outcome:
    """Runs one trial on this kernel with the agent `program`; see `engine.run`."""
    limit_s = TrialSpec.read(spec_json).duration_s + _SLACK_S
    words = abilities.words(qdisc_source, "host")
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
            said = errors.read().strip()[-500:] or f"it gave no output for {limit_s:.0f} s"
            raise MachineError("the agent gave no result", said)
    return engine.outcome(machine.parse(last))


def _listen(running: subprocess.Popen[str], progress: machine.Progress | None) -> str:
    """Reads the agent's result; empty if the agent ends without a result.

    Each dot before the result stands for a second that has passed. At each dot, `progress` receives
    the number of seconds.
    """
    for passed, line in enumerate(running.stdout or (), start=1):
        if line != ".\n":
            return line
        if progress is not None:
            progress(float(passed))
    return ""


def prepare(specs: Sequence[TrialSpec], say: Say, qdisc_source: QdiscSource = "kernel") -> Prepared:
    """Checks the programs, rights and modules that `specs` need, and builds the agent if necessary.

    Raises `MissingError` for missing requirements.
    """
    for tool in image.TOOLS:
        if shutil.which(tool, path=image.tools_path()) is None:
            raise MissingError(f"`{tool}` is not installed", APT_LINE)
    program = agent.find(say)
    # The simulator's disciplines need no modules of the kernel's disciplines.
    _require(program, _kernel_kinds(specs) if qdisc_source == "kernel" else [])
    versions = {"host": _kernel(), "agent": installed.digest_of(program)}
    return Prepared(versions, {"program": str(program), "qdisc_source": qdisc_source})


def _kernel_kinds(specs: Sequence[TrialSpec]) -> list[str]:
    """The kernel's disciplines that trials need, including the disciplines that shape and delay."""
    modules = kinds.modules(specs)
    own = (module.removeprefix("sch_") for module in modules if module.startswith("sch_"))
    return ["htb", "netem", *own]


def _require(program: Path, kinds: Sequence[str]) -> None:
    """Raises `MissingError` if this host lacks rights, or modules of the disciplines `kinds`."""
    done = subprocess.run([program, "missing", *kinds], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MissingError(f"{program}: {done.stderr.strip()}", _VM)
    lines = done.stdout.splitlines()
    if not lines:
        return
    problem = f"--run-on host: {'; '.join(lines)}"
    if "CAP_NET_ADMIN" in lines[0]:
        raise MissingError(problem, f"run it as root, {_VM}")
    modules = [line.split("(module ")[1].rstrip(")") for line in lines if "(module " in line]
    load = f"`sudo modprobe -a {' '.join(modules)}` if this kernel comes with them"
    without = ", `--qdisc-source sim`, which needs none of them" if kinds else ""
    raise MissingError(problem, f"{load}{without}, {_VM}")


def _kernel() -> str:
    """The release and the build of this kernel."""
    return f"{platform.release()} {platform.version()}"
