"""What the kernel engine can do, known before a machine is started.

Whether it can run a trial the agent itself says (`aqmlab-agent check`), so what is refused here
and what would be refused in the machine are one. The tables serve lists and messages; a test
holds them against the agent's (`crates/agent/src/disciplines.rs` and `hosts.rs`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from aqmlab import catalogue
from aqmlab.engines import Refusal
from aqmlab.structure import address

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
"""Disciplines that Linux 6.1 has, each with its module if it is one."""

CONTROLLERS: Mapping[str, str | None] = {"cubic": None, "reno": None, "bbr": "tcp_bbr"}
"""Congestion controls that both engines have, each with its module if it is one."""

PROFILES = ("linux",)
"""Hosts that a Linux kernel can be."""


def kinds(family: str) -> Sequence[str]:
    """The kinds of a family of the catalogue that there are; all applications are."""
    if family == "apps":
        return tuple(catalogue.load()["apps"])
    tables = {"disciplines": tuple(DISCIPLINES), "tcp": tuple(CONTROLLERS), "profiles": PROFILES}
    return tables[family]


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


def refusal(spec: Mapping[str, Any]) -> Refusal | None:
    """Why the agent would not run a resolved trial, if so.

    Raises `MissingError` for what must be installed, before the agent is built.
    """
    from aqmlab.failures import LabError
    from aqmlab.kernel import agent, image, machine

    machine.find_qemu()
    image.find_kernel()
    program = agent.find(lambda text: print(text, file=sys.stderr))
    text = json.dumps({**spec, "seed": spec.get("seed", 0)})
    done = subprocess.run(
        [program, "check"], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        raise LabError(f"{program}: ended with status {done.returncode}: {done.stderr.strip()}")
    return read(done.stdout.strip())


def read(text: str) -> Refusal:
    """What the agent says, such as "links[0].qdisc: `x`: the kernel does not have it"."""
    where, _, problem = text.partition(": ")
    # A setting stands beside the other keys of a host in a scenario.
    at = tuple(key for key in address(where) if key not in ("settings", "params"))
    return Refusal(at, problem)
