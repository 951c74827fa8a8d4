"""Resolves scenarios to trials in the simulator's form: base units, all values explicit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aqmlab.base.errors import ScenarioError
from aqmlab.scenario import catalogue
from aqmlab.scenario.applications import App, Host, Timing
from aqmlab.scenario.fields import in_base_units
from aqmlab.scenario.links import Hop, Link, Overhead
from aqmlab.scenario.model import Measure, Path, Scenario
from aqmlab.scenario.quantities import Duration, Rate, Share, Size

_LAN_OVERHEAD = Overhead.model_validate("ethernet-wire")
"""IEEE 802.3: header, check sequence, preamble and gap, with frames of at least 64 bytes."""


@dataclass
class Resolved:
    """A trial without its seed, and its warnings."""

    spec: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def rtt_base_ms(spec: dict[str, Any]) -> dict[str, float]:
    """The round-trip propagation delay of each application of a trial, in milliseconds."""
    return {
        app["name"]: (app["up"]["delay_ns"] + app["down"]["delay_ns"]) / 1e6 for app in spec["apps"]
    }


def resolve(scenario: Scenario) -> Resolved:
    """The trial of `scenario` without its loops.

    Raises `ScenarioError` if values are valid separately but not in combination.
    """
    duration_ns = scenario.duration.ns
    path = scenario.path
    resolved = Resolved(
        {
            "seed": 0,
            "duration_ns": duration_ns,
            "links": _links(path),
            "apps": [],
            "measure": {},
            "host_jitter_ns": path.host_jitter.ns,
            "start_jitter_ns": path.start_jitter.ns,
        }
    )
    taken: set[str] = set()
    for name, app in scenario.apps.items():
        _add_app(resolved, scenario, name, app, taken)
    _warn_of_jitter(resolved, scenario)
    for link in resolved.spec["links"]:
        _warn_of_target(resolved, link)
    resolved.spec["measure"] = measure(scenario.measure, duration_ns, resolved.warnings)
    return resolved


def _links(path: Path) -> list[dict[str, Any]]:
    """Both links of the gateway, and those of the home network and of the modem, if any."""
    up_ns, down_ns = _delays_ns(path.rtt)
    modem = path.modem
    links = [
        _link("up", path.up, modem.up if modem else None, up_ns),
        _link("down", path.down, modem.down if modem else None, down_ns),
    ]
    if path.lan is not None:
        # The home's hosts share this link and its queue.
        links += [_lan("lan-up", path.lan, own=True), _lan("lan-down", path.lan)]
    if path.wifi is not None:
        links += [path.wifi.link("up", own=True), path.wifi.link("down")]
    if modem is not None:
        links += [_hop("modem-up", modem.up), _hop("modem-down", modem.down)]
    return links


def _routes(links: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """The indices of the links of the upstream and of the downstream route."""
    number = {link["name"]: at for at, link in enumerate(links)}
    up = [number[name] for name in ("lan-up", "wifi-up", "up", "modem-up") if name in number]
    down = ("modem-down", "down", "lan-down", "wifi-down")
    return up, [number[name] for name in down if name in number]


def _hop(name: str, hop: Hop) -> dict[str, Any]:
    return {
        "name": name,
        "rate_bps": hop.rate.bps,
        "qdisc": hop.qdisc.base_units(),
        "overhead": hop.overhead.base_units(),
    }


def _link(name: str, link: Link, line: Hop | None, delay_ns: int) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "name": name,
        "rate_bps": _rate_bps(link.rate, line),
        "qdisc": link.qdisc.base_units(),
        "shaper": link.shaper,
        "overhead": link.overhead.base_units(),
    }
    if link.pipe_delays and link.shaper == "dummynet":
        spec["pipe_delay_ns"] = delay_ns
    return spec


def _rate_bps(rate: Rate | Share, line: Hop | None) -> int:
    """A rate in bit/s. A share refers to the rate of `line`, which `Path` requires."""
    if isinstance(rate, Rate):
        return rate.bps
    assert line is not None
    return max(1, round(rate.fraction * line.rate.bps))


def _lan(name: str, rate: Rate, *, own: bool = False) -> dict[str, Any]:
    return {
        "name": name,
        "rate_bps": rate.bps,
        "qdisc": {"kind": "pfifo", "params": {"limit": 1000}},
        "overhead": _LAN_OVERHEAD.base_units(),
        "own": own,
    }


def _add_app(resolved: Resolved, scenario: Scenario, name: str, app: App, taken: set[str]) -> None:
    apps, duration_ns = resolved.spec["apps"], resolved.spec["duration_ns"]
    copies = _copies(app, scenario.defaults)
    ups, downs = _routes(resolved.spec["links"])
    for number, (start_ns, rtt) in enumerate(copies, start=1):
        own_name = name if len(copies) == 1 else f"{name}-{number}"
        if own_name in taken:
            raise ScenarioError(
                f"apps.{name}", f"there are two applications called `{own_name}`", "rename one"
            )
        taken.add(own_name)
        stop_ns = _stop(name, app, scenario.defaults, start_ns)
        if start_ns >= duration_ns:
            resolved.warnings.append(
                f"apps.{own_name} starts at {Duration(start_ns)}, after the end of"
                f" the trial of {scenario.duration}"
            )
        up_ns, down_ns = _delays_ns(rtt or scenario.path.rtt)
        apps.append(
            {
                "name": own_name,
                "app": _kind(app),
                "priority": app.priority,
                "start_ns": start_ns,
                "stop_ns": stop_ns,
                "up": _route(ups, scenario.path.up, up_ns),
                "down": _route(downs, scenario.path.down, down_ns),
                "home": tcp(f"apps.{name}.home", _end(scenario, app, "home")),
                "wan": tcp(f"apps.{name}.wan", _end(scenario, app, "wan")),
            }
        )


def _warn_of_target(resolved: Resolved, link: dict[str, Any]) -> None:
    """Warns if CoDel's `target` is not well below its `interval`.

    RFC 8289, section 3.2, recommends 5 to 10 % of the round trip that `interval` represents. Slow
    links need more for a single packet (tc-codel(8)), so the warning starts above one half.
    """
    name, given = link["qdisc"]["kind"], link["qdisc"]["params"]
    known = catalogue.load()["disciplines"][name].params
    if "target" not in known or "interval" not in known:
        return
    target_ns, interval_ns = (given.get(one, known[one].default) for one in ("target", "interval"))
    if 2 * target_ns > interval_ns:
        resolved.warnings.append(
            f"the target of {name}, {Duration(target_ns)}, is not well below its"
            f" interval, {Duration(interval_ns)}; RFC 8289 recommends 5 to 10 %"
        )


def _warn_of_jitter(resolved: Resolved, scenario: Scenario) -> None:
    """Warns of applications that start jitter may start after the end of the trial."""
    spec = resolved.spec
    late = [
        app["name"]
        for app in spec["apps"]
        if app["start_ns"] < spec["duration_ns"] <= app["start_ns"] + spec["start_jitter_ns"]
    ]
    if late:
        others = f" and {len(late) - 1} more" if len(late) > 1 else ""
        resolved.warnings.append(
            f"path.start_jitter is {scenario.path.start_jitter}, so apps.{late[0]}{others} may"
            f" start after the end of the trial of {scenario.duration}"
        )


def _copies(app: App, defaults: Timing) -> list[tuple[int, Duration | None]]:
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


def _kind(app: App) -> dict[str, Any]:
    return {"kind": app.kind, "params": in_base_units(app.params)}


def _delays_ns(rtt: Duration) -> tuple[int, int]:
    """Splits a round-trip time without queues into the upstream and the downstream delay."""
    return rtt.ns // 2, rtt.ns - rtt.ns // 2


def _route(links: list[int], way: Link, delay_ns: int) -> dict[str, Any]:
    return {"links": links, "delay_ns": delay_ns, **way.route_members()}


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


def tcp(where: str, host: Host) -> dict[str, Any]:
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
    return {
        "profile": profile,
        "cc": host.cc.base_units() if host.cc else None,
        "ecn": bool(host.ecn),
        "send_buffer": _buffer(host.send_buffer),
        "receive_buffer": _buffer(host.receive_buffer),
        "mtu": host.mtu.bytes if host.mtu is not None else 1_500,
        "nodelay": host.nodelay,
        "quickack": host.quickack,
        "settings": {name: kind.params[name].read(value) for name, value in host.settings.items()},
    }


def _buffer(size: Size | str | None) -> int | None:
    return size.bytes if isinstance(size, Size) else None


def measure(said: Measure, duration_ns: int, warnings: list[str]) -> dict[str, Any]:
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
    return {
        "enabled": said.enabled,
        "from_ns": from_ns,
        "to_ns": to_ns,
        "window_ns": said.window.ns,
        "step_ns": said.step.ns,
        "sample_ns": said.sample.ns,
        "packets": said.packets,
        "series": said.series,
        "points": said.points,
    }
