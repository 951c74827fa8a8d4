"""Gives the simulator the time that the kernel engine's testbed takes for packets.

In the testbed's virtual machine an instruction takes a nanosecond, and one processor runs the
hosts and the gateway. A packet therefore takes some microseconds in the gateway, one packet after
the other, and a host takes some microseconds for its response. In the simulator hosts and gateway
take no time. Without this time a path of the simulator has a shorter round-trip time than the same
path of the testbed, and a burst arrives without gaps. `as_built` adds the time to a trial.

`tools/testbed.py` measures the times on an idle line. No result of the reference set determines
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from aqmlab.engines.engine import Outcome, Runner, Tables
from aqmlab.engines.trial_spec import (
    AppSpec,
    KindSpec,
    LinkSpec,
    OverheadSpec,
    RouteSpec,
    TrialSpec,
)

GATEWAY = "gateway"
"""The name of the link that represents the gateway's processor."""

_MTU = 1_500


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a testbed with one kind of gateway, in nanoseconds."""

    forwarding_ns: int
    """The gateway's time for a packet."""
    round_trip_ns: int
    """The time for a round trip of TCP: data and acknowledgement in gateway and hosts."""

    @property
    def hosts_ns(self) -> int:
        """The hosts' part of a round trip."""
        return self.round_trip_ns - 2 * self.forwarding_ns


TIMES = {
    ("htb", False): Times(forwarding_ns=10_100, round_trip_ns=50_400),
    ("htb", True): Times(forwarding_ns=11_600, round_trip_ns=71_800),
    ("cake", True): Times(forwarding_ns=11_100, round_trip_ns=57_100),
}
"""The times by shaper, and by whether the discipline is CAKE; see `tools/testbed.py`.

The times of the other disciplines differ from their mean by at most 1.1 µs.
"""


def times_of(spec: TrialSpec) -> Times:
    """The times of the testbed of a trial; raises `ValueError` for an unmeasured gateway."""
    shapers = {str(link.shaper) for link in spec.links}
    cake = any(link.qdisc.kind == "cake" for link in spec.links)
    if len(shapers) == 1 and (found := TIMES.get((shapers.pop(), cake))) is not None:
        return found
    raise ValueError("the testbed's times for the gateway of this trial were not measured")


def as_built(spec: TrialSpec) -> TrialSpec:
    """The trial `spec` with the testbed's times, for the simulator.

    The gateway's processor becomes a link behind the bottleneck, which the packets of both
    directions share and where each packet takes the same time. Half of the hosts' time is added to
    the delay of each direction.
    """
    times = times_of(spec)
    processor = LinkSpec(
        name=GATEWAY,
        rate_bps=round(8e9 * _MTU / times.forwarding_ns),
        qdisc=KindSpec(kind="pfifo", params={"limit": 1_000}),
        overhead=OverheadSpec(minimum=_MTU),
    )

    def longer(route: RouteSpec) -> RouteSpec:
        links = (*route.links, len(spec.links))
        return replace(route, links=links, delay_ns=route.delay_ns + times.hosts_ns // 2)

    def app_as_built(app: AppSpec) -> AppSpec:
        return replace(app, up=longer(app.up), down=longer(app.down))

    return replace(
        spec, links=(*spec.links, processor), apps=tuple(app_as_built(app) for app in spec.apps)
    )


def on_testbed(run: Runner) -> Runner:
    """The runner of a simulator whose trials take the testbed's times.

    The tables do not contain the gateway's processor.
    """

    def run_as_built(spec_json: str, /, **options: Any) -> Outcome:
        outcome = run(as_built(TrialSpec.read(spec_json)).text(), **options)
        return {**outcome, "tables": without_gateway(outcome["tables"])}

    return run_as_built


def without_gateway(tables: Tables) -> Tables:
    """The tables without the rows of the gateway's processor."""
    return {name: _without_gateway(table) for name, table in tables.items()}


def _without_gateway(table: Mapping[str, Any]) -> Mapping[str, Any]:
    names = [str(name) for name in table.get("link", ())]
    if GATEWAY not in names:
        return table
    kept = [place for place, name in enumerate(names) if name != GATEWAY]
    return {column: [values[place] for place in kept] for column, values in table.items()}
