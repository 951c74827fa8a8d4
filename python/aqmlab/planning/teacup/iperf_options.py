"""The options of iperf that TEACUP's `start_iperf` passes on: `-P` and `-l` of the client.

Source: iperf(1) of iperf 2. `-l` is the payload of UDP's datagrams. TCP's writes are not modelled,
so with TCP it has no effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.planning.teacup.vocabulary import Arguments, Config

_MOST_CONNECTIONS = 999
_MOST_PAYLOAD_BYTES = 65_507
"""The longest datagram of UDP over IPv4 without its headers."""

_OPTION = re.compile(r"(?<!\S)(?:-([Pl])\s*|--(parallel|len)(?:\s+|=))([^\s=]\S*)")
_SIZE = re.compile(r"([0-9]{1,12})([kKmM]?)")
_UNITS = {"": 1, "k": 1_024, "m": 1_048_576}


@dataclass(frozen=True, slots=True)
class IperfOptions:
    """The number of parallel connections, and the payload of a datagram."""

    connections: int = 1
    payload_bytes: int = 1_470


def iperf_options(config: Config, args: Arguments, *, is_udp: bool) -> IperfOptions:
    """The options of the client in `args`. Warns of options that are not read.

    Raises `ScenarioError` for a number outside its range.
    """
    extra = args.text("extra_params_client", "")
    stated = {(found[1] or found[2])[0].lower(): found for found in _OPTION.finditer(extra)}
    ignored = {
        "extra_params_client": " ".join(_OPTION.sub(" ", extra).split()),
        "extra_params_server": args.text("extra_params_server", "").strip(),
    }
    for key, text in ignored.items():
        if text:
            problem = f"`{shown(text)}` is not read: only -P and -l of iperf's client are"
            config.warn(f"{args.where}: {key}: {problem}")
    read = IperfOptions()
    if "p" in stated:
        connections = _whole(args, stated["p"], _MOST_CONNECTIONS, "connections")
        read = replace(read, connections=connections)
    if "l" in stated and is_udp:
        payload_bytes = _whole(args, stated["l"], _MOST_PAYLOAD_BYTES, "bytes")
        read = replace(read, payload_bytes=payload_bytes)
    return read


def _whole(args: Arguments, option: re.Match[str], most: int, unit: str) -> int:
    """The number of an option; raises `ScenarioError` if it is not between 1 and `most`."""
    found = _SIZE.fullmatch(option[3])
    number = int(found[1]) * _UNITS[found[2].lower()] if found is not None else 0
    if not 1 <= number <= most:
        place = f"{args.where}: {args.task}: extra_params_client"
        problem = f"`{shown(option[0])}` is not between 1 and {most} {unit}"
        raise ScenarioError(place, problem)
    return number
