"""The addresses and ports of a TEACUP config in the names of exported files.

The addresses in captures are those of `packets`. A campaign of a TEACUP config keeps the config's
addresses in its manifest. Clients keep the ports of the captures, because no config states client
ports. A flow whose name is taken gets the next free client port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, IPv4Address
from typing import NamedTuple

from aqmlab.campaign.store.manifest import Manifest

MEMBER = "addresses"
"""The member of a manifest's `scenario` with the addresses of each application's ends."""

_FIRST_SERVER_PORT = 61_000
_END = re.compile(r"172\.16\.(10|11)\.([0-9]{1,3})")
_FIRST_HOST = 2


class ConfigEnds(NamedTuple):
    """The addresses of an application's ends in a config, and the server's port if it is stated."""

    home: str
    wan: str
    port: int | None
    """The port of the server; `None` if the config does not state it."""


def of_manifest(manifest: Manifest) -> dict[str, ConfigEnds]:
    """The ends of each application, by its name, as far as a config states them.

    The manifest may come from an untrusted source, and addresses become names of files. Invalid
    addresses are therefore omitted.
    """
    told = manifest.scenario.get(MEMBER)
    found = {}
    for app, ends in told.items() if isinstance(told, Mapping) else ():
        if isinstance(ends, Mapping):
            home, wan = _address(ends.get("home")), _address(ends.get("wan"))
            if home and wan:
                found[str(app)] = ConfigEnds(home, wan, _port(ends.get("port")))
    return found


def _address(told: object) -> str | None:
    try:
        return str(IPv4Address(told)) if isinstance(told, str) else None
    except AddressValueError:
        return None


def _port(told: object) -> int | None:
    return told if isinstance(told, int) and 0 < told < 65_536 else None


_End = tuple[str, int]
"""An address and a port."""


class FlowNames:
    """The names of the flows of a trial: "SOURCE_PORT_DESTINATION_PORT"."""

    def __init__(self, apps: Sequence[str], ends: Mapping[str, ConfigEnds]) -> None:
        self._apps, self._ends = apps, ends
        self._known: dict[frozenset[_End], dict[_End, _End]] = {}
        self._taken: set[frozenset[_End]] = set()

    def of(self, flow: str) -> str:
        """The exported name of a flow; `flow` is its name in the captures, in the same form."""
        source, port, destination, other_port = flow.split("_")
        first, second = (source, int(port)), (destination, int(other_port))
        both = frozenset((first, second))
        if both not in self._known:
            self._known[both] = self._free(first, second)
        own = self._known[both]
        return "_".join(f"{address}_{number}" for address, number in (own[first], own[second]))

    def client(self, app: int) -> str:
        """The address of an application's end in the home."""
        known = self._ends.get(self._apps[app])
        return known.home if known else f"172.16.10.{_FIRST_HOST + app}"

    def _free(self, *ends: _End) -> dict[_End, _End]:
        """Maps a connection's ends in the captures to the ends in its exported name.

        The client's port is increased until the name is free. The name is then marked as taken.
        """
        own = {end: self._end(*end) for end in ends}
        client = min(ends, key=lambda end: end[1])
        while frozenset(own.values()) in self._taken:
            address, port = own[client]
            own[client] = address, port + 1
        self._taken.add(frozenset(own.values()))
        return own

    def _end(self, address: str, port: int) -> _End:
        found = _END.fullmatch(address)
        number = int(found[2]) - _FIRST_HOST if found else -1
        if found is None or not 0 <= number < len(self._apps):
            return address, port
        known = self._ends.get(self._apps[number])
        if known is None:
            return address, port
        if port >= _FIRST_SERVER_PORT and known.port is not None:
            port = known.port
        return known.home if found[1] == "10" else known.wan, port
