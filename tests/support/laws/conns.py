"""Laws of connections and of the state of their TCPs."""

from __future__ import annotations

from collections.abc import Iterator

from ..trials import Run

ONLY_TCP = frozenset(
    ("bulk", "bursts", "notification", "photo_upload", "iot_low", "iot_high", "telemetry", "mqtt",
     "dash", "audio_stream")
)  # fmt: skip
"""Applications that send only TCP packets."""
HEADERS_BYTES = 40
COUNTS = ("rtos", "tlps", "fast_recoveries", "spurious_undos", "ece_reductions")


def connections_live_in_order(run: Run) -> Iterator[str]:
    """A connection is opened after the start of its application, then established, then closed.

    Its retransmissions are at most its segments, and no count or sample is below its minimum.
    """
    numbers: dict[str, int] = {}
    for row in run.tables["conns"]:
        place = f"{row['flow']} {row['conn']:.0f}"
        start_s = run.apps[row["flow"]]["start_ns"] / 1e9
        times = [row[name] for name in ("opened_s", "established_s", "closed_s")]
        known = [start_s, *(time for time in times if time == time), run.duration_s]
        if known != sorted(known):
            yield f"{place}: {times}, the application started at {start_s}"
        if row["conn"] <= numbers.get(row["flow"], -1):
            yield f"{place}: comes after connection {numbers[row['flow']]}"
        numbers[row["flow"]] = int(row["conn"])
        if row["retransmissions"] > row["segments_sent"]:
            yield f"{place}: {row['retransmissions']} of {row['segments_sent']} sent again"
        if min(row[name] for name in COUNTS) < 0:
            yield f"{place}: a count below zero: {row}"
    for row in run.tables["tcp_series"]:
        if row["cwnd_bytes"] <= 0 or row["in_flight_bytes"] < 0 or row["srtt_ms"] < 0:
            yield f"{row['flow']} {row['conn']:.0f}: {row}"


def segments_are_packets(run: Run) -> Iterator[str]:
    """TCP's counts agree with the taps' counts.

    The numbers of segments and packets are equal for applications that send only TCP packets.
    """
    if not run.whole:
        return
    for app, about in run.apps.items():
        conns = [row for row in run.tables["conns"] if row["flow"] == app]
        ways = {way: run.flow(app, way) for way in ("up", "down")}
        flows = [row for row in ways.values() if row is not None]
        segments = sum(row["segments_sent"] for row in conns)
        packets = sum(row["packets_sent"] for row in flows)
        exact = about["app"]["kind"] in ONLY_TCP
        if segments > packets or (exact and segments != packets):
            yield f"{app}: {segments} segments, {packets} packets"
        again = sum(row["retransmissions"] for row in conns)
        if again != sum(row["retransmissions"] for row in flows):
            yield f"{app}: {again} sent again, {[row['retransmissions'] for row in flows]} in flows"
        for way, flow in ways.items():
            payload = sum(row[f"bytes_{way}"] for row in conns)
            room = flow["bytes_received"] - HEADERS_BYTES * flow["packets_received"] if flow else 0
            if (exact and payload > room) or payload < 0:
                yield f"{app}: {payload} B read {way}, of {room} B of payload that arrived"
