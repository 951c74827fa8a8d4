"""The resolved trial as types, each of which corresponds to a type in `crates/trial/src/spec.rs`.

All numbers are in base units, and all names are known. The core's JSON Schema
(`_core.trial_schema()`) states the same form, and a test compares the two.

The JSON text of a trial is part of a campaign's key, so its bytes must not change. Members are in
the order of the fields. A member that is `UNSET` is absent from the text, and the core's default
applies. Constructors do not check values, because the core checks every trial before it runs
(`core_check`). A text is checked when it is read.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Natural: TypeAlias = Annotated[int, Meta(ge=0)]
Octet: TypeAlias = Annotated[int, Meta(ge=0, le=255)]

Argument: TypeAlias = int | float | str | bool | None
"""The value of a parameter: a duration in ns (`None` is off), a size in bytes, a rate in bit/s, or
a value without a unit."""

Shaper: TypeAlias = Literal["line", "htb", "dummynet", "cake"]
"""The shaper: the wire itself, or HTB, dummynet or the discipline `cake` before a faster wire."""


class _Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The common options of all parts of a trial."""


class KindSpec(_Spec, frozen=True, kw_only=True):
    """A kind by name, with the parameters that differ from its defaults."""

    kind: str
    params: dict[str, Argument] = {}


class OverheadSpec(_Spec, frozen=True, kw_only=True):
    """The bytes that a link charges for a packet and that its discipline counts."""

    bytes: Natural = 0
    """Bytes added to every packet on the link."""
    minimum: Natural = 0
    """The minimum length in bytes of a packet with the added bytes, before ATM cells."""
    atm: bool = False
    """Whether ATM cells of 53 bytes, 48 of them payload, carry the packet."""
    counted: Natural = 0
    """Bytes that the discipline adds to a packet's IP length when it counts the packet."""


class WifiSpec(_Spec, frozen=True, kw_only=True):
    """An 802.11n radio, and the driver's queue above it."""

    cell: Natural
    """The number of the medium. Radios with the same number share a medium."""
    mcs: Octet
    """The index of modulation and coding, 0 to 31."""
    width_mhz: Natural
    short_guard: bool
    loss: float
    """The probability that a frame is lost on the air."""
    aggregate: Natural
    """The largest number of frames in an aggregate, 1 to 32."""
    airtime_ns: Natural
    """The longest airtime of an aggregate."""
    driver: Natural
    """The number of frames at which the driver's queue is full."""


class RateStepSpec(_Spec, frozen=True, kw_only=True):
    """A rate of a link from a time on."""

    at_ns: Natural
    rate_bps: Natural
    """The rate; at zero, the link sends nothing."""


class LinkSpec(_Spec, frozen=True, kw_only=True):
    """One link in one direction: a rate, and the discipline in front of it."""

    name: str
    rate_bps: Natural = 0
    """The rate of the link. For an 802.11n link, it is the radio's own rate, or zero."""
    rate_steps: tuple[RateStepSpec, ...] | UnsetType = UNSET
    """The changes of the rate, in order of time."""
    opportunities_ms: tuple[Natural, ...] | UnsetType = UNSET
    """The gaps between the delivery opportunities of a trace, whose mean rate is `rate_bps`."""
    qdisc: KindSpec
    shaper: Shaper | UnsetType = UNSET
    """The shaper of the link; by default the wire itself."""
    overhead: OverheadSpec = OverheadSpec()
    pipe_delay_ns: Natural | UnsetType = UNSET
    """The part of the delay after the link that belongs to the same pipe of dummynet."""
    own: bool | UnsetType = UNSET
    """Whether the link is the network interface of the hosts that send through it."""
    wifi: WifiSpec | UnsetType | None = UNSET
    """The sending radio, if the link is an 802.11n link."""


class RouteSpec(_Spec, frozen=True, kw_only=True):
    """A route through the network: links in order, and the delay and impairments after them."""

    links: tuple[Natural, ...]
    """Indices into the links of the trial."""
    delay_ns: Natural
    loss: float = 0.0
    jitter_ns: Natural | UnsetType = UNSET
    """The largest extra delay of a packet, by default none. Extra delays are drawn uniformly."""
    reorder: bool | UnsetType = UNSET
    """Whether jitter may reorder packets (netem) or only delay them; by default it only delays."""


