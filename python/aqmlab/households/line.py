"""Access lines: their framing, their unmanaged queues, and the network devices in front of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources

from aqmlab.base.errors import BadValueError, shown
from aqmlab.scenario import merge
from aqmlab.scenario.fields import Value
from aqmlab.scenario.links import Overhead
from aqmlab.scenario.quantities import Duration, Rate

_PACKETS = re.compile(r"(\d{1,9}) packets")


class Queues(Value):
    """The queue before each direction of a line, as "500 packets" or "250 ms"."""

    down: str
    up: str


class Device(Value):
    """The network device of a gateway before a line, on Linux and on FreeBSD."""

    linux: str
    bsd: str
    counted: int


class Line(Value):
    """A kind of access line."""

    title: str
    overhead: Overhead
    queue: Queues
    device: Device
    source: str

    def fifo(self, way: str, rate: Rate) -> str:
        """The unmanaged queue of one direction at a rate, as a discipline of a scenario."""
        stated: str = getattr(self.queue, way)
        packets = _PACKETS.fullmatch(stated)
        if packets is not None:
            return f"pfifo limit={packets[1]}"
        # Framing that the queue does not count also takes transmission time, so the queue may last
        # slightly longer than stated.
        size_bytes = rate.bps * Duration.parse(stated).ns // 8_000_000_000
        return f"bfifo limit={max(size_bytes, _LEAST_BYTES)}B"


_LEAST_BYTES = 15_140
"""The size of ten full-sized Ethernet frames, the minimum size of a modem's queue."""


@functools.cache
def lines() -> Mapping[str, Line]:
    """Every access line by name."""
    text = (resources.files("aqmlab.households") / "lines.toml").read_text("utf-8")
    return {name: Line(**table) for name, table in merge.read_toml(text, "lines.toml").data.items()}


def find(name: object) -> Line:
    """The line called `name`; raises `BadValueError` if there is none."""
    if not isinstance(name, str) or name not in lines():
        raise BadValueError.unknown("line", shown(name), lines())
    return lines()[name]
