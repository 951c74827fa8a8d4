"""Laws of the table `flows`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from .. import bounds
from ..trials import Row, Run

ROUNDING = 1e-9
"""The relative rounding error of floats that are computed from whole nanoseconds and bytes."""
TICK_S = 2e-9
"""The tolerance for times, which are whole nanoseconds: two nanoseconds, in seconds."""
HISTOGRAM = 1e-3
"""The maximum relative error of a quantile of delays, which comes from a histogram."""


def _place(row: Row) -> str:
    return f"{row['flow']} {row['direction']}"


def counts_add_up(run: Run) -> Iterator[str]:
    """The packets received and lost are at most the packets sent.

    The mean size of packets is between the size of the headers and the MTU. The loss is the
    percentage of lost packets among the packets with a known fate.
    """
    most = bounds.most_packet_bytes(run)
    for row in run.tables["flows"]:
        sent, received, lost = row["packets_sent"], row["packets_received"], row["lost"]
        if received + lost > sent:
            yield f"{_place(row)}: {received} received and {lost} lost of {sent} sent"
        if row["bytes_received"] > row["bytes_sent"]:
            yield f"{_place(row)}: {row['bytes_received']} B of {row['bytes_sent']} B arrived"
        for packets, size in ((sent, "bytes_sent"), (received, "bytes_received")):
            if not bounds.LEAST_PACKET_BYTES * packets <= row[size] <= most * packets:
                yield f"{_place(row)}: {size} is {row[size]} of {packets} packets"
        known = received + lost
        if known and not math.isclose(row["loss_percent"], 100 * lost / known, rel_tol=ROUNDING):
            yield f"{_place(row)}: loss {row['loss_percent']} % of {lost} in {known}"


def delays_are_no_less_than_the_path(run: Run) -> Iterator[str]:
    """Every delay is at least the time for propagation and transmission.

    A one-way delay is at most the trial's length, and a round trip is at most twice this length.
    The jitter is at most the largest one-way delay.
    """
    for row in run.tables["flows"]:
        app, most_ms = row["flow"], 1e3 * run.duration_s
        ways = ("up", "down")
        base_ms = sum(run.apps[app][way]["delay_ns"] for way in ways) / 1e6
        if not math.isclose(row["rtt_base_ms"], base_ms, rel_tol=ROUNDING):
            yield f"{_place(row)}: the base is {row['rtt_base_ms']} ms, not {base_ms}"
        least_ms = sum(bounds.least_delay_ms(run, app, way) for way in ways)
        if row["rtt_n"] and not least_ms - 1e-6 <= row["rtt_min_ms"] <= 2 * most_ms:
            yield f"{_place(row)}: a round trip of {row['rtt_min_ms']} ms, {least_ms} at least"
        least_ms = bounds.least_delay_ms(run, app, row["direction"])
        if row["packets_received"] and row["owd_p50_ms"] < least_ms * (1 - HISTOGRAM) - 1e-6:
            yield f"{_place(row)}: a way of {row['owd_p50_ms']} ms, {least_ms} at least"
        if row["owd_max_ms"] > most_ms or row["rtt_max_ms"] > 2 * most_ms:
            yield f"{_place(row)}: a delay beyond the trial"
        if (
            not 0 <= row["jitter_ms"] <= max(0, row["owd_max_ms"]) + ROUNDING
            and row["owd_max_ms"] > 0
        ):
            yield f"{_place(row)}: jitter {row['jitter_ms']} of at most {row['owd_max_ms']} ms"


ORDERED = (
    ("rtt_min_ms", "rtt_p1_ms", "rtt_p5_ms", "rtt_p10_ms", "rtt_p25_ms", "rtt_p50_ms",
     "rtt_p75_ms", "rtt_p90_ms", "rtt_p95_ms", "rtt_p99_ms", "rtt_p99_9_ms", "rtt_max_ms"),
    ("rtt_min_ms", "rtt_mean_ms", "rtt_max_ms"),
    ("induced_p25_ms", "induced_p50_ms", "induced_p75_ms", "induced_p95_ms"),
    ("owd_p50_ms", "owd_p90_ms", "owd_p95_ms", "owd_p99_ms", "owd_p99_9_ms", "owd_max_ms"),
    ("throughput_p5_mbit", "throughput_p25_mbit", "throughput_p50_mbit", "throughput_p75_mbit",
     "throughput_p95_mbit"),
)  # fmt: skip


def quantiles_are_in_order(run: Run) -> Iterator[str]:
    """Quantiles are in order. An induced round-trip time is the excess over the base RTT."""
    for row in run.tables["flows"]:
        for names in ORDERED:
            for low, high in itertools.pairwise(names):
                if row[low] > row[high]:
                    yield f"{_place(row)}: {low} {row[low]} > {high} {row[high]}"
        for quantile in ("p25", "p50", "p75", "p95"):
            rtt_ms, induced_ms = row[f"rtt_{quantile}_ms"], row[f"induced_{quantile}_ms"]
            if row["rtt_n"] and abs(rtt_ms - row["rtt_base_ms"] - induced_ms) > 1e-6:
                yield f"{_place(row)}: {quantile} induces {induced_ms} of {rtt_ms} ms"


def active_time_is_within_the_trial(run: Run) -> Iterator[str]:
    """A flow is active from its application's start, at most until the application's stop time.

    Both times may be later by the start jitter, and both lie in the interval of the statistics.
    """
    from_ns, to_ns = run.interval_ns
    for row in run.tables["flows"]:
        app = run.apps[row["flow"]]
        late_ns = app["start_ns"] + run.spec["start_jitter_ns"]
        stop_ns = None if app["stop_ns"] is None else app["stop_ns"] + run.spec["start_jitter_ns"]
        least_s = min(max(from_ns, app["start_ns"]), to_ns) / 1e9
        most_s = min(max(from_ns, late_ns), to_ns) / 1e9
        end_s = to_ns / 1e9 if stop_ns is None else min(to_ns, max(from_ns, stop_ns)) / 1e9
        if not least_s - TICK_S <= row["active_from_s"] <= most_s + TICK_S:
            yield f"{_place(row)}: active from {row['active_from_s']}, not {least_s} to {most_s} s"
        if not row["active_from_s"] <= row["active_to_s"] <= max(end_s, most_s) + TICK_S:
            yield f"{_place(row)}: active to {row['active_to_s']}, {end_s} s at most"


def goodput_is_part_of_what_arrived(run: Run) -> Iterator[str]:
    """The goodput is at most the throughput, because an application reads only data that arrived.

    The law applies only to applications that start within the interval of the statistics. An
    application that started earlier can read data that arrived before the interval.
    """
    from_ns, _ = run.interval_ns
    for row in run.tables["flows"]:
        goodput, throughput = row["goodput_mbit"], row["throughput_mean_mbit"]
        if goodput < 0 or throughput < 0:
            yield f"{_place(row)}: a rate below zero"
        began_within = from_ns <= run.apps[row["flow"]]["start_ns"]
        if began_within and goodput > throughput * (1 + ROUNDING):
            yield f"{_place(row)}: goodput {goodput} > throughput {throughput} Mbit/s"


def means_are_bytes_over_time(run: Run) -> Iterator[str]:
    """The mean throughput times the active time is the number of bytes that arrived in that time.

    For a flow that is active to the end, these are all bytes of the flow. Jain's index is that of
    these numbers.
    """
    end_s = run.interval_ns[1] / 1e9
    arrived: dict[str, list[float]] = {"up": [], "down": []}
    for row in run.tables["flows"]:
        active_s = row["active_to_s"] - row["active_from_s"]
        bits = row["throughput_mean_mbit"] * 1e6 * active_s if active_s else 0.0
        if row["primary"]:
            arrived[row["direction"]].append(bits)
        most = bounds.arriving_ip_bits(run, row["flow"], row["direction"], active_s)
        if bits > most * (1 + ROUNDING):
            yield f"{_place(row)}: {bits} bits in {active_s} s, {most} at most"
        all_bits = 8 * row["bytes_received"]
        to_the_end = abs(row["active_to_s"] - end_s) < TICK_S
        if run.whole and (bits > all_bits + 1 or (to_the_end and not _close(bits, all_bits))):
            yield f"{_place(row)}: {bits} bits in {active_s} s, {row['bytes_received']} B"
        filled = row["throughput_nonempty_mean_mbit"]
        if row["throughput_p95_mbit"] > 0 and not filled > 0:
            yield f"{_place(row)}: windows with something have {filled} Mbit/s on average"
    for way, rates in arrived.items():
        squares = len(rates) * sum(rate * rate for rate in rates)
        found = run.tables["summary"][0][f"jain_{way}"]
        if squares > 0 and abs(found - sum(rates) ** 2 / squares) > 1e-6:
            yield f"jain_{way} is {found} of {rates}"


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1.0)


def throughput_is_within_the_line(run: Run) -> Iterator[str]:
    """No throughput of a window exceeds the capacity of the flow's last link.

    The bytes of a flow do not exceed the capacity of any of its links in the whole trial.
    """
    window_s = run.spec["measure"]["window_ns"] / 1e9
    for row in run.tables["flows"]:
        arriving = bounds.arriving_ip_bits(run, row["flow"], row["direction"], window_s)
        most = arriving / window_s / 1e6 * (1 + ROUNDING)
        for name in ("throughput_p95_mbit", "throughput_nonempty_mean_mbit"):
            if row[name] > most:
                yield f"{_place(row)}: {name} {row[name]} in {window_s} s, {most} at most"
        for way in run.links(row["flow"], row["direction"]):
            if 8 * row["bytes_received"] > bounds.ip_bits(run, way, run.duration_s):
                yield f"{_place(row)}: {row['bytes_received']} B over {way['name']}"


def every_packet_of_the_trial_is_in_a_row(run: Run) -> Iterator[str]:
    """The rows of `flows` count every packet of the trial."""
    sent = sum(row["packets_sent"] for row in run.tables["flows"])
    (summary,) = run.tables["summary"]
    if summary["packets"] != run.result["packets"] or summary["events"] != run.result["events"]:
        yield "the summary and the outcome differ"
    if sent > summary["packets"] or (run.whole and sent != summary["packets"]):
        yield f"{sent} packets in flows, {summary['packets']} in the trial"
    for way in ("up", "down"):
        jain = summary[f"jain_{way}"]
        if not math.isnan(jain) and not 0 < jain <= 1 + ROUNDING:
            yield f"jain_{way} is {jain}"
