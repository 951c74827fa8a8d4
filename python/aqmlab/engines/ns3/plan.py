"""Translates a trial to the input of ns3.cc: ns-3's objects with their attributes.

The attributes of ns-3 3.37 are set to the behaviour of Linux 6.1. Otherwise the comparison would
count ns-3's defaults, which often come from papers, as errors of its models. Three cases need care:

- HTB sends a packet if its class has any tokens left, and charges the class afterwards. ns-3's
  bucket sends a packet only if it has tokens for the whole packet. A bucket that is one packet
  deeper has the same effect.
- Linux includes the Ethernet header in limits and quanta of bytes, and ns-3 counts IP bytes. Limits
  are set to the same number of full packets, and quanta to one full packet.
- In byte mode, ns-3's RED multiplies a packet's drop probability by the packet's size divided by
  `MeanPktSize`. Linux's RED does not. With `MeanPktSize` set to a full packet, both give full
  packets the same probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from aqmlab.engines.ns3.parameters import KindParameters
from aqmlab.engines.ns3.streams import Stream
from aqmlab.engines.trial_spec import AppSpec, LinkSpec, RouteSpec, TcpSpec, TrialSpec

FULL_BYTES = 1500
_FRAME_BYTES = 1514
_HTB_BURST_BYTES = 1600
"""tc's default burst of a class, in bytes."""

_ROUTE = ("links", "delay_ns", "loss", "jitter_ns", "reorder")
"""The members of a route that this engine applies or refuses. `reorder` only affects jitter."""

_CONTROLLERS = {"cubic": "TcpCubic", "reno": "TcpLinuxReno", "bbr": "TcpBbr"}

_MOST_SEND_BYTES = 4 << 20
_MOST_RECEIVE_BYTES = 6 << 20
"""Linux's limits in `tcp_wmem` and `tcp_rmem`. ns-3's buffers have these sizes from the start.
"""

_DEFAULTS = {
    "ns3::TcpSocket::SegmentSize": "1448",
    "ns3::TcpSocket::InitialCwnd": "10",
    "ns3::TcpSocket::DelAckCount": "2",
    "ns3::TcpSocket::DelAckTimeout": "40ms",
    "ns3::TcpSocket::ConnTimeout": "1s",
    "ns3::TcpSocket::TcpNoDelay": "true",
    "ns3::TcpSocketBase::MinRto": "200ms",
    "ns3::TcpSocketBase::ClockGranularity": "1ms",
    "ns3::TcpSocketBase::Sack": "true",
    "ns3::TcpSocketBase::Timestamp": "true",
    "ns3::TcpSocketBase::WindowScaling": "true",
    "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpPrrRecovery",
    "ns3::TcpCubic::HyStartDelayMax": "16ms",
    "ns3::TcpCubic::CubicDelta": "1s",
}
"""Attributes of ns-3 with Linux's values. Sources: RFC 6928, RFC 7323 and RFC 6937; TCP_DELACK_MIN,
TCP_RTO_MIN and TCP_TIMEOUT_INIT of Linux 6.1; in its tcp_cubic.c, HYSTART_DELAY_MAX and the second
after a recovery in which delays are ignored."""


@dataclass
class Ns3Plan:
    """The input of ns3.cc, with the facts that are needed to read its output."""

    lines: list[str] = field(default_factory=list)
    starts_ns: list[int] = field(default_factory=list)
    """The start time of each application, by its number."""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "".join(f"{line}\n" for line in self.lines)


