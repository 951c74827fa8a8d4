"""The commands that set up the gateway of a case, which the core's crate `advice` makes."""

from __future__ import annotations

import json
from typing import Any

from aqmlab import _core
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Managed
from aqmlab.advise.modem_line import ETHERNET
from aqmlab.households.line import Device
from aqmlab.scenario.fields import Qdisc
from aqmlab.scenario.links import Overhead
from aqmlab.scenario.parameters import Parameter, base_units
from aqmlab.scenario.quantities import Duration


def settings(setup: Setup, case: GatewayCase) -> dict[str, str]:
    """The commands that set up the gateway of a case; empty if there is nothing to set up."""
    choice = setup.gateways[case.gateway]
    ways = {way: _shaper(setup, case, way, getattr(choice, way)) for way in ("down", "up")}
    if not any(ways.values()):
        return {}
    overhead, device = setup.scenario.path.up.overhead, ETHERNET
    if setup.line is not None:
        overhead, device = setup.line.overhead, setup.line.device
    known = interface(overhead, device) | ways
    told: dict[str, str] = json.loads(_core.gateway_settings(json.dumps(known)))
    return told


def interface(overhead: Overhead, device: Device) -> dict[str, Any]:
    """The network device of a gateway and the framing of its line, as the core reads them."""
    return {
        "device": device.linux,
        "bsd_device": device.bsd,
        "framing": {
            "bytes": overhead.bytes,
            "minimum": overhead.minimum,
            "atm": overhead.atm,
            "counted": device.counted,
        },
    }


def discipline(qdisc: Qdisc) -> dict[str, Any]:
    """A discipline with its parameters, as tc spells them."""
    params = {name: _tc(value) for name, value in qdisc.params.items() if value is not None}
    return {"qdisc": qdisc.kind, "params": params}


def _shaper(
    setup: Setup, case: GatewayCase, way: str, managed: Managed | None
) -> dict[str, Any] | None:
    if managed is None or (managed.at == "line" and setup.line is not None):
        return None
    share = 100 if case.share is None else case.share
    return {"bps": getattr(case.tier, way).bps * share // 100, **discipline(managed.qdisc)}


def _tc(value: Parameter) -> bool | str:
    """A parameter as tc spells it: a switch, a number, a word, or a time with its unit."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Duration):
        return f"{value.base_units / 1000:.10g}us"
    return str(base_units(value))
