"""Headers for the packets of a trace: hosts, DSCPs, and TCP acknowledgements.

CAKE reads more than a packet's length: addresses, ports, the DSCP, and the acknowledgements of
TCP. A trace of CAKE therefore states the headers of each packet.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict

from aqmlab.engines.kernel.arrivals import Arrivals

_IP, _TCP = 20, 20
"""The lengths of an IP header and of a TCP header, without options, in bytes."""

_DSCPS = (0, 0, 0, 1, 4, 8, 10, 16, 18, 26, 34, 40, 45, 46, 48, 56)
"""The DSCPs of flows. Each flow draws one of them. They cover all tins of CAKE."""

_HOSTS = 5
"""The number of hosts at each end."""

_ACK, _PSH, _ECE, _CWR = 0x10, 0x08, 0x40, 0x80
_NOP, _TIMESTAMP, _SACK = 1, 8, 5
"""TCP's control bits, and the kinds of TCP's options."""


class SentTcp(TypedDict):
    """The TCP header of a packet, in the form of `aqmlab._core.compare`."""

    ack: int
    flags: int
    payload: int
    sack: list[tuple[int, int]]
    times: tuple[int, int] | None


@dataclass(frozen=True)
class Headed:
    """Packets with headers.

    `heads` holds each packet's headers from IP on, in hexadecimal digits. `tcp` holds the fields of
    its TCP header, if it has one.
    """

    packets: Arrivals
    heads: tuple[str, ...]
    tcp: tuple[SentTcp | None, ...]
    dscp: tuple[int, ...]
    """The DSCP of each flow."""


def draw(seed: int, plain: Arrivals, length: Callable[[int], int]) -> Headed:
    """Adds headers to the packets of `plain`. Some flows become acknowledgements of TCP.

    `length` replaces a length that the trace must not have by another length.

    >>> from aqmlab.engines.kernel import arrivals
    >>> headed = draw(1, arrivals.draw(1, 50, 10**7), int)
    >>> all(len(head) >= 56 for head in headed.heads)
    True
    """
    chance = random.Random(f"headers {seed}")
    flows = [_HeadedFlow(chance, number, ecn) for number, ecn in enumerate(plain.ecn)]
    made = [flows[flow].packet(chance, size, length) for _, flow, size in plain.packets]
    # An acknowledgement is short. Shorter gaps keep the load of the plain packets.
    packets = tuple(
        (gap * size // wanted, flow, size)
        for (gap, flow, wanted), (_, size, _) in zip(plain.packets, made, strict=True)
    )
    return Headed(
        packets=replace(plain, packets=packets),
        heads=tuple(head.hex() for head, _, _ in made),
        tcp=tuple(tcp for _, _, tcp in made),
        dscp=tuple(flow.dscp for flow in flows),
    )


class _HeadedFlow:
    def __init__(self, chance: random.Random, number: int, ecn: int) -> None:
        self.dscp = chance.choice(_DSCPS)
        self._tos = self.dscp << 2 | ecn
        self._source = bytes((10, 1, 0, 1 + chance.randrange(_HOSTS)))
        self._destination = bytes((10, 2, 0, 1 + chance.randrange(_HOSTS)))
        self._ports = struct.pack(">HH", 10_000 + number, 61_000 + chance.randrange(3))
        self._acks = _Acks(chance) if chance.random() < 0.5 else None

    def packet(
        self, chance: random.Random, wanted: int, length: Callable[[int], int]
    ) -> tuple[bytes, int, SentTcp | None]:
        """The headers of a packet of about `wanted` bytes, its size, and TCP's fields, if any."""
        if self._acks is None:
            size = length(wanted)
            return self._ip(17) + self._ports + struct.pack(">HH", size - _IP, 0), size, None
        tcp = self._acks.next(chance, wanted)
        header = self._ip(6) + self._ports + _tcp_header(tcp)
        size = max(length(len(header) + tcp["payload"]), len(header))
        tcp["payload"] = size - len(header)
        return header, size, tcp

    def _ip(self, protocol: int) -> bytes:
        """An IPv4 header, in which the kernel later writes the length and the checksum."""
        fixed = struct.pack(">BBHHHBBH", 0x45, self._tos, 0, 0, 0, 64, protocol, 0)
        return fixed + self._source + self._destination


class _Acks:
    """The acknowledgements of a connection. They vary in all fields that `ack-filter` reads."""

    def __init__(self, chance: random.Random) -> None:
        self._ack = chance.randint(10**5, 10**6)
        self._times = chance.random() < 0.5
        self._tidy = chance.random() < 0.6
        self._now = chance.randint(1, 10**6)
        self._echo = 0
        self._sack: list[tuple[int, int]] = []

    def next(self, chance: random.Random, size: int) -> SentTcp:
        """Makes the next acknowledgement, with payload only if `size` leaves room for it."""
        odd = chance.random() < (0.05 if self._tidy else 0.4)
        if not odd or chance.random() < 0.5:
            self._ack += chance.choice((1_448, 2_896))
            self._sack = [(start, end) for start, end in self._sack if start > self._ack]
        if odd:
            self._disturb(chance)
        self._now += chance.choice((0, 1, 4))
        flags = _ACK | self._echo
        if odd and chance.random() < 0.2:
            flags |= chance.choice((_PSH, _CWR, _PSH | _CWR))
        payload = size - 80 if odd and size > 100 and chance.random() < 0.3 else 0
        times = (self._now, self._now - chance.choice((0, 1))) if self._times else None
        return {
            "ack": self._ack, "flags": flags, "payload": payload,
            "sack": list(self._sack), "times": times,
        }  # fmt: skip

    def _disturb(self, chance: random.Random) -> None:
        """Randomly changes the ECN echo (ECE) and the SACK blocks.

        The SACK blocks change in one of these ways: a new block replaces all blocks, the first
        block grows, a DSACK block is put before the first block, another block is appended, or
        nothing changes. At most two blocks remain.
        """
        if chance.random() < 0.3:
            self._echo ^= _ECE
        start = self._ack + chance.choice((1_448, 4_344, 10_136))
        kind = chance.random()
        if kind < 0.4:
            self._sack = [(start, start + chance.choice((1_448, 2_896)))]
        elif kind < 0.6 and self._sack:
            first, last = self._sack[0]
            self._sack[0] = (first, last + 1_448)
        elif kind < 0.7:
            self._sack = [(self._ack - 1_448, self._ack), *self._sack[:1]]
        else:
            self._sack = self._sack[:2] + ([] if chance.random() < 0.5 else [(start, start + 500)])
        self._sack = self._sack[:2]


def _tcp_header(tcp: SentTcp) -> bytes:
    """A TCP header from the sequence number on, with options."""
    options = b""
    if tcp["times"] is not None:
        options += struct.pack(">BBBBII", _NOP, _NOP, _TIMESTAMP, 10, *tcp["times"])
    if tcp["sack"]:
        options += struct.pack(">BBBB", _NOP, _NOP, _SACK, 2 + 8 * len(tcp["sack"]))
        options += b"".join(struct.pack(">II", *block) for block in tcp["sack"])
    offset = (_TCP + len(options)) // 4 << 4
    fixed = struct.pack(">IIBBHHH", 1, tcp["ack"], offset, tcp["flags"], 1_000, 0, 0)
    return fixed + options
