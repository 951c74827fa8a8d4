"""Reads the TCP packets of a trial from the captures at both taps."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aqmlab.results.captures import EPOCH_S

TCP, SACK = 6, 5
HOME_NET, FIRST_HOST = 10, 2
"""The last two octets of 172.16.10.2, which is the first application's end in the home."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment at a tap.

    The function `connection` makes the sequence numbers relative, and sets `lost` for a segment
    that the other tap did not see.
    """

    t_ms: float
    home: bool
    """Whether the home's end sent it."""
    ident: tuple[int, int, int]
    seq: int
    ack: int
    length: int
    window: int
    sacks: tuple[tuple[int, int], ...]
    flags: int
    lost: bool = False

    def __str__(self) -> str:
        way = "home>" if self.home else "<wan "
        blocks = "".join(f" {a}-{b}" for a, b in self.sacks)
        news = f"ack {self.ack} win {self.window}{blocks}"
        what = f"{self.seq}+{self.length}" if self.length else news
        marks = "".join(
            letter
            for bit, letter in ((2, "S"), (1, "F"), (4, "R"), (8, "P"), (64, "E"), (128, "C"))
            if self.flags & bit
        )
        return f"{self.t_ms:11.3f} {way} {what:24} {marks:3}{' LOST' if self.lost else ''}"


def connection(files: Sequence[str], place: int, conn: int) -> Iterator[Packet]:
    """Yields the packets of connection `conn` of application number `place`, in sending order.

    Both numbers count from 0. `files` are the captures in the home and on the internet. Yields no
    packet if there is no such connection.
    """
    both = [list(read(file)) for file in files]
    ports = list(dict.fromkeys(pair for pair, _ in both[0] if pair[0] == place))
    if conn >= len(ports):
        return
    home, wan = ([one for pair, one in packets if pair == ports[conn]] for packets in both)
    arrived = {one.ident for one in wan if one.home} | {one.ident for one in home if not one.home}
    sent = [one for one in home if one.home] + [one for one in wan if not one.home]
    first = {way: min((one.seq for one in sent if one.home == way), default=0) for way in (0, 1)}
    for one in sorted(sent, key=lambda one: one.t_ms):
        mine, other = first[one.home], first[not one.home]
        yield replace(
            one,
            seq=one.seq - mine,
            ack=one.ack - other,
            sacks=tuple((a - other, b - other) for a, b in one.sacks),
            lost=one.ident not in arrived,
        )


def read(file: str) -> Iterator[tuple[tuple[int, ...], Packet]]:
    """Yields the TCP packets of a raw-IP capture, each with its application and ports."""
    for t_ms, ip in datagrams(file):
        if ip[9] == TCP:
            yield decode(ip, t_ms)


def datagrams(file: str) -> Iterator[tuple[float, bytes]]:
    """Yields the IP datagrams of a raw-IP capture, each with its time in milliseconds."""
    raw = Path(file).read_bytes()
    at = 24
    while at < len(raw):
        seconds, nanos, kept, _ = struct.unpack_from("<IIII", raw, at)
        yield (seconds - EPOCH_S) * 1e3 + nanos / 1e6, raw[at + 16 : at + 16 + kept]
        at += 16 + kept


def is_from_home(ip: bytes) -> bool:
    """Whether the home sent an IP datagram."""
    return ip[14] == HOME_NET


def decode(ip: bytes, t_ms: float) -> tuple[tuple[int, ...], Packet]:
    """The application and the ports of an IP datagram, and its packet."""
    size = (ip[0] & 15) * 4
    total, ident = struct.unpack_from("!HH", ip, 2)
    near, far, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", ip, size)
    head = (offset >> 4) * 4
    home = is_from_home(ip)
    address = ip[15] if home else ip[19]
    pair = (address - FIRST_HOST, near, far) if home else (address - FIRST_HOST, far, near)
    sacks = sacks_of(ip[size + 20 : size + head])
    length = total - size - head
    return pair, Packet(t_ms, home, (ident, seq, ack), seq, ack, length, window, sacks, flags)


def sacks_of(options: bytes) -> tuple[tuple[int, int], ...]:
    """The SACK blocks among TCP's options."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        if options[at] == SACK:
            count = (options[at + 1] - 2) // 8
            found = (struct.unpack_from("!II", options, at + 2 + 8 * n) for n in range(count))
            return tuple((start, end) for start, end in found)
        at += options[at + 1]
    return ()
