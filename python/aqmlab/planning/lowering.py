"""Resolves scenarios to trials in the simulator's form: base units, all values explicit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from msgspec import UNSET

from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import (
    AppSpec,
    KindSpec,
    LinkSpec,
    MeasureSpec,
    OverheadSpec,
    RouteSpec,
    TcpSpec,
    TrialSpec,
    WifiSpec,
)
from aqmlab.scenario import catalogue
from aqmlab.scenario.applications import App, Host, Timing
from aqmlab.scenario.fields import Choice, in_base_units
from aqmlab.scenario.links import Hop, Link, Overhead
from aqmlab.scenario.model import Measure, Path, Scenario
from aqmlab.scenario.parameters import Parameter
from aqmlab.scenario.quantities import Duration, Rate, Share, Size
from aqmlab.scenario.wifi import Wifi


@dataclass(frozen=True, slots=True)
class Resolved:
    """A trial with the seed 0, and its warnings."""

    spec: TrialSpec
    warnings: tuple[str, ...] = ()


def rtt_base_ms(spec: TrialSpec) -> dict[str, float]:
    """The round-trip propagation delay of each application of a trial, in milliseconds."""
    return {app.name: (app.up.delay_ns + app.down.delay_ns) / 1e6 for app in spec.apps}


def resolve(scenario: Scenario) -> Resolved:
    """The trial of `scenario` without its loops.

    Raises `ScenarioError` if values are valid separately but not in combination.
    """
    duration_ns = scenario.duration.ns
    warnings: list[str] = []
    links = _links(scenario.path)
    apps = _apps(scenario, links)
    spec = TrialSpec(
        seed=0,
        duration_ns=duration_ns,
        links=links,
        apps=apps,
        measure=measure(scenario.measure, duration_ns, warnings),
        host_jitter_ns=scenario.path.host_jitter.ns,
        start_jitter_ns=scenario.path.start_jitter.ns,
    )
    return Resolved(spec, (*_of_starts(spec, scenario), *_of_targets(links), *warnings))


# --- Links -----------------------------------------------------------------------------------


def _links(path: Path) -> tuple[LinkSpec, ...]:
    """Both links of the gateway, and those of the home network and of the modem, if any."""
    up_ns, down_ns = _delays_ns(path.rtt)
    modem = path.modem
    links = [
        _link("up", path.up, modem.up if modem else None, up_ns),
        _link("down", path.down, modem.down if modem else None, down_ns),
    ]
    if path.lan is not None:
        # The home's hosts share this link and its queue.
        links += [_lan("lan-up", path.lan, own=True), _lan("lan-down", path.lan, own=False)]
    if path.wifi is not None:
        links += [_radio(path.wifi, "up", own=True), _radio(path.wifi, "down", own=False)]
    if modem is not None:
        links += [_hop("modem-up", modem.up), _hop("modem-down", modem.down)]
    return tuple(links)


def _hop(name: str, hop: Hop) -> LinkSpec:
    return LinkSpec(
        name=name,
        rate_bps=hop.rate.bps,
        qdisc=kind_spec(hop.qdisc),
        overhead=overhead_spec(hop.overhead),
    )


def _link(name: str, link: Link, line: Hop | None, delay_ns: int) -> LinkSpec:
    is_pipe = link.pipe_delays and link.shaper == "dummynet"
    return LinkSpec(
        name=name,
        rate_bps=_rate_bps(link.rate, line),
        qdisc=kind_spec(link.qdisc),
        shaper=link.shaper,
        overhead=overhead_spec(link.overhead),
        pipe_delay_ns=delay_ns if is_pipe else UNSET,
    )


def _rate_bps(rate: Rate | Share, line: Hop | None) -> int:
    """A rate in bit/s. A share refers to the rate of `line`, which `Path` requires."""
    if isinstance(rate, Rate):
        return rate.bps
    assert line is not None
    return max(1, round(rate.fraction * line.rate.bps))


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
    """The link of a direction ("up" or "down") on the air."""
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
    """The overhead of a link, also by its name."""
    known = Overhead.model_validate(overhead)
    return OverheadSpec(
        bytes=known.bytes, minimum=known.minimum, atm=known.atm, counted=known.counted
    )


def kind_spec(choice: Choice) -> KindSpec:
    """A discipline or a controller, with its parameters in base units."""
    return _kind_spec(choice.kind, choice.params)


def _kind_spec(kind: str, params: Mapping[str, Parameter]) -> KindSpec:
    return KindSpec(kind=kind, params=in_base_units(params))


def _of_targets(links: Sequence[LinkSpec]) -> Iterator[str]:
    """Yields a warning for each CoDel whose `target` is not well below its `interval`.

    RFC 8289, section 3.2, recommends 5 to 10 % of the round trip that `interval` represents. Slow
    links need more for a single packet (tc-codel(8)), so the warning starts above one half.
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


