"""Chooses a Flent test for a trial, and names the test's series.

Flent selects series and plots by the name of the test. A trial gets the first test whose roles
match its applications exactly. Any other trial gets `rrul_var`, which has a series for each
application by name.

Source: Flent 2.1.1, `tests/*.conf`. `rrul` itself is never chosen, because it marks its flows with
DSCPs, and the roles contain no DSCPs. `rrul_be` is the same test without DSCPs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from aqmlab.engines.trial_spec import AppSpec

DELAY_S = 5.0
"""The time in seconds for which probes run before, and again after, the load of a test."""

_PARTS = {
    "ping": "icmp",
    "irtt": "udp",
    "voip": "voip",
    "voip_g729": "voip",
    "web": "web",
    "dash": "dash",
}
"""The role of each kind of application in a test.

`bulk` is a load. No specific test has a role for other kinds.
"""


@dataclass(frozen=True, slots=True)
class Cast:
    """The applications in each role of a test. A load in both directions has both roles."""

    up: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    icmp: tuple[str, ...] = ()
    udp: tuple[str, ...] = ()
    voip: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    dash: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()


def cast_of(apps: Iterable[AppSpec], carrying: set[tuple[str, str]]) -> Cast:
    """The roles of a trial's applications.

    `carrying` holds each pair of an application and a direction with data.
    """
    found: dict[str, list[str]] = {part.name: [] for part in fields(Cast)}
    for app in apps:
        name, kind = app.name, app.app.kind
        ways = [way for way in ("up", "down") if (name, way) in carrying]
        for part in ways if kind == "bulk" else [_PARTS.get(kind, "rest")]:
            found[part].append(name)
    return Cast(**{part: tuple(names) for part, names in found.items()})


@dataclass(frozen=True, slots=True)
class Part:
    """The allowed numbers of applications in a role, and the names of their series in the test."""

    least: int = 0
    most: int = 0
    names: tuple[str, ...] = ()
    """One name for each application, or one name with a placeholder for the number."""

    def name(self, index: int) -> str:
        """The series name of application number `index`, from 0."""
        return self.names[0].format(index + 1) if len(self.names) == 1 else self.names[index]


@dataclass(frozen=True, slots=True)
class Test:
    """A Flent test: its roles and its summaries."""

    name: str
    up: Part = Part()
    down: Part = Part()
    icmp: Part = Part()
    udp: Part = Part()
    voip: Part = Part()
    web: Part = Part()
    summaries: tuple[str, ...] = ()
    parameter: str = ""
    """The parameter that states the number of streams."""

    def fits(self, cast: Cast) -> bool:
        """Returns whether the applications match the roles exactly."""
        return not (cast.dash or cast.rest) and all(
            getattr(self, part).least <= len(getattr(cast, part)) <= getattr(self, part).most
            for part in ("up", "down", "icmp", "udp", "voip", "web")
        )

    @property
    def loaded(self) -> bool:
        """Whether the test's length in Flent is the length of the load only."""
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
"""The tests that a trial can match; the first match wins."""

GENERIC = Test("rrul_var", summaries=_BOTH, parameter="bidir_streams")
"""The test for trials that match no other test."""


def choose(cast: Cast) -> Test:
    """The first test that a trial matches, or otherwise the generic test."""
    return next((test for test in TESTS if test.fits(cast)), GENERIC)
