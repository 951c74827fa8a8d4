"""The access line that a scenario states as `path.modem`."""

from __future__ import annotations

from typing import Any

from aqmlab.base.errors import ScenarioError
from aqmlab.households.line import Device, Line, Queues
from aqmlab.scenario.fields import Qdisc, plain
from aqmlab.scenario.model import Modem
from aqmlab.scenario.quantities import Rate

ETHERNET = Device(linux="eth0", bsd="em0", counted=14)
"""The network device of a gateway whose line is not one of the built-in lines."""


class ModemLine(Line):
    """A line whose unmanaged queues are the disciplines of a scenario's modem."""

    down: Qdisc
    up: Qdisc

    def fifo(self, way: str, rate: Rate) -> Any:
        """The discipline of one direction, which is the same at every rate."""
        return plain(getattr(self, way))


def line_of(modem: Modem) -> ModemLine:
    """The line of a modem; raises `ScenarioError` if the directions have different framings."""
    if modem.down.overhead != modem.up.overhead:
        problem = "the directions differ, but the settings of a gateway state one overhead"
        hint = "set the same `path.modem.overhead` for both directions, or name a `--line`"
        raise ScenarioError("path.modem.overhead", problem, hint)
    return ModemLine(
        title="the scenario's line",
        overhead=modem.up.overhead,
        queue=Queues(down="path.modem.down.qdisc", up="path.modem.up.qdisc"),
        device=ETHERNET,
        source="the scenario",
        down=modem.down.qdisc,
        up=modem.up.qdisc,
    )
