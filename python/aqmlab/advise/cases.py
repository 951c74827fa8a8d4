"""The cases that the advice compares: each tier with each gateway, as steps of one loop.

A line has a long FIFO at each end, as `path.modem` models it. A gateway that shapes sends at a
share of the line's rate and charges the line's overhead, so the queue forms in the gateway's
discipline. If a scenario keeps its own path and this path has a modem, the modem is the line.
Without a modem, the disciplines are directly in front of the line, as in the papers' testbeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab.advise.choices import GatewayChoice, Managed, Tier
from aqmlab.households.line import Line
from aqmlab.scenario.fields import plain
from aqmlab.scenario.links import Impairments, Overhead
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.notation import Table

LOOP = "case"
"""The name of the condition whose values are the labels of the cases."""

SHARES = (98, 95, 90)
"""The shares of the line's rate, in per cent, to which a gateway may shape."""

WAYS = ("down", "up")

_IMPAIRMENTS = tuple(Impairments.model_fields)
"""The keys of a direction that describe the path behind the line."""

UNSHAPED = "10 Gbit/s"
"""The rate at which a gateway without a shaper sends: the rate of a very fast port."""

_DUMMYNET = {
    "fq_codel": "fq_codel_freebsd limit=1000",
    "codel": "codel_freebsd limit=1000",
    "pie": "pie_freebsd limit=1000",
}
"""Dummynet's disciplines by their Linux names, with Boerlage and Collom's limit (2016, IV-B)."""


@dataclass(frozen=True, slots=True)
class GatewayCase:
    """A gateway at a tier, with the share of the line's rate to which it shapes."""

    tier: Tier
    gateway: str
    share: int | None = None
    """The share of the line's rate, in per cent, to which a gateway before a modem shapes.

    `None` means that the gateway does not shape, or that there is no modem.
    """

    @property
    def label(self) -> str:
        """The name of the case in tables, such as "25/5 sqm 95 %"."""
        share = "" if self.share is None else f" {self.share} %"
        return f"{str(self.tier).removesuffix(' Mbit/s')} {self.gateway}{share}"


@dataclass(frozen=True, slots=True)
class Setup:
    """A scenario, its line (none if the scenario's own path has no modem), and the gateways."""

    scenario: Scenario
    line: Line | None
    gateways: Mapping[str, GatewayChoice]

    def shares(self, gateway: str) -> Sequence[int | None]:
        """The shares of the line's rate to try for a gateway.

        `None` means that the gateway does not shape, or that it sends at the line's rate because
        there is no modem.
        """
        return SHARES if self.line is not None and self.gateways[gateway].shapes else (None,)

    def cases(self, tiers: Iterable[Tier]) -> list[GatewayCase]:
        """Each tier with each gateway, at each of the gateway's `shares`."""
        return [
            GatewayCase(tier, name, share)
            for tier in tiers
            for name in self.gateways
            for share in self.shares(name)
        ]

    def whole(self, cases: Sequence[GatewayCase], seeds: str | int) -> Scenario:
        """The scenario with a loop over `cases`, without figures and without series over time."""
        table = self.scenario.to_dict()
        path = table["path"]
        if self.line is not None:
            modem = {"rate": str(cases[0].tier), "overhead": plain(self.line.overhead)}
            path = self._kept(path) | {"modem": modem}
        report = {key: value for key, value in table.get("report", {}).items() if key != "figures"}
        steps = [{"label": one.label} | self._step(one) for one in cases]
        return Scenario.from_dict(
            table
            | {
                "path": path,
                "seeds": seeds,
                "measure": table.get("measure", {}) | {"series": False},
                "report": report,
                "vary": {LOOP: steps},
            }
        )

    def _kept(self, path: Table) -> Table:
        """The parts of the scenario's path that are neither the line nor the gateway.

        Both directions have the rate of a gateway that does not shape.
        """
        whole = ("rtt", "host_jitter", "start_jitter", "lan", "wifi")
        kept: Table = {key: path[key] for key in whole if key in path}
        for way in WAYS:
            kept[way] = {key: path[way][key] for key in _IMPAIRMENTS if key in path[way]}
            kept[way]["rate"] = UNSHAPED
        return kept

    def _step(self, case: GatewayCase) -> Table:
        choice = self.gateways[case.gateway]
        step: Table = {}
        for way in WAYS:
            managed: Managed | None = getattr(choice, way)
            step |= (
                self._own(case, way, managed)
                if self.line is None
                else self._hops(self.line, case, way, managed)
            )
        return step

    def _own(self, case: GatewayCase, way: str, managed: Managed | None) -> Table:
        """One direction of a scenario that keeps its own path."""
        link = getattr(self.scenario.path, way)
        step: Table = {f"path.{way}.rate": str(getattr(case.tier, way))}
        qdisc: Any = plain(link.qdisc)
        if managed is not None:
            qdisc = plain(managed.qdisc)
            if link.shaper == "dummynet" and managed.qdisc.kind in _DUMMYNET:
                qdisc = _DUMMYNET[managed.qdisc.kind]
            if managed.qdisc.kind == "cake":
                qdisc = _charging(link.overhead) | qdisc
                step[f"path.{way}.shaper"] = "cake"
            elif link.shaper == "cake":
                # No other discipline has this shaper.
                step[f"path.{way}.shaper"] = "line"
        return step | {f"path.{way}.qdisc": qdisc}

    def _hops(self, line: Line, case: GatewayCase, way: str, managed: Managed | None) -> Table:
        """One direction of a gateway with a modem beyond it."""
        rate = getattr(case.tier, way)
        own = managed if managed is not None and managed.at == "gateway" else None
        beyond: Any = line.fifo(way, rate)
        if managed is not None and own is None:
            beyond = plain(managed.qdisc)
        step: Table = {f"path.modem.{way}.rate": str(rate), f"path.modem.{way}.qdisc": beyond}
        if own is None:
            return step | {f"path.{way}.rate": UNSHAPED, f"path.{way}.qdisc": "pfifo"}
        qdisc, shaper = plain(own.qdisc), "htb"
        if own.qdisc.kind == "cake":
            qdisc, shaper = _charging(line.overhead) | qdisc, "cake"
        return step | {
            f"path.{way}.rate": f"{case.share} %",
            f"path.{way}.qdisc": qdisc,
            f"path.{way}.shaper": shaper,
            f"path.{way}.overhead": plain(line.overhead),
        }


def _charging(overhead: Overhead) -> Table:
    """The parameters of a CAKE that charges the overhead of a line."""
    return {
        "link": "ip",
        "overhead": overhead.bytes,
        "mpu": f"{overhead.minimum} B",
        "framing": "atm" if overhead.atm else "noatm",
    }
