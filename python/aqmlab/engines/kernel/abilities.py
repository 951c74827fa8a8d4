"""The trials that the kernel engine can run, as far as known before a machine starts.

The agent decides whether it can run a trial (`aqmlab-agent check`), so this check and the machine
refuse the same trials. Before the agent is built, `missing` finds the unsupported parts of a trial.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from aqmlab.base.failures import LabError
from aqmlab.engines.core_check import address
from aqmlab.engines.engine import Refusal
from aqmlab.engines.kernel import agent, image, kinds, machine
from aqmlab.engines.kernel.options import QdiscSource, RunOn
from aqmlab.engines.trial_spec import TrialSpec, WifiSpec
from aqmlab.scenario import catalogue

_WITH_SIM = "`--qdisc-source sim` puts the simulator's own link between the kernel's TCPs"


def is_built(run_on: RunOn = "vm") -> bool:
    """Returns whether the agent is built; raises `MissingError` for missing requirements."""
    _require_installed(run_on)
    return agent.is_there()


def refusal(
    spec: TrialSpec,
    qdisc_source: QdiscSource = "kernel",
    run_on: RunOn = "vm",
    program: Path | None = None,
    *,
    build: bool = True,
) -> Refusal | None:
    """The reason why the agent, or another `program`, refuses a resolved trial, if it does.

    If `build` is false and the agent is not built yet, the function checks only the links,
    disciplines, host profiles and congestion controls of the trial. Raises `MissingError` for
    missing requirements, before the agent is built.
    """
    _require_installed(run_on)
    if not build and not agent.is_there():
        return next(missing(spec, qdisc_source), None)
    return ask(program or agent.find(to_stderr), spec, words(qdisc_source, run_on))


def missing(spec: TrialSpec, qdisc_source: QdiscSource = "kernel") -> Iterator[Refusal]:
    """Yields a refusal for each part of a trial that the kernel engine does not support.

    The checked parts are links, disciplines, host profiles and congestion controls.
    """
    disciplines = kinds.kinds("disciplines", qdisc_source)
    hint = _WITH_SIM if qdisc_source == "kernel" else None
    for index, link in enumerate(spec.links):
        if isinstance(link.wifi, WifiSpec):
            problem = "a radio of 802.11n (path.wifi): the kernel engine has wires only"
            yield Refusal(("links", index, "wifi"), problem)
        elif qdisc_source == "kernel" and (link.rate_steps or link.opportunities_ms):
            key = "rate_steps" if link.rate_steps else "opportunities_ms"
            problem = (
                "a rate that varies (path.rate): the kernel engine sets the rate of a link once,"
                " before the trial"
            )
            yield Refusal(("links", index, key), problem, hint)
        elif link.qdisc.kind not in disciplines:
            problem = f"`{link.qdisc.kind}`: the kernel engine has {', '.join(disciplines)}"
            yield Refusal(("links", index, "qdisc"), problem, hint)
    simulated = set(catalogue.load()["tcp"]) - set(kinds.CONTROLLERS)
    known_apps = catalogue.load()["apps"]
    for index, app in enumerate(spec.apps):
        kind = known_apps.get(app.app.kind)
        if kind is not None and kind.on_gateway:
            problem = (
                "a program that changes the rates of the gateway: the kernel engine sets the rate"
                " of a link once, before the trial"
            )
            yield Refusal(("apps", index, "app"), problem)
        for side, tcp in (("home", app.home), ("wan", app.wan)):
            if tcp.profile not in kinds.PROFILES:
                problem = f"`{tcp.profile}`: a Linux kernel cannot be this host"
                yield Refusal(("apps", index, side, "profile"), problem)
            elif tcp.cc is not None and tcp.cc.kind in simulated:
                known = ", ".join(kinds.CONTROLLERS)
                problem = f"`{tcp.cc.kind}`: the kernel engine has {known}"
                yield Refusal(("apps", index, side, "cc"), problem)


def words(qdisc_source: QdiscSource, run_on: RunOn) -> list[str]:
    """The command-line arguments that pass the options of the engine to the agent."""
    return ["ours"] * (qdisc_source == "sim") + ["host"] * (run_on == "host")


def _require_installed(run_on: RunOn) -> None:
    """Raises `MissingError` for missing requirements of the machine, before anything is built."""
    if run_on == "host":
        return
    machine.find_qemu()
    image.find_kernel()


def to_stderr(text: str) -> None:
    """Prints a message about a slow step to standard error."""
    print(text, file=sys.stderr)


def ask(program: Path, spec: TrialSpec, words: Sequence[str] = ()) -> Refusal | None:
    """The reason why `program` refuses a trial with the arguments `words`, if it does.

    Raises `LabError` if the program fails.
    """
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
