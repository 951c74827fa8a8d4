"""The applications of a trial: their copies, times, routes and TCP endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import UNSET

from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import (
    AppSpec,
    LinkSpec,
    RouteSpec,
    TcpSpec,
    TrialSpec,
)
from aqmlab.planning.links_spec import delays_ns, kind_spec, parameters_spec
from aqmlab.scenario import catalogue
from aqmlab.scenario.applications import App, Host, Timing
from aqmlab.scenario.links import Link
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Duration, Size


def lowered_apps(scenario: Scenario, links: Sequence[LinkSpec]) -> tuple[AppSpec, ...]:
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
    on_gateway = catalogue.load().find("apps", app.kind).on_gateway
    ups, downs = _routes(links, "gateway" if on_gateway else "home")
    kind = parameters_spec(app.kind, app.params)
    home = tcp(f"apps.{name}.home", _end(scenario, app, "home"))
    wan = tcp(f"apps.{name}.wan", _end(scenario, app, "wan"))
    for number, (start_ns, rtt) in enumerate(copies, start=1):
        up_ns, down_ns = delays_ns(rtt or scenario.path.rtt)
        yield AppSpec(
            name=name if len(copies) == 1 else f"{name}-{number}",
            app=kind,
            priority=app.priority,
            host=UNSET if app.host is None else app.host,
            dscp=UNSET if app.dscp is None else app.dscp,
            start_ns=start_ns,
            stop_ns=_stop(name, app, scenario.defaults, start_ns),
            up=_route(ups, scenario.path.up, up_ns),
            down=_route(downs, scenario.path.down, down_ns),
            home=home,
            wan=wan,
        )


def _routes(
    links: Sequence[LinkSpec], place: Literal["home", "gateway"]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The indices of the links of the upstream and of the downstream route.

    The packets of a program on the gateway do not pass through the home network.
    """
    number = {link.name: at for at, link in enumerate(links)}
    if place == "gateway":
        return _numbers(number, ("up", "modem-up")), _numbers(number, ("modem-down", "down"))
    up = ("lan-up", "wifi-up", "up", "modem-up")
    down = ("modem-down", "down", "lan-down", "wifi-down")
    return _numbers(number, up), _numbers(number, down)


def _numbers(number: Mapping[str, int], names: Sequence[str]) -> tuple[int, ...]:
    return tuple(number[name] for name in names if name in number)


def start_warnings(spec: TrialSpec, scenario: Scenario) -> Iterator[str]:
    """Yields warnings of applications that start, or may start, at or after the trial's end."""
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
    """The start in ns and the stated round-trip time, if any, of each copy of an application.

    Raises `ScenarioError` if `defaults.rtt` has another number of values than there are copies.
    """
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


def _route(links: tuple[int, ...], way: Link, delay_ns: int) -> RouteSpec:
    members = {"links": links, "delay_ns": delay_ns, **way.route_members()}
    return msgspec.convert(members, RouteSpec)


def _end(scenario: Scenario, app: App, side: str) -> Host:
    """The host at one end of an application.

    The application's settings override the scenario's defaults, which override the side's host. In
    the home, the host that `app.host` names replaces the side's host, if `scenario.hosts` has it.
    """
    own = app.host if side == "home" and app.host in scenario.hosts else side
    host = scenario.hosts.get(own or side, Host())
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
