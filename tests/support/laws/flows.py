"""Laws of the table `flows`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from .. import bounds
from ..trials import Row, Run

ROUNDING = 1e-9
"""Numbers are made of whole nanoseconds and bytes, in floats of 53 bits."""
HISTOGRAM = 1e-3
"""A quantile of delays is within one part in a thousand."""


def _place(row: Row) -> str:
    return f"{row['flow']} {row['direction']}"


def counts_add_up(run: Run) -> Iterator[str]:
    """What arrived and what was lost was sent; sizes lie between headers and the MTU."""
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
    """No packet is faster than propagation and its time on the wires, nor late for ever."""
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
    ("rtt_min_ms", "rtt_p1_ms", "rtt_p5_ms", "rtt_p25_ms", "rtt_p50_ms", "rtt_p75_ms",
     "rtt_p95_ms", "rtt_p99_ms", "rtt_max_ms"),
    ("rtt_min_ms", "rtt_mean_ms", "rtt_max_ms"),
    ("induced_p25_ms", "induced_p50_ms", "induced_p75_ms", "induced_p95_ms"),
    ("owd_p50_ms", "owd_p95_ms", "owd_p99_ms", "owd_max_ms"),
    ("throughput_p5_mbit", "throughput_p25_mbit", "throughput_p50_mbit", "throughput_p75_mbit",
     "throughput_p95_mbit"),
)  # fmt: skip


def quantiles_are_in_order(run: Run) -> Iterator[str]:
    """A higher quantile is no less; what the queues induce is what exceeds the base."""
    for row in run.tables["flows"]:
        for names in ORDERED:
            for low, high in itertools.pairwise(names):
                if row[low] > row[high]:
                    yield f"{_place(row)}: {low} {row[low]} > {high} {row[high]}"
        for quantile in ("p25", "p50", "p75", "p95"):
            rtt_ms, induced_ms = row[f"rtt_{quantile}_ms"], row[f"induced_{quantile}_ms"]
            if row["rtt_n"] and abs(rtt_ms - row["rtt_base_ms"] - induced_ms) > 1e-6:
                yield f"{_place(row)}: {quantile} induces {induced_ms} of {rtt_ms} ms"


def goodput_is_part_of_what_arrived(run: Run) -> Iterator[str]:
    """What an application reads arrived before; where it ran only in the interval, in its time."""
    from_ns, _ = run.interval_ns
    for row in run.tables["flows"]:
        goodput, throughput = row["goodput_mbit"], row["throughput_mean_mbit"]
        if goodput < 0 or throughput < 0:
            yield f"{_place(row)}: a rate below zero"
        began_within = from_ns <= run.apps[row["flow"]]["start_ns"]
        if began_within and goodput > throughput * (1 + ROUNDING):
            yield f"{_place(row)}: goodput {goodput} > throughput {throughput} Mbit/s"


def means_are_bytes_over_time(run: Run) -> Iterator[str]:
    """The mean rate of what runs to the end is its bytes over its time; so is Jain's index."""
    if not run.whole:
        return
    for row in run.tables["flows"]:
        app = run.apps[row["flow"]]
        ran_s = _least_time_s(run, row)
        bits = row["throughput_mean_mbit"] * 1e6 * ran_s
        if app["stop_ns"] is None and ran_s and not _close(bits, 8 * row["bytes_received"]):
            yield f"{_place(row)}: {bits} bits in {ran_s} s, {row['bytes_received']} B"
        filled, most = row["throughput_nonempty_mean_mbit"], row["throughput_p95_mbit"]
        if filled < row["throughput_p5_mbit"] * (1 - ROUNDING) or (most > 0 and filled <= 0):
            yield f"{_place(row)}: windows with something have {filled} Mbit/s on average"
    starts = {(app["start_ns"], app["stop_ns"]) for app in run.spec["apps"]}
    for way in ("up", "down") if len(starts) == 1 else ():
        flows = [row for row in run.tables["flows"] if row["direction"] == way and row["primary"]]
        if not all(_least_time_s(run, row) for row in flows):
            continue
        rates = [row["throughput_mean_mbit"] for row in flows]
        squares = len(rates) * sum(rate * rate for rate in rates)
        found = run.tables["summary"][0][f"jain_{way}"]
        if squares > 0 and not _close(found, sum(rates) ** 2 / squares):
            yield f"jain_{way} is {found} of {rates}"


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=1e-6)


def throughput_is_within_the_line(run: Run) -> Iterator[str]:
    """No rate exceeds what the last link can carry in that time."""
    window_s = run.spec["measure"]["window_ns"] / 1e9
    for row in run.tables["flows"]:
        arriving = bounds.arriving_ip_bits(run, row["flow"], row["direction"], window_s)
        # A coarser grain widens the window, which lowers the bound.
        if row["throughput_p95_mbit"] > arriving / window_s / 1e6 * (1 + ROUNDING):
            yield f"{_place(row)}: p95 {row['throughput_p95_mbit']} Mbit/s in {window_s} s"
        for way in run.links(row["flow"], row["direction"]):
            jitter_free = bounds.ip_bits(run, way, run.duration_s)
            if 8 * row["bytes_received"] > jitter_free:
                yield f"{_place(row)}: {row['bytes_received']} B over {way['name']}"
        ran_s = _least_time_s(run, row)
        if ran_s:
            arriving = bounds.arriving_ip_bits(run, row["flow"], row["direction"], ran_s)
            if row["throughput_mean_mbit"] * 1e6 * ran_s > arriving * (1 + ROUNDING):
                yield f"{_place(row)}: mean {row['throughput_mean_mbit']} Mbit/s in {ran_s} s"


def _least_time_s(run: Run, row: Row) -> float:
    """How long an application ran at least in the interval; 0 if nothing tells."""
    app, (from_ns, to_ns) = run.apps[row["flow"]], run.interval_ns
    if app["app"]["kind"] == "bulk" and app["app"]["params"]:
        return 0.0  # it may have ended by itself
    stop_ns = to_ns if app["stop_ns"] is None else min(app["stop_ns"], to_ns)
    return max(0.0, (stop_ns - max(app["start_ns"], from_ns)) / 1e9)


def every_packet_of_the_trial_is_in_a_row(run: Run) -> Iterator[str]:
    """Flows are all that is sent."""
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
