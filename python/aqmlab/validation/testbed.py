"""Gives the simulator the time that the kernel engine's testbed takes for packets.

One processor runs the hosts and the gateway of the testbed. The gateway takes some microseconds for
a packet and handles one packet at a time. A host takes some microseconds for a response. In the
simulator the gateway takes no time for a packet, and a host takes no time for an acknowledgement or
a response. Only the wake-up of an application takes time. Without the testbed's time a path of the
simulator has a shorter round-trip time than the same path of the testbed, and packets that HTB
sends together arrive together. `as_built` adds the time to a trial.

`tools/testbed.py` measures the times. See docs/explanation/validation.md, "The testbed's time".

Differences: the testbed's processor also separates the packets of a burst before the queue, but
here they reach the queue together. A datagram also takes the hosts' time, so its one-way delay is
7 to 24 µs longer than on the testbed.
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
    """The gateway's time for a small packet."""
    round_trip_ns: int
    """The time for a round trip of TCP: the gateway's time for the data and the acknowledgement,
    and the hosts' time."""

    @property
    def hosts_ns(self) -> int:
        """The rest of a round trip, in nanoseconds.

        It is the hosts' time, and with CAKE also the gateway's further time for a full-sized
        packet.
        """
        return self.round_trip_ns - 2 * self.forwarding_ns


TIMES = {
    ("htb", False): Times(forwarding_ns=10_100, round_trip_ns=50_400),
    ("htb", True): Times(forwarding_ns=11_600, round_trip_ns=71_800),
    ("cake", True): Times(forwarding_ns=11_100, round_trip_ns=57_100),
}
"""The times by shaper, and by whether the discipline is CAKE. Source: `tools/testbed.py`.

The first entry is the mean over `pfifo`, `codel`, `pie` and `fq_codel`, whose round trips differ
from the mean by at most 0.6 µs. It also stands for the disciplines that were not measured.
"""


def times_of(spec: TrialSpec) -> Times:
    """The times of the testbed of a trial; raises `ValueError` for an unmeasured gateway."""
    gateways = {(str(link.shaper), link.qdisc.kind == "cake") for link in spec.links}
    if len(gateways) == 1 and (found := TIMES.get(gateways.pop())) is not None:
        return found
    raise ValueError(
        "the testbed's times are not known for this shaper and discipline;"
        " `tools/testbed.py` measures them"
    )


def as_built(spec: TrialSpec) -> TrialSpec:
    """The trial `spec` with the testbed's times, for the simulator.

    A link behind the bottleneck represents the gateway's processor. The packets of both directions
    share it, and each packet takes the same time on it. Half of the hosts' time is added to the
    delay of each direction. Raises `ValueError` for an unmeasured gateway.
    """
    times = times_of(spec)
    if any(link.name == GATEWAY for link in spec.links):
        raise ValueError(f"a link is called `{GATEWAY}`, as is the testbed's processor")
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
    """Returns a runner that adds the testbed's times to each trial of `run`.

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
    import numpy as np

    names = [str(name) for name in table.get("link", ())]
    if GATEWAY not in names:
        return table
    kept = [place for place, name in enumerate(names) if name != GATEWAY]
    return {
        column: values[kept] if isinstance(values, np.ndarray) else [values[one] for one in kept]
        for column, values in table.items()
    }