# --- Applications ----------------------------------------------------------------------------


def _apps(scenario: Scenario, links: Sequence[LinkSpec]) -> tuple[AppSpec, ...]:
    found: dict[str, AppSpec] = {}
    for name, app in scenario.apps.items():
        for one in _copies(scenario, links, name, app):
            if one.name in found:
                problem = f"there are two applications called `{one.name}`"
                raise ScenarioError(f"apps.{name}", problem, "rename one")
            found[one.name] = one
    return tuple(found.values())


def _copies(
    scenario: Scenario, links: Sequence[LinkSpec], name: str, app: App
) -> Iterator[AppSpec]:
    """Yields the copies of an application, which are numbered from 1 if there are several."""
    copies = _starts_and_rtts(app, scenario.defaults)
    ups, downs = _routes(links)
    for number, (start_ns, rtt) in enumerate(copies, start=1):
        up_ns, down_ns = _delays_ns(rtt or scenario.path.rtt)
        yield AppSpec(
            name=name if len(copies) == 1 else f"{name}-{number}",
            app=_kind_spec(app.kind, app.params),
            priority=app.priority,
            start_ns=start_ns,
            stop_ns=_stop(name, app, scenario.defaults, start_ns),
            up=_route(ups, scenario.path.up, up_ns),
            down=_route(downs, scenario.path.down, down_ns),
            home=tcp(f"apps.{name}.home", _end(scenario, app, "home")),
            wan=tcp(f"apps.{name}.wan", _end(scenario, app, "wan")),
        )


