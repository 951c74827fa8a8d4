"""The links of a trial: the gateway, the home network, the radios and the modem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import cast

from msgspec import UNSET, UnsetType

from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import (
    KindSpec,
    LinkSpec,
    OverheadSpec,
    RateStepSpec,
    Shaper,
    WifiSpec,
)
from aqmlab.planning import delivery_traces
from aqmlab.scenario import catalogue
from aqmlab.scenario.fields import Choice, in_base_units
from aqmlab.scenario.line_rates import RateSteps, RateTrace
from aqmlab.scenario.links import Hop, Link, Overhead
from aqmlab.scenario.model import Path
from aqmlab.scenario.parameters import Parameter
from aqmlab.scenario.quantities import Duration, Rate, Share
from aqmlab.scenario.wifi import Wifi


@dataclass(frozen=True, slots=True)
class TraceReader:
    """Reads the delivery traces of a trial."""

    folder: FilePath
    """The folder of the scenario, which holds the traces."""
    duration_ns: int
    """The length of the trial."""

    def read(self, where: str, name: str) -> delivery_traces.Cut:
        """The opportunities of the trace `name` in this trial.

        Raises `ScenarioError` with the location `where` if the file is not a trace.
        """
        return delivery_traces.read(where, self.folder, name, self.duration_ns)


def lowered_links(path: Path, traces: TraceReader) -> tuple[LinkSpec, ...]:
    """The links of the gateway, and the links of the home network and of the modem, if any."""
    up_ns, down_ns = delays_ns(path.rtt)
    modem = path.modem
    links = [
        _link("up", path.up, modem.up if modem else None, up_ns, traces),
        _link("down", path.down, modem.down if modem else None, down_ns, traces),
    ]
    if path.lan is not None:
        # The home's hosts share this link and its queue.
        links += [_lan("lan-up", path.lan, own=True), _lan("lan-down", path.lan, own=False)]
    if path.wifi is not None:
        links += [_radio(path.wifi, "up", own=True), _radio(path.wifi, "down", own=False)]
    if modem is not None:
        links += [_hop("up", modem.up, traces), _hop("down", modem.down, traces)]
    return tuple(links)


def _hop(way: str, hop: Hop, traces: TraceReader) -> LinkSpec:
    rate = _line_rate(f"path.modem.{way}.rate", hop.rate, traces)
    return LinkSpec(
        name=f"modem-{way}",
        rate_bps=rate.bps,
        rate_steps=rate.steps,
        opportunities_ms=rate.opportunities_ms,
        qdisc=kind_spec(hop.qdisc),
        overhead=overhead_spec(hop.overhead),
    )


@dataclass(frozen=True, slots=True)
class _LineRate:
    """The rate of a line in a trial, as the members of `LinkSpec`."""

    bps: int
    steps: tuple[RateStepSpec, ...] | UnsetType = UNSET
    opportunities_ms: tuple[int, ...] | UnsetType = UNSET


def _line_rate(where: str, rate: Rate | RateSteps | RateTrace, traces: TraceReader) -> _LineRate:
    if isinstance(rate, Rate):
        return _LineRate(rate.bps)
    if isinstance(rate, RateTrace):
        cut = traces.read(f"{where}.trace", rate.trace)
        return _LineRate(cut.mean_bps, opportunities_ms=cut.gaps_ms)
    first, *later = (
        RateStepSpec(at_ns=at.ns, rate_bps=rate.bps if rate else 0) for at, rate in rate.steps
    )
    return _LineRate(first.rate_bps, steps=tuple(later) or UNSET)


def _link(name: str, link: Link, line: Hop | None, delay_ns: int, traces: TraceReader) -> LinkSpec:
    is_pipe = link.pipe_delays and link.shaper == "dummynet"
    if isinstance(link.rate, Share):
        rate = _LineRate(_share_bps(link.rate, line))
    else:
        rate = _line_rate(f"path.{name}.rate", link.rate, traces)
    shaper, rate_bps, qdisc = _shaped(name, link, rate.bps)
    return LinkSpec(
        name=name,
        rate_bps=rate_bps,
        rate_steps=rate.steps,
        opportunities_ms=rate.opportunities_ms,
        qdisc=qdisc,
        shaper=shaper,
        overhead=overhead_spec(link.overhead),
        pipe_delay_ns=delay_ns if is_pipe else UNSET,
    )


def _shaped(way: str, link: Link, rate_bps: int) -> tuple[Shaper, int, KindSpec]:
    """The shaper, the rate and the discipline of a link before a wire of `rate_bps`.

    CAKE with a bandwidth is its own shaper, unless the link states a shaper. If the link states the
    shaper `cake` and CAKE has no bandwidth, the shaper has the link's rate.
    """
    qdisc = kind_spec(link.qdisc)
    bandwidth_bps = cast(int | None, qdisc.params.get("bandwidth")) if _is_cake(link) else None
    shaper = link.shaper or ("cake" if bandwidth_bps else "line")
    if shaper != "cake":
        return shaper, rate_bps, qdisc
    if not _is_cake(link):
        problem = f"`cake` is the shaper of the discipline `cake`, not of `{qdisc.kind}`"
        raise ScenarioError(f"path.{way}.shaper", problem, 'write qdisc = "cake"')
    if bandwidth_bps is None:
        params = qdisc.params | {"bandwidth": rate_bps}
        return shaper, rate_bps, KindSpec(kind=qdisc.kind, params=params)
    if bandwidth_bps > rate_bps:
        problem = f"CAKE's bandwidth, {Rate(bandwidth_bps)}, is above the link's rate"
        hint = f'at most {Rate(rate_bps)}, or shaper = "line" for a queue of the line itself'
        raise ScenarioError(f"path.{way}.qdisc", problem, hint)
    return shaper, bandwidth_bps, qdisc


def _is_cake(link: Link) -> bool:
    return link.qdisc.kind == "cake"


def _share_bps(share: Share, line: Hop | None) -> int:
    """The rate in bit/s of a share of the rate of `line`.

    `Path` refuses a share without a line, and a share of a rate that varies.
    """
    assert line is not None
    assert isinstance(line.rate, Rate)
    return max(1, round(share.fraction * line.rate.bps))


def _lan(name: str, rate: Rate, *, own: bool) -> LinkSpec:
    return LinkSpec(
        name=name,
        rate_bps=rate.bps,
        qdisc=KindSpec(kind="pfifo", params={"limit": 1000}),
        # IEEE 802.3: header, check sequence, preamble and gap, with frames of at least 64 bytes.
        overhead=overhead_spec("ethernet-wire"),
        own=own,
    )


def _radio(wifi: Wifi, way: str, *, own: bool) -> LinkSpec:
    """The link of a direction ("up" or "down") over Wi-Fi."""
    down, _, up = wifi.mcs.partition("/")
    mcs = int(up if way == "up" and up else down)
    width_mhz = int(wifi.width.split()[0])
    rate_bps = _core.wifi_rate(mcs, width_mhz, wifi.short_guard)
    assert rate_bps is not None  # `Wifi` has only schemes and widths of the standard.
    return LinkSpec(
        name=f"wifi-{way}",
        rate_bps=rate_bps,
        qdisc=kind_spec(wifi.qdisc),
        overhead=overhead_spec("ethernet"),
        own=own,
        wifi=WifiSpec(
            cell=0,
            mcs=mcs,
            width_mhz=width_mhz,
            short_guard=wifi.short_guard,
            loss=wifi.loss.fraction,
            aggregate=wifi.aggregate,
            airtime_ns=wifi.airtime.ns,
            driver=wifi.driver,
        ),
    )


def overhead_spec(overhead: Overhead | str) -> OverheadSpec:
    """The overhead of a link, from its name or its members."""
    known = Overhead.model_validate(overhead)
    return OverheadSpec(
        bytes=known.bytes, minimum=known.minimum, atm=known.atm, counted=known.counted
    )


def kind_spec(choice: Choice) -> KindSpec:
    """A discipline or a controller, with its parameters in base units."""
    return parameters_spec(choice.kind, choice.params)


def parameters_spec(kind: str, params: Mapping[str, Parameter]) -> KindSpec:
    return KindSpec(kind=kind, params=in_base_units(params))


def target_warnings(links: Sequence[LinkSpec]) -> Iterator[str]:
    """Yields a warning for each CoDel whose `target` is not well below its `interval`.

    RFC 8289, section 3.2, recommends a target of 5 to 10 % of the round trip that `interval`
    represents. Slow links need a higher target, because the transmission of a single packet takes
    longer than a low target (tc-codel(8)). A warning therefore requires a target of more than half
    of the interval.
    """
    for link in links:
        name, given = link.qdisc.kind, link.qdisc.params
        known = catalogue.load()["disciplines"][name].params
        if "target" not in known or "interval" not in known:
            continue
        target_ns, interval_ns = (
            cast(int, given.get(one, known[one].default)) for one in ("target", "interval")
        )
        if 2 * target_ns > interval_ns:
            yield (
                f"the target of {name}, {Duration(target_ns)}, is not well below"
                f" its interval, {Duration(interval_ns)}; RFC 8289 recommends 5 to"
                " 10 %"
            )


def delays_ns(rtt: Duration) -> tuple[int, int]:
    """Splits a round-trip time without queues into the delays up and down, in nanoseconds."""
    return rtt.ns // 2, rtt.ns - rtt.ns // 2
