"""Maps locations in a resolved trial back to keys of its scenario."""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.engines.engine import Address
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.scenario.applications import App, Host
from aqmlab.scenario.links import ROUTE_NAMES
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.normalise import Keys

_NAMES = {
    "rate_bps": "rate",
    "rate_steps": "rate",
    "opportunities_ms": "rate",
    "duration_ns": "duration",
    "delay_ns": "rtt",
    "airtime_ns": "airtime",
    "start_ns": "start",
    "stop_ns": "stop",
    **{f"{name}_ns": name for name in ("from", "to", "window", "step", "sample")},
    **{name: key for key, name in ROUTE_NAMES.items()},
}
"""The scenario's key for each quantity of a trial."""


def in_scenario(scenario: Scenario, spec: TrialSpec, at: Address) -> Keys:
    """The keys of `scenario` that determine the value at the location `at` in `spec`."""
    if at[0] == "links" and len(at) > 1 and isinstance(at[1], int):
        keys = tuple(_NAMES.get(str(key), str(key)) for key in at[2:])
        place, _, way = spec.links[at[1]].name.rpartition("-")
        if place == "wifi":
            return ("path", "wifi", *(keys[1:] if keys[:1] == ("wifi",) else keys))
        return ("path", "lan", *keys) if place == "lan" else ("path", *place.split(), way, *keys)
    if at[0] == "apps" and len(at) > 2 and isinstance(at[1], int):
        name = _app(scenario, spec.apps[at[1]].name)
        way = str(at[2])
        keys = tuple(_NAMES.get(str(key), str(key)) for key in at[3:])
        if way in ("up", "down"):
            return _route(scenario, name, way, keys)
        if way in ("home", "wan") and keys:
            return _host(scenario, name, way, keys)
        return ("apps", name, *(keys if way == "app" else (_NAMES.get(way, way),)))
    if at[:1] == ("links",):  # the problem is the number of links
        further = [name for name in ("lan", "wifi", "modem") if getattr(scenario.path, name)]
        return ("path", *further[:1])
    if at in (("host_jitter_ns",), ("start_jitter_ns",)):
        return ("path", str(at[0]).removesuffix("_ns"))
    return tuple(_NAMES.get(str(key), str(key)) for key in at)


def _route(scenario: Scenario, name: str, way: str, keys: Keys) -> Keys:
    if keys[:1] != ("rtt",):
        return ("path", way, *keys)
    if scenario.apps[name].rtt is not None:
        return ("apps", name, "rtt")
    return ("path" if scenario.defaults.rtt is None else "defaults", "rtt")


def _app(scenario: Scenario, own_name: str) -> str:
    """The application of which `own_name` is a copy, or `own_name` itself."""
    return own_name if own_name in scenario.apps else own_name.rpartition("-")[0]


def _host(scenario: Scenario, name: str, side: str, keys: Keys) -> Keys:
    for place, host in _hosts(scenario, scenario.apps[name], name, side):
        if getattr(host, keys[0], None) is not None or keys[0] in host.settings:
            return (*place, *keys)
    return ("apps", name)


def _hosts(scenario: Scenario, app: App, name: str, side: str) -> Iterator[tuple[Keys, Host]]:
    """Yields the tables that describe one end of an application, highest precedence first."""
    for place, timing in ((("apps", name), app), (("defaults",), scenario.defaults)):
        for key in (side, "tcp"):
            said = getattr(timing, key)
            if isinstance(said, str):
                yield ("hosts", said), scenario.hosts[said]
                return
            if said is not None:
                yield (*place, key), said
    if side in scenario.hosts:
        yield ("hosts", side), scenario.hosts[side]