class TcpSpec(_Spec, frozen=True, kw_only=True):
    """The settings of one TCP endpoint."""

    profile: str = "linux"
    cc: KindSpec | None = None
    """The congestion control; the host's own if absent."""
    ecn: bool = False
    send_buffer: Natural | None = None
    """The send buffer in bytes; automatic if absent."""
    receive_buffer: Natural | None = None
    """The receive buffer in bytes; automatic if absent."""
    mtu: Natural = 1_500
    nodelay: bool | None = None
    """Overrides the application's own choice of `TCP_NODELAY`."""
    quickack: bool | None = None
    """Overrides the application's own choice of quick acknowledgements."""
    settings: dict[str, Argument] = {}
    """Further settings of the host."""


class AppSpec(_Spec, frozen=True, kw_only=True):
    """One application: its generator, its active time, its routes and the TCPs at its ends."""

    name: str
    app: KindSpec
    """The generator, and its parameters."""
    priority: Octet | UnsetType | None = UNSET
    """Linux's `skb->priority` of the application's packets. By default the DSCP determines it, or
    the application chooses it."""
    host: str | UnsetType | None = UNSET
    """The name of the host in the home. Applications with the same host name share the host.

    By default the application is alone on its host."""
    dscp: Octet | UnsetType | None = UNSET
    """The DSCP of the application's packets in both directions; by default zero."""
    start_ns: Natural
    stop_ns: Natural | None = None
    """The stop time; the end of the trial if absent."""
    up: RouteSpec
    down: RouteSpec
    home: TcpSpec = TcpSpec()
    wan: TcpSpec = TcpSpec()

    def route(self, direction: str) -> RouteSpec:
        """The route in the direction "up" or "down"."""
        return self.up if direction == "up" else self.down

    def tcp(self, side: str) -> TcpSpec:
        """The TCP at the side "home" or "wan"."""
        return self.home if side == "home" else self.wan


class MeasureSpec(_Spec, frozen=True, kw_only=True):
    """The measurements to keep."""

    enabled: bool = True
    from_ns: Natural = 0
    """The start of the measured interval; time series begin with the trial."""
    to_ns: Natural | None = None
    """The end of the measured interval; the end of the trial if absent."""
    window_ns: Natural = 1_000_000_000
    """The width of a throughput window."""
    step_ns: Natural = 250_000_000
    """The time between the starts of successive windows."""
    sample_ns: Natural = 100_000_000
    """The interval at which TCPs and queues are sampled; zero if they are not sampled."""
    packets: bool = False
    """Whether every packet is kept, for tables and captures."""
    series: bool = True
    points: Natural = 1_024
    """The largest number of points of a time series."""


class TrialSpec(_Spec, frozen=True, kw_only=True):
    """One resolved trial, with everything that an engine needs to run it."""

    seed: Natural
    duration_ns: Natural
    links: tuple[LinkSpec, ...]
    apps: tuple[AppSpec, ...]
    measure: MeasureSpec = MeasureSpec()
    host_jitter_ns: Natural = 0
    """The largest extra delay that a host adds to a packet it receives."""
    start_jitter_ns: Natural = 0
    """The largest extra delay of an application's start."""

    @classmethod
    def read(cls, text: str) -> TrialSpec:
        """The trial in a JSON text; raises `ValueError` with the place of the first error."""
        return msgspec.json.decode(text, type=cls)

    @property
    def duration_s(self) -> float:
        """The length of the trial in seconds."""
        return self.duration_ns / 1e9

    @property
    def interval_ns(self) -> tuple[int, int]:
        """The start and the end of the measured interval."""
        to_ns = self.measure.to_ns
        return self.measure.from_ns, self.duration_ns if to_ns is None else to_ns

    def apps_by_name(self) -> dict[str, AppSpec]:
        """The applications by name."""
        return {app.name: app for app in self.apps}

    def with_seed(self, seed: int) -> TrialSpec:
        """A copy of this trial with the seed `seed`."""
        return msgspec.structs.replace(self, seed=seed)

    def members(self) -> dict[str, Any]:
        """The trial as JSON values."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found

    def quick_text(self) -> str:
        """The trial as JSON, for a check. Its bytes may change."""
        return msgspec.json.encode(self).decode()

    def text(self) -> str:
        """The trial as JSON, in the form that campaigns store. Its bytes must not change."""
        return json.dumps(values(self), separators=(",", ":"))

    def canonical_text(self, *, seed: bool = True) -> str:
        """The trial as JSON with sorted members, with or without its seed.

        Trials that are equal in everything but the seed have equal texts without it.
        """
        found = values(self)
        if not seed:
            del found["seed"]
        return json.dumps(found, sort_keys=True, separators=(",", ":"), allow_nan=False)


def text_digest(text: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a trial's JSON with sorted members."""
    canonical = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def values(part: Struct) -> dict[str, Any]:
    """A part of a trial as values that `json.dumps` accepts. Sequences are tuples."""
    found: dict[str, Any] = msgspec.to_builtins(part)
    return found
