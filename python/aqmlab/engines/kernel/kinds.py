"""The kinds of the catalogue that the kernel engine supports, and their kernel modules.

Lists and messages use these tables. A test compares them with the agent's tables,
`qdisc/tc_params/kinds.rs` and `tcp_settings/controllers.rs` in `crates/agent/src`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aqmlab.engines.kernel.options import QdiscSource
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
    "cake": "sch_cake",
}
"""The disciplines that Linux 6.1 has, each with its kernel module, if any."""

CONTROLLERS: Mapping[str, str | None] = {
    "cubic": None,
    "reno": None,
    "bbr": "tcp_bbr",
    "dctcp": "tcp_dctcp",
}
"""The congestion controls that simulator and kernel have, each with its kernel module, if any."""

PROFILES = ("linux",)
"""The host profiles that a Linux kernel supports."""


def kinds(family: str, qdisc_source: QdiscSource = "kernel") -> Sequence[str]:
    """The supported kinds of a family of the catalogue.

    All applications are supported. With the simulator's disciplines, all disciplines are supported.
    """
    if family == "apps" or (family == "disciplines" and qdisc_source == "sim"):
        return tuple(catalogue.load()[family])
    tables = {"disciplines": tuple(DISCIPLINES), "tcp": tuple(CONTROLLERS), "profiles": PROFILES}
    return tables[family]


def modules(specs: Sequence[TrialSpec], qdisc_source: QdiscSource = "kernel") -> dict[str, str]:
    """The kernel modules that trials need, each with a kind that needs the module."""
    used: dict[str, str | None] = {}
    for spec in specs:
        for link in spec.links if qdisc_source == "kernel" else ():
            used[link.qdisc.kind] = DISCIPLINES.get(link.qdisc.kind)
        for app in spec.apps:
            for cc in filter(None, (app.home.cc, app.wan.cc)):
                used[cc.kind] = CONTROLLERS.get(cc.kind, f"tcp_{cc.kind}")
    return {module: kind for kind, module in used.items() if module is not None}
