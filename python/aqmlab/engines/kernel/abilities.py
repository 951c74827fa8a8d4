"""Abilities of the kernel engine, known before a machine is started.

The agent decides whether it can run a trial (`aqmlab-agent check`), so this check and the machine
refuse the same trials. The tables serve lists and messages. A test compares them with the agent's
tables, `qdisc/tc_params/kinds.rs` and `tcp_settings/controllers.rs` in `crates/agent/src`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aqmlab.engines.core_check import address
from aqmlab.engines.engine import Refusal
from aqmlab.engines.kernel.options import QdiscSource, RunOn
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.scenario import catalogue

DISCIPLINES: Mapping[str, str | None] = {
    "pfifo": None,
    "bfifo": None,
    "pfifo_head_drop": None,
    "pfifo_fast": None,
    "codel": "sch_codel",
    "fq_codel": "sch_fq_codel",
    "fq_nocodel": "sch_fq_codel",
    "pie": "sch_pie",
    "fq_pie": "sch_fq_pie",
    "sfq": "sch_sfq",
    "red": "sch_red",
}
"""Disciplines of Linux 6.1, each with its kernel module, if any."""

CONTROLLERS: Mapping[str, str | None] = {"cubic": None, "reno": None, "bbr": "tcp_bbr"}
"""Congestion controls of both engines, each with its kernel module, if any."""

PROFILES = ("linux",)
"""Host profiles that a Linux kernel supports."""

_WITH_SIM = "`--qdisc-source sim` puts the simulator's own link between the kernel's TCPs"


def kinds(family: str, qdisc_source: QdiscSource = "kernel") -> Sequence[str]:
    """The supported kinds of a family of the catalogue.

    All applications are supported, and all disciplines if they are the simulator's.
    """
    if family == "apps" or (family == "disciplines" and qdisc_source == "sim"):
        return tuple(catalogue.load()[family])
    tables = {"disciplines": tuple(DISCIPLINES), "tcp": tuple(CONTROLLERS), "profiles": PROFILES}
    return tables[family]


def modules(specs: Sequence[TrialSpec], qdisc_source: QdiscSource = "kernel") -> dict[str, str]:
    """The kernel modules that trials need, each with the kind that needs it."""
    used: dict[str, str | None] = {}
    for spec in specs:
        for link in spec.links if qdisc_source == "kernel" else ():
            used[link.qdisc.kind] = DISCIPLINES.get(link.qdisc.kind)
        for app in spec.apps:
            for cc in filter(None, (app.home.cc, app.wan.cc)):
                used[cc.kind] = CONTROLLERS.get(cc.kind, f"tcp_{cc.kind}")
    return {module: kind for kind, module in used.items() if module is not None}


def is_built(run_on: RunOn = "vm") -> bool:
    """Returns whether the agent is built; raises `MissingError` for missing requirements."""
    from aqmlab.engines.kernel import agent

    _require_installed(run_on)
    return agent.is_there()


def refusal(
    spec: TrialSpec,
    qdisc_source: QdiscSource = "kernel",
    run_on: RunOn = "vm",
    program: Path | None = None,
) -> Refusal | None:
    """The reason why the agent, or another `program`, refuses a resolved trial, if it does.

    Raises `MissingError` for missing requirements before it builds the agent.
    """
    from aqmlab.engines.kernel import agent

    _require_installed(run_on)
    return ask(program or agent.find(to_stderr), spec, words(qdisc_source, run_on))


def words(qdisc_source: QdiscSource, run_on: RunOn) -> list[str]:
    """The arguments of the agent that state the options of the engine."""
    return ["ours"] * (qdisc_source == "sim") + ["host"] * (run_on == "host")


def _require_installed(run_on: RunOn) -> None:
    """Raises `MissingError` for missing requirements of the machine, before anything is built."""
    from aqmlab.engines.kernel import image, machine

    if run_on == "host":
        return
    machine.find_qemu()
    image.find_kernel()


def to_stderr(text: str) -> None:
    """Prints a message about a slow step to standard error."""
    print(text, file=sys.stderr)


def ask(program: Path, spec: TrialSpec, words: Sequence[str] = ()) -> Refusal | None:
    """The reason why `program` refuses a trial with the arguments `words` ("ours", "host")."""
    from aqmlab.base.failures import LabError

    done = subprocess.run(
        [program, "check", *words], input=spec.text(), capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        raise LabError(f"{program}: ended with status {done.returncode}: {done.stderr.strip()}")
    found = read(done.stdout.strip())
    of_link = found.at[:1] == ("links",) and len(found.at) > 1
    if of_link and not {"own", "wifi"} & set(found.at) and "ours" not in words:
        return replace(found, hint=_WITH_SIM)
    return found


def read(text: str) -> Refusal:
    """Parses a refusal of the agent: "links[0].qdisc: `x`: the kernel does not have it"."""
    where, _, problem = text.partition(": ")
    # In a scenario, settings are direct members of a host.
    at = tuple(key for key in address(where) if key not in ("settings", "params"))
    return Refusal(at, problem)