def of(spec: TrialSpec) -> Ns3Plan:
    """The plan for `spec`; raises `ValueError` with the reason if ns-3 cannot run it."""
    plan = Ns3Plan()
    _links_are_plain(spec)
    host = _common_host(spec)
    sizes = {"SndBufSize": _send_bytes(host), "RcvBufSize": _receive_bytes(host)}
    ecn = {"ns3::TcpSocketBase::UseEcn": "On" if host.ecn else "Off"}
    defaults = _DEFAULTS | {f"ns3::TcpSocket::{name}": str(b) for name, b in sizes.items()} | ecn
    plan.lines += [f"default {name} {value}" for name, value in sorted(defaults.items())]
    plan.lines.append(f"run {spec.seed} {spec.duration_ns} {spec.measure.sample_ns}")
    plan.lines += [_link(link) for link in spec.links]
    for flow, app in enumerate(spec.apps):
        plan.starts_ns.append(_start_ns(spec, app))
        plan.lines.append(_flow(app))
        plan.lines += _traffic(spec, flow, app, plan.starts_ns[flow], sizes["SndBufSize"])
    return plan


def _start_ns(spec: TrialSpec, app: AppSpec) -> int:
    """The start time of an application, with the same jitter as in the other engines."""
    late = Stream(spec.seed, f"start.{app.name}").below(spec.start_jitter_ns + 1)
    return app.start_ns + late


# --- Links and hosts ---------------------------------------------------------------------------


def _links_are_plain(spec: TrialSpec) -> None:
    if [link.name for link in spec.links] != ["up", "down"]:
        raise ValueError("links: the ns-3 engine supports one line with two directions only")
    for link in spec.links:
        over = link.overhead
        if over.bytes or over.minimum or over.atm:
            raise ValueError(f"{link.name}: ns-3's token bucket charges no overhead")
    for app in spec.apps:
        if (app.up.links, app.down.links) != ((0,), (1,)):
            raise ValueError(f"{app.name}: the ns-3 engine needs paths in both directions")
        if app.up.jitter_ns or app.down.jitter_ns:
            raise ValueError("jitter: the delay of a channel of ns-3 is constant")
        for key in RouteSpec.__struct_fields__:
            if key not in _ROUTE and any(getattr(way, key) for way in (app.up, app.down)):
                raise ValueError(f"{key}: the ns-3 engine has no such impairment")


def _common_host(spec: TrialSpec) -> TcpSpec:
    """The common settings of all hosts, which may differ only in their congestion control.

    Raises `ValueError` for other differences, and for settings that ns-3 does not have.
    """
    hosts = [replace(host, cc=None) for app in spec.apps for host in (app.home, app.wan)]
    if any(host != hosts[0] for host in hosts):
        raise ValueError("hosts: in the ns-3 engine, hosts differ in congestion control only")
    host = hosts[0]
    if host.profile != "linux" or host.settings:
        raise ValueError("hosts: the ns-3 engine supports Linux's defaults only")
    if host.mtu != FULL_BYTES or host.nodelay is not None or host.quickack is not None:
        raise ValueError("hosts: the ns-3 engine needs an MTU of 1500 B, Nagle off, delayed ACKs")
    return host


def _send_bytes(host: TcpSpec) -> int:
    return host.send_buffer or _MOST_SEND_BYTES


def _receive_bytes(host: TcpSpec) -> int:
    return host.receive_buffer or _MOST_RECEIVE_BYTES


