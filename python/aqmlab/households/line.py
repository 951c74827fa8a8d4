"""Access lines: their framing, their unmanaged queues, and the network devices in front of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources
from typing import Annotated

from pydantic import AfterValidator

from aqmlab.base.errors import BadValueError, shown
from aqmlab.households.tier import rates_of, tier_of
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
    """The network device of a gateway before a line, on Linux and on FreeBSD.

    `counted` is the number of bytes beyond IP that Linux counts in the size of a packet.
    """

    linux: str
    bsd: str
    counted: int


class Line(Value):
    """A kind of access line.

    `words` are other names that people use for it. `fastest` is the fastest tier that the line can
    carry, if the line bounds the tiers.
    """

    title: str
    words: tuple[str, ...] = ()
    overhead: Overhead
    queue: Queues
    device: Device
    source: str
    fastest: Annotated[str, AfterValidator(tier_of)] | None = None

    def carries(self, tier: str) -> bool:
        """Whether both rates of a tier are possible on this line."""
        if self.fastest is None:
            return True
        rates = zip(rates_of(tier), rates_of(self.fastest), strict=True)
        return all(rate <= most for rate, most in rates)

    @property
    def limit(self) -> str:
        """A sentence on the fastest tier of this line; empty if the line does not bound it."""
        if self.fastest is None:
            return ""
        title = self.title[:1].upper() + self.title[1:]
        return f"{title} carries at most {self.fastest}. Faster speeds need another kind of line."

    def size_depends_on_rate(self, way: str) -> bool:
        """Whether the queue of one direction is a time, so that a faster line has more bytes."""
        return _PACKETS.fullmatch(getattr(self.queue, way)) is None

    def fifo(self, way: str, rate: Rate) -> str:
        """The unmanaged queue of one direction at a rate, as a discipline of a scenario."""
        stated: str = getattr(self.queue, way)
        packets = _PACKETS.fullmatch(stated)
        if packets is not None:
            return f"pfifo limit={packets[1]}"
        # Framing that the queue does not count also takes transmission time. A full queue may
        # therefore take slightly longer to drain than stated.
        size_bytes = rate.bps * Duration.parse(stated).ns // 8_000_000_000
        return f"bfifo limit={max(size_bytes, LEAST_QUEUE_BYTES)}B"


LEAST_QUEUE_BYTES = 15_140
"""The size of ten full-sized Ethernet frames, the minimum size of a modem's queue."""


@functools.cache
def lines() -> Mapping[str, Line]:
    """Every access line by name."""
    text = (resources.files("aqmlab.households") / "lines.toml").read_text("utf-8")
    return {name: Line(**table) for name, table in merge.read_toml(text, "lines.toml").data.items()}


def find(name: object) -> Line:
    """The line called `name`; raises `BadValueError` if there is none."""
    return lines()[name_of(name)]


def name_of(said: object) -> str:
    """The name of the line for `said`, which is the line's name or one of its other names.

    Raises `BadValueError` for any other value, and for "dsl", which has two meanings.

    >>> name_of("docsis"), name_of("Cable")
    ('docsis', 'docsis')
    """
    if not isinstance(said, str):
        raise BadValueError.unknown("line", shown(said), _all_names())
    word = said.strip().lower()
    if word == "dsl":
        hint = "write `adsl` for a line up to 24 Mbit/s, or `vdsl` for a faster line"
        raise BadValueError(f"`{shown(said)}` is either of two kinds of line", hint)
    for name, line in lines().items():
        if word == name or word in line.words:
            return name
    raise BadValueError.unknown("line", said, _all_names())


def _all_names() -> list[str]:
    """The usual name of every line, followed by its other names."""
    return [name for key, line in lines().items() for name in (key, *line.words)]
