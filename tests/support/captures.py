"""Reads the packets of a trial from its captures without any code of the core.

Only the form of `aqmlab pcap` is supported: little-endian classic pcap with nanoseconds and raw
IPv4 (draft-ietf-opsawg-pcap). The home is 172.16.10.0/24. On the internet (172.16.11.0/24), each
application has its own host.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from aqmlab import _core
from aqmlab.results.captures import EPOCH_S

from . import trials
from .laws.flows import HISTOGRAM, ROUNDING
from .trials import Run

HOME_NET = bytes((172, 16, 10))
FIRST_HOST = 2
EPOCH_NS = EPOCH_S * 10**9


@dataclass(frozen=True)
class Seen:
    """A packet at a tap, with the number of its application."""

    at_ns: int
    app: int
    home: int
    """The number of the host in the home."""
    direction: str
    ip_bytes: int
    conn: tuple[int, ...]
    """Protocol and ports, the lower port first."""


def packets(path: Path) -> Iterator[Seen]:
    """Yields the packets of a capture, in the order of the file."""
    data = path.read_bytes()
    magic, major, _, _, _, _, link = struct.unpack_from("<IHHIIII", data)
    assert (magic, major, link) == (0xA1B2_3C4D, 2, 101), "not what `aqmlab pcap` writes"
    at = 24
    while at < len(data):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", data, at)
        header = data[at + 16 : at + 16 + kept]
        total = struct.unpack_from(">H", header, 2)[0]
        assert header[0] == 0x45 and total == length
        up = header[12:15] == HOME_NET
        home, wan = (header[15], header[19]) if up else (header[19], header[15])
        ports = struct.unpack_from(">HH", header, 20) if header[9] in (6, 17) else ()
        yield Seen(
            seconds * 10**9 + nanos - EPOCH_NS,
            wan - FIRST_HOST,
            home - FIRST_HOST,
            "up" if up else "down",
            total,
            (header[9], *sorted(ports)),
        )
        at += 16 + kept


@dataclass
class Captured:
    """A run of a trial, and its packets by application and direction.

    `sent` and `received` are the packets at the tap of the sender and of the receiver. `spp` is the
    result of `aqmlab spp` for both captures.
    """

    run: Run
    sent: dict[tuple[str, str], list[Seen]]
    received: dict[tuple[str, str], list[Seen]]
    spp: dict[str, Any]


def capture(spec: dict[str, Any], folder: Path) -> Captured:
    """Runs a trial and reads its captures."""
    spec = {**spec, "measure": {**spec["measure"], "packets": True}}
    paths = folder / "home.pcap", folder / "wan.pcap"
    run = trials.run(spec, paths)
    names = [app["name"] for app in spec["apps"]]
    sent: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    received: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for path, leaves in zip(paths, ("up", "down"), strict=True):
        for seen in packets(path):
            group = sent if seen.direction == leaves else received
            group[names[seen.app], seen.direction].append(seen)
    options = json.dumps({"synchronised": True})
    return Captured(run, sent, received, _core.spp(str(paths[0]), str(paths[1]), options))


def violations(captured: Captured) -> Iterator[str]:
    """Yields differences between the table `flows` and the captures of the same trial."""
    yield from _addresses(captured)
    yield from _counts(captured)
    yield from _throughput(captured)
    if captured.run.whole:
        yield from _pairs(captured)


def _addresses(captured: Captured) -> Iterator[str]:
    """Yields applications whose packets have a wrong address in the home.

    Applications on one host have the address of the first of these applications.
    """
    apps = captured.run.spec["apps"]
    for number, app in enumerate(apps):
        host = app.get("host")
        same = [at for at, one in enumerate(apps) if host is not None and one.get("host") == host]
        want = min(same, default=number)
        for way in ("up", "down"):
            homes = {one.home for one in captured.sent[app["name"], way]}
            if homes - {want}:
                yield f"{app['name']} {way}: hosts {homes} in the home, not {want}"


def _counts(captured: Captured) -> Iterator[str]:
    run = captured.run
    from_ns, to_ns = run.interval_ns
    for app in run.apps:
        for way in ("up", "down"):
            counted = [one for one in captured.sent[app, way] if from_ns <= one.at_ns < to_ns]
            arrived = captured.received[app, way]
            row = run.flow(app, way)
            if row is None:
                if counted or arrived:
                    yield f"{app} {way}: {len(counted)} packets captured and no row"
                continue
            for name, value in (
                ("packets_sent", len(counted)),
                ("bytes_sent", sum(one.ip_bytes for one in counted)),
            ):
                if row[name] != value:
                    yield f"{app} {way}: {name} is {row[name]}, captured are {value}"
            for name, value in (
                ("packets_received", len(arrived)),
                ("bytes_received", sum(one.ip_bytes for one in arrived)),
            ):
                if row[name] > value or (run.whole and row[name] != value):
                    yield f"{app} {way}: {name} is {row[name]}, captured are {value}"


def _throughput(captured: Captured) -> Iterator[str]:
    """Yields differences between throughput in `flows` and in the captures.

    Compares the mean over the active time, and the windows of the active time.
    """
    run = captured.run
    window_ns, step_ns = run.spec["measure"]["window_ns"], run.spec["measure"]["step_ns"]
    for row in run.tables["flows"]:
        place = f"{row['flow']} {row['direction']}"
        from_ns, to_ns = (round(1e9 * row[f"active_{end}_s"]) for end in ("from", "to"))
        if from_ns == to_ns or run.apps[row["flow"]]["app"]["kind"] == "bulk":
            continue  # an application that ends by itself is active until its last packet
        seen = captured.received[row["flow"], row["direction"]]
        times = np.array([one.at_ns for one in seen], dtype=np.int64)
        sizes = np.concatenate([[0], np.cumsum([one.ip_bytes for one in seen], dtype=np.int64)])

        def arrived(starts: Any, width: int, times: Any = times, sizes: Any = sizes) -> Any:
            ends = np.searchsorted(times, starts + width)
            return sizes[ends] - sizes[np.searchsorted(times, starts)]

        mean = 8e3 * arrived(np.array([from_ns]), to_ns - from_ns)[0] / (to_ns - from_ns)
        if abs(row["throughput_mean_mbit"] - mean) > 1e-9 + ROUNDING * mean:
            yield f"{place}: throughput_mean_mbit is {row['throughput_mean_mbit']}, captured {mean}"
        windows = arrived(np.arange(from_ns, to_ns - window_ns + 1, step_ns), window_ns)
        if windows.any():
            filled = 8e3 * windows[windows > 0].mean() / window_ns
            found = row["throughput_nonempty_mean_mbit"]
            if abs(found - filled) > 1e-9 + ROUNDING * filled:
                yield f"{place}: throughput_nonempty_mean_mbit is {found}, captured {filled}"
        for percent in (5, 25, 50, 75, 95) if len(windows) else ():
            rate = 8e3 * np.quantile(windows, percent / 100) / window_ns
            found = row[f"throughput_p{percent}_mbit"]
            if abs(found - rate) > 1e-9 + ROUNDING * rate:
                yield f"{place}: throughput_p{percent}_mbit is {found}, captured {rate}"


def _pairs(captured: Captured) -> Iterator[str]:
    """Yields differences between the table `flows` and the result of `aqmlab spp`.

    Only applications with one connection are compared, because `aqmlab spp` treats each connection
    as a flow.
    """
    names = [app["name"] for app in captured.run.spec["apps"]]
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in trials.rows_of(captured.spp["flows"]):
        source, destination = (row[end].partition(" ")[0].split(".") for end in ("from", "to"))
        way = "up" if source[2] == "10" else "down"
        server = destination[3] if way == "up" else source[3]
        found[names[int(server) - FIRST_HOST], way].append(row)
    for (app, way), rows in found.items():
        flow = captured.run.flow(app, way)
        seen = captured.sent[app, "up"] + captured.sent[app, "down"]
        if flow is None or len({one.conn for one in seen}) > 1:
            continue
        for name in ("packets_sent", "packets_received", "bytes_received", "rtt_n"):
            if flow[name] != rows[0][name]:
                yield f"{app} {way}: {name} is {flow[name]}, of the captures {rows[0][name]}"
        for name in ("rtt_p5_ms", "rtt_p50_ms", "rtt_p95_ms", "owd_p50_ms", "owd_p95_ms"):
            one, other = flow[name], rows[0][name]
            if abs(one - other) > max(abs(one), abs(other)) * (2 * HISTOGRAM + ROUNDING):
                yield f"{app} {way}: {name} is {one}, of the captures {other}"
