"""Abilities of the kernel engine, known before a machine is started.

The agent decides whether it can run a trial (`aqmlab-agent check`), so this check and the machine
refuse the same trials. The tables serve lists and messages. A test compares them with the agent's
tables, `qdisc/tc_params/kinds.rs` and `tcp_settings/controllers.rs` in `crates/agent/src`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.engines.core_check import address
from aqmlab.engines.registry import Refusal
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


_OURS = "`--discipline ours` puts the simulator's own link between the kernel's TCPs"


def kinds(family: str) -> Sequence[str]:
    """The supported kinds of a family of the catalogue. All applications are supported."""
    if family == "apps":
        return tuple(catalogue.load()["apps"])
    tables = {"disciplines": tuple(DISCIPLINES), "tcp": tuple(CONTROLLERS), "profiles": PROFILES}
    return tables[family]


def kinds_around_ours(family: str) -> Sequence[str]:
    """The supported kinds with the simulator's disciplines, all of which are supported."""
    return tuple(catalogue.load()[family]) if family == "disciplines" else kinds(family)


def modules(specs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The kernel modules that trials need, each with the kind that needs it."""
    used: dict[str, str | None] = {}
    for spec in specs:
        for link in spec["links"]:
            used[link["qdisc"]["kind"]] = DISCIPLINES.get(link["qdisc"]["kind"])
        for app in spec["apps"]:
            for side in ("home", "wan"):
                cc = app.get(side, {}).get("cc")
                if cc:
                    used[cc["kind"]] = CONTROLLERS.get(cc["kind"], f"tcp_{cc['kind']}")
    return {module: kind for kind, module in used.items() if module is not None}


def is_built() -> bool:
    """Returns whether the agent is built; raises `MissingError` for missing requirements."""
    from aqmlab.engines.kernel import agent

    _require_installed()
    return agent.is_there()


def refusal(spec: Mapping[str, Any], program: Path | None = None) -> Refusal | None:
    """The reason why the agent, or another `program`, refuses a resolved trial, if it does.

    Raises `MissingError` for missing requirements before it builds the agent.
    """
    from aqmlab.engines.kernel import agent

    _require_installed()
    return ask(program or agent.find(to_stderr), spec)


def refusal_around_ours(spec: Mapping[str, Any]) -> Refusal | None:
    """The reason why the agent refuses a trial with the simulator's disciplines, if it does."""
    from aqmlab.engines.kernel import agent

    _require_installed()
    return ask(agent.find(to_stderr), spec, "ours")


def _require_installed() -> None:
    """Raises `MissingError` for missing requirements, before anything is built."""
    from aqmlab.engines.kernel import image, machine

    machine.find_qemu()
    image.find_kernel()


def to_stderr(text: str) -> None:
    """Prints a message about a slow step to standard error."""
    print(text, file=sys.stderr)


def ask(program: Path, spec: Mapping[str, Any], *words: str) -> Refusal | None:
    """The reason why `program` refuses a trial with the options `words` ("ours", "host")."""
    from aqmlab.base.failures import LabError

    text = json.dumps({**spec, "seed": spec.get("seed", 0)})
    done = subprocess.run(
        [program, "check", *words], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        raise LabError(f"{program}: ended with status {done.returncode}: {done.stderr.strip()}")
    found = read(done.stdout.strip())
    of_link = found.at[:1] == ("links",) and len(found.at) > 1
    if of_link and not {"own", "wifi"} & set(found.at) and "ours" not in words:
        return replace(found, hint=_OURS)
    return found


def read(text: str) -> Refusal:
    """Parses a refusal of the agent: "links[0].qdisc: `x`: the kernel does not have it"."""
    where, _, problem = text.partition(": ")
    # In a scenario, settings are direct members of a host.
    at = tuple(key for key in address(where) if key not in ("settings", "params"))
    return Refusal(at, problem)