def _routes(links: Sequence[LinkSpec]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The indices of the links of the upstream and of the downstream route."""
    number = {link.name: at for at, link in enumerate(links)}
    up = ("lan-up", "wifi-up", "up", "modem-up")
    down = ("modem-down", "down", "lan-down", "wifi-down")
    return _numbers(number, up), _numbers(number, down)


def _numbers(number: Mapping[str, int], names: Sequence[str]) -> tuple[int, ...]:
    return tuple(number[name] for name in names if name in number)


def _of_starts(spec: TrialSpec, scenario: Scenario) -> Iterator[str]:
    """Yields warnings of applications that start, or may start, after the end of the trial."""
    length = scenario.duration
    for app in spec.apps:
        if app.start_ns >= spec.duration_ns:
            start = Duration(app.start_ns)
            yield f"apps.{app.name} starts at {start}, after the end of the trial of {length}"
    late = [
        app.name
        for app in spec.apps
        if app.start_ns < spec.duration_ns <= app.start_ns + spec.start_jitter_ns
    ]
    if late:
        others = f" and {len(late) - 1} more" if len(late) > 1 else ""
        yield (
            f"path.start_jitter is {scenario.path.start_jitter}, so apps.{late[0]}{others} may"
            f" start after the end of the trial of {length}"
        )


def _starts_and_rtts(app: App, defaults: Timing) -> list[tuple[int, Duration | None]]:
    """The start in ns and the round-trip time of each copy of an application."""
    start = app.start if app.start is not None else defaults.start
    if isinstance(start, tuple):
        starts = [one.ns for one in start]
    else:
        starts = [start.ns + number * app.stagger.ns for number in range(app.count)]
    rtt = app.rtt if app.rtt is not None else defaults.rtt
    rtts = list(rtt) if isinstance(rtt, tuple) else [rtt] * len(starts)
    if len(rtts) != len(starts):
        raise ScenarioError(
            "defaults.rtt", f"{len(rtts)} round-trip times for {len(starts)} copies"
        )
    return list(zip(starts, rtts, strict=True))


def _stop(name: str, app: App, defaults: Timing, start_ns: int) -> int | None:
    said = app if app.stop or app.duration else defaults
    if said.duration is not None:
        return start_ns + said.duration.ns
    if said.stop is None:
        return None
    stop_ns = said.stop.ns
    if stop_ns <= start_ns:
        raise ScenarioError(
            f"apps.{name}.stop",
            f"`{said.stop}` is not after the start, {Duration(start_ns)}",
        )
    return stop_ns


def _delays_ns(rtt: Duration) -> tuple[int, int]:
    """Splits a round-trip time without queues into the upstream and the downstream delay."""
    return rtt.ns // 2, rtt.ns - rtt.ns // 2


def _route(links: tuple[int, ...], way: Link, delay_ns: int) -> RouteSpec:
    impairments: dict[str, Any] = dict(way.route_members())
    return RouteSpec(links=links, delay_ns=delay_ns, **impairments)


def _end(scenario: Scenario, app: App, side: str) -> Host:
    """The host at one end. The application precedes the defaults and the side's host."""
    host = scenario.hosts.get(side, Host())
    for timing in (scenario.defaults, app):
        for said in (timing.tcp, getattr(timing, side)):
            if isinstance(said, str):
                host = scenario.hosts[said]
            elif said is not None:
                host = said.over(host)
    return host


def tcp(where: str, host: Host) -> TcpSpec:
    """The settings of one TCP endpoint in the simulator's form.

    Raises `ScenarioError` at `where` for a setting that the endpoint's profile lacks.
    """
    profile = host.profile or "linux"
    known = catalogue.load()
    kind = known.find("profiles", profile)
    for name in host.settings:
        problem = known.refuse_setting(profile, name)
        if problem:
            raise problem.at(where)
    return TcpSpec(
        profile=profile,
        cc=kind_spec(host.cc) if host.cc else None,
        ecn=bool(host.ecn),
        send_buffer=_buffer(host.send_buffer),
        receive_buffer=_buffer(host.receive_buffer),
        mtu=host.mtu.bytes if host.mtu is not None else 1_500,
        nodelay=host.nodelay,
        quickack=host.quickack,
        settings={name: kind.params[name].read(value) for name, value in host.settings.items()},
    )


def _buffer(size: Size | str | None) -> int | None:
    return size.bytes if isinstance(size, Size) else None


# --- Measurements ----------------------------------------------------------------------------


def measure(said: Measure, duration_ns: int, warnings: list[str]) -> MeasureSpec:
    """The measurements of a trial of `duration_ns` in the simulator's form."""
    from_ns = said.from_.ns
    to_ns = said.to.ns if said.to is not None else None
    end = Duration(duration_ns)
    if from_ns >= duration_ns:
        raise ScenarioError(
            "measure.from",
            f"`{said.from_}` is not before the end of the trial, {end}",
            "make the trial longer, or set measure.from",
        )
    if to_ns is not None and to_ns > duration_ns:
        warnings.append(
            f"measure.to is {said.to}, after the end of the trial; statistics end at {end}"
        )
        to_ns = duration_ns
    return MeasureSpec(
        enabled=said.enabled,
        from_ns=from_ns,
        to_ns=to_ns,
        window_ns=said.window.ns,
        step_ns=said.step.ns,
        sample_ns=said.sample.ns,
        packets=said.packets,
        series=said.series,
        points=said.points,
    )
