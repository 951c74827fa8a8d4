"""Which of Flent's tests a trial is like, and what that test calls its series.

Flent plots by the test's name: it knows of each test which series there are, and what to draw of
them. A trial is given the first test whose parts its applications fill exactly. One that is like
none of them is given `rrul_var`, in which each application has a series of its own name.

Source: Flent 2.1.1, `tests/*.conf`. `rrul` itself is never chosen: it marks its flows with DSCPs,
which no trial does, and `rrul_be` is the same without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

DELAY_S = 5.0
"""By how much the probes of a loaded test outlast its load, at either end."""

_PARTS = {
    "ping": "icmp",
    "irtt": "udp",
    "voip": "voip",
    "voip_g729": "voip",
    "web": "web",
    "dash": "dash",
}
"""What a kind of application plays in a test; `bulk` is a load, and others have no part."""


@dataclass(frozen=True, slots=True)
class Cast:
    """What plays which part, by the applications' names; a flow is an application and a way."""

    up: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    icmp: tuple[str, ...] = ()
    udp: tuple[str, ...] = ()
    voip: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    dash: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()


def cast_of(apps: Iterable[Mapping[str, Any]], carrying: set[tuple[str, str]]) -> Cast:
    """The parts of a resolved trial's applications; `carrying` are the flows that carry data."""
    found: dict[str, list[str]] = {part.name: [] for part in fields(Cast)}
    for app in apps:
        name, kind = app["name"], app["app"]["kind"]
        ways = [way for way in ("up", "down") if (name, way) in carrying]
        for part in ways if kind == "bulk" else [_PARTS.get(kind, "rest")]:
            found[part].append(name)
    return Cast(**{part: tuple(names) for part, names in found.items()})


@dataclass(frozen=True, slots=True)
class Part:
    """How many applications play a part, and what the test calls their series."""

    least: int = 0
    most: int = 0
    names: tuple[str, ...] = ()
    """One name each, or one for all with a place for the number."""

    def name(self, index: int) -> str:
        """The series of the application number `index` from 0."""
        return self.names[0].format(index + 1) if len(self.names) == 1 else self.names[index]


@dataclass(frozen=True, slots=True)
class Test:
    """A test of Flent's: how many of each part it has, and which summaries."""

    name: str
    up: Part = Part()
    down: Part = Part()
    icmp: Part = Part()
    udp: Part = Part()
    voip: Part = Part()
    web: Part = Part()
    summaries: tuple[str, ...] = ()
    parameter: str = ""
    """What says how many streams there are."""

    def fits(self, cast: Cast) -> bool:
        """Whether the parts are filled exactly."""
        return not (cast.dash or cast.rest) and all(
            getattr(self, part).least <= len(getattr(cast, part)) <= getattr(self, part).most
            for part in ("up", "down", "icmp", "udp", "voip", "web")
        )

    @property
    def loaded(self) -> bool:
        """Whether the length that Flent states is that of the load alone."""
        return bool(self.up.most or self.down.most or self is GENERIC)


_ANY = 10_000
_ICMP = "Ping (ms) ICMP"
_BOTH = (
    "TCP upload avg",
    "TCP upload sum",
    "TCP download avg",
    "TCP download sum",
    "TCP totals",
    "Ping (ms) avg",
)
_CALL = Part(1, 1, ("VoIP",))
_PAGES = Part(1, 1, ("HTTP latency",))
_PING = Part(1, 1, (_ICMP,))
_UP, _DOWN = (Part(1, 1, (f"TCP {way}load",)) for way in ("up", "down"))

_RRUL = Test(
    "rrul_be",
    up=Part(4, 4, tuple(f"TCP upload BE{n}" for n in ("", 2, 3, 4))),
    down=Part(4, 4, tuple(f"TCP download BE{n}" for n in ("", 2, 3, 4))),
    icmp=_PING,
    udp=Part(0, 3, ("Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3")),
    summaries=_BOTH,
)

TESTS = (
    Test("ping", icmp=Part(0, 1, (_ICMP,)), udp=Part(0, 1, ("Ping (ms) UDP",))),
    Test("voip", voip=_CALL),
    Test("http", web=_PAGES),
    _RRUL,
    replace(_RRUL, name="voip-rrul", voip=_CALL),
    replace(_RRUL, name="http-rrul", web=_PAGES),
    Test("voip-1up", up=_UP, voip=_CALL),
    Test("http-1up", up=_UP, web=_PAGES),
    Test("http-1down", down=_DOWN, web=_PAGES),
    Test("tcp_bidirectional", up=_UP, down=_DOWN, icmp=_PING),
    Test(
        "tcp_nup",
        up=Part(1, _ANY, ("TCP upload::{}",)),
        icmp=_PING,
        summaries=_BOTH[:2],
        parameter="upload_streams",
    ),
    Test(
        "tcp_ndown",
        down=Part(1, _ANY, ("TCP download::{}",)),
        icmp=_PING,
        summaries=_BOTH[2:4],
        parameter="download_streams",
    ),
)
"""Those that a trial may be like, the first that fits wins."""

GENERIC = Test("rrul_var", summaries=_BOTH, parameter="bidir_streams")
"""For what is like none of them."""


def choose(cast: Cast) -> Test:
    """The test that a trial is like."""
    return next((test for test in TESTS if test.fits(cast)), GENERIC)