def _flow(app: AppSpec) -> str:
    controllers = (_controller(app.home), _controller(app.wan))
    delay_ns = app.up.delay_ns + app.down.delay_ns
    losses = (f"{route.loss:g}" for route in (app.up, app.down))
    return " ".join(("flow", *controllers, str(delay_ns // 2), *losses))


def _controller(host: TcpSpec) -> str:
    if host.cc is None:
        raise ValueError("hosts: the ns-3 engine needs a congestion control by name")
    if host.cc.kind not in _CONTROLLERS or host.cc.params:
        raise ValueError(
            f"congestion control `{host.cc.kind}` with these parameters has no match in ns-3"
        )
    return f"ns3::{_CONTROLLERS[host.cc.kind]}"


def _link(link: LinkSpec) -> str:
    if link.rate_steps or link.opportunities_ms:
        raise ValueError("a rate that varies: the ns-3 engine has constant rates")
    kind, attributes, quantum = _discipline(link)
    burst = _HTB_BURST_BYTES + FULL_BYTES if link.shaper == "htb" else FULL_BYTES
    head = f"link {link.name} {link.rate_bps} {burst} ns3::{kind}QueueDisc {quantum}"
    return " ".join((head, *(f"{name}={value}" for name, value in attributes.items())))


# --- Disciplines -------------------------------------------------------------------------------

Attributes = dict[str, str]


def _discipline(link: LinkSpec) -> tuple[str, Attributes, int]:
    kind, given = link.qdisc.kind, link.qdisc.params
    if kind not in _DISCIPLINES:
        raise ValueError(f"`{kind}`: ns-3 has no such discipline")
    name, known = _DISCIPLINES[kind]
    for param in given:
        if param not in known:
            raise ValueError(f"`{kind} {param}`: ns-3 has no such parameter")
    params = KindParameters.of("disciplines", link.qdisc)
    quantum = params.whole("quantum") if params.has("quantum") else 0
    return name, _ATTRIBUTES[kind](params, link), _as_ip(quantum) if quantum else 0


def _as_ip(size: float) -> int:
    """Converts the bytes of full frames to the IP bytes of the same number of full packets."""
    return int(size * FULL_BYTES / _FRAME_BYTES)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _fifo(params: KindParameters, _: LinkSpec) -> Attributes:
    return {"MaxSize": f"{params.whole('limit')}p"}


def _byte_fifo(params: KindParameters, _: LinkSpec) -> Attributes:
    return {"MaxSize": f"{_as_ip(params.whole('limit'))}B"}


def _codel(params: KindParameters, _: LinkSpec) -> Attributes:
    return {
        "MaxSize": f"{params.whole('limit')}p",
        "Target": f"{params.whole('target')}ns",
        "Interval": f"{params.whole('interval')}ns",
        "UseEcn": _flag(params.flag("ecn")),
    }


def _fq_codel(params: KindParameters, link: LinkSpec) -> Attributes:
    return _codel(params, link) | {"Flows": str(params.whole("flows"))}


def _pie(params: KindParameters, _: LinkSpec) -> Attributes:
    return {
        "MaxSize": f"{params.whole('limit')}p",
        "QueueDelayReference": f"{params.whole('target')}ns",
        "Tupdate": f"{params.whole('tupdate')}ns",
        "Supdate": "0s",
        "A": f"{params.number('alpha') / 16:g}",
        "B": f"{params.number('beta') / 16:g}",
        "MeanPktSize": str(FULL_BYTES),
        "UseDequeueRateEstimator": "false",
        "UseCapDropAdjustment": "true",
        "UseDerandomization": "true",
        "MarkEcnThreshold": "0.1",
        "UseEcn": _flag(params.flag("ecn")),
    }


def _fq_pie(params: KindParameters, link: LinkSpec) -> Attributes:
    return _pie(params, link) | {"Flows": str(params.whole("flows"))}


def _red(params: KindParameters, link: LinkSpec) -> Attributes:
    largest = params.whole("max") or (
        3 * params.whole("min") if params.whole("min") else params.whole("limit") // 4
    )
    least = params.whole("min") or largest // 3
    burst = params.whole("burst") or (2 * least + largest) // (3 * params.whole("avpkt"))
    return {
        "MaxSize": f"{_as_ip(params.whole('limit'))}B",
        "MinTh": str(_as_ip(least)),
        "MaxTh": str(_as_ip(largest)),
        "QW": f"{_red_weight(burst, least / params.whole('avpkt')):g}",
        "LInterm": f"{1 / params.number('probability'):g}",
        "MeanPktSize": str(FULL_BYTES),
        "IdlePktSize": str(params.whole("avpkt")),
        "LinkBandwidth": f"{link.rate_bps}bps",
        "Gentle": "false",
        "Wait": "false",
        "UseHardDrop": _flag(params.flag("harddrop")),
        "UseEcn": _flag(params.flag("ecn")),
    }


def _red_weight(burst: int, least_packets: float) -> float:
    """The greatest power of one half that permits `burst` packets (iproute2, tc_red_eval_ewma).

    >>> 1 / _red_weight(27, 16.666)
    16.0
    """
    room = burst + 1 - least_packets
    for power in range(1, 32):
        weight = 0.5**power
        if room <= (1 - (1 - weight) ** burst) / weight:
            return weight
    raise ValueError("red: `burst` is too small for its `min`")


_DISCIPLINES: dict[str, tuple[str, tuple[str, ...]]] = {
    "pfifo": ("Fifo", ("limit",)),
    "bfifo": ("Fifo", ("limit",)),
    "codel": ("CoDel", ("limit", "target", "interval", "ecn")),
    "fq_codel": ("FqCoDel", ("limit", "target", "interval", "ecn", "flows", "quantum")),
    "pie": ("Pie", ("limit", "target", "tupdate", "alpha", "beta", "ecn")),
    "fq_pie": ("FqPie", ("limit", "target", "tupdate", "alpha", "beta", "ecn", "flows", "quantum")),
    "red": ("Red", ("limit", "min", "max", "avpkt", "burst", "probability", "ecn", "harddrop")),
}
"""ns-3's name of each discipline, and the parameters that ns-3 also has."""

_ATTRIBUTES = {
    "pfifo": _fifo, "bfifo": _byte_fifo, "codel": _codel, "fq_codel": _fq_codel,
    "pie": _pie, "fq_pie": _fq_pie, "red": _red,
}  # fmt: skip


# --- Traffic -----------------------------------------------------------------------------------


def _traffic(spec: TrialSpec, flow: int, app: AppSpec, start_ns: int, buffer: int) -> Iterator[str]:
    kind = app.app.kind
    params = KindParameters.of("apps", app.app)
    late_ns = start_ns - app.start_ns
    stop_ns = spec.duration_ns if app.stop_ns is None else app.stop_ns + late_ns
    if kind == "bulk":
        if params.word("transport") != "tcp":
            raise ValueError("`bulk` over QUIC: ns-3 has no model of QUIC")
        transfers = [(start_ns, params.optional("duration"))] * params.whole("parallel")
    elif kind == "bursts":
        transfers = _bursts(params, start_ns, stop_ns)
    elif kind in ("cbr", "irtt", "ping"):
        yield from _datagrams(kind, params, flow, (start_ns, stop_ns))
        return
    else:
        raise ValueError(f"`{kind}`: ns-3 has no model of that application that is the same")
    for conn, (begin_ns, lasts_ns) in enumerate(transfers):
        until_ns = 0 if lasts_ns is None else begin_ns + lasts_ns
        if app.stop_ns is not None:
            until_ns = min(until_ns or stop_ns, stop_ns)
        words = (
            flow,
            conn,
            begin_ns,
            until_ns,
            params.word("direction"),
            params.whole("size"),
            buffer,
        )
        yield " ".join(("tcp", *map(str, words)))


def _bursts(params: KindParameters, start_ns: int, stop_ns: int) -> list[tuple[int, int | None]]:
    """The start time and the duration of each transfer; a transfer with a size has no duration."""
    lasts_ns = None if params.whole("size") else params.optional("duration")
    first_ns = start_ns + params.whole("first")
    begins = list(range(first_ns, stop_ns, params.whole("period")))
    return [(at, lasts_ns) for at in begins[: params.whole("count") or None]]


def _datagrams(
    kind: str, params: KindParameters, flow: int, when: tuple[int, int]
) -> Iterator[str]:
    probes = kind != "cbr"
    if not probes and params.word("ecn") != "not_ect":
        raise ValueError("`cbr`: ecn: the ns-3 engine sends Not-ECT datagrams only")
    interval_ns = params.optional("interval")
    if interval_ns is None:
        interval_ns = math.floor(8e9 * params.whole("payload") / params.whole("rate"))
    ways = (
        ("up",) if probes else {"both": ("up", "down")}.get(way := params.word("direction"), (way,))
    )
    for direction in ways:
        words = (flow, *when, direction, interval_ns, params.whole("payload"), int(probes))
        yield " ".join(("udp", *map(str, words)))
