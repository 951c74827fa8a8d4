"""Laws of the tables on queues."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from aqmlab.scenario import catalogue

from .. import bounds
from ..trials import Row, Run
from .flows import ROUNDING

DROPS = (
    "drops_overlimit", "drops_sojourn", "drops_early", "drops_forced", "drops_filtered",
)  # fmt: skip


def dropped(row: Row) -> float:
    """The number of packets that a queue dropped, for any reason."""
    return float(sum(row[name] for name in DROPS))


def by_link(run: Run) -> dict[str, Row]:
    """The rows of `queues` by link."""
    return {row["link"]: row for row in run.tables["queues"]}


def packets_are_conserved(run: Run) -> Iterator[str]:
    """A packet that is offered to a queue is sent, is dropped or waits.

    If the statistics cover the whole trial, every packet that a host sends is offered to the first
    link on its path. A link that packets of other hosts enter later on their path is offered more.
    """
    rows = by_link(run)
    if list(rows) != [link["name"] for link in run.spec["links"]]:
        yield f"rows of {list(rows)}"
    for link, row in rows.items():
        waits = row["packets_offered"] - row["packets_out"] - dropped(row)
        if waits < 0:
            yield f"{link}: {row['packets_offered']} came, {row['packets_out']} went out, {row}"
        if min(row["marks"], row["packets_offered"], *(row[name] for name in DROPS)) < 0:
            yield f"{link}: a count below zero: {row}"
        least, most = (bounds.LEAST_PACKET_BYTES, bounds.most_packet_bytes(run))
        if not least * row["packets_out"] <= row["bytes_out"] <= most * row["packets_out"]:
            yield f"{link}: {row['packets_out']} packets of {row['bytes_out']} B"
    if not run.whole:
        return
    sent: Counter[str] = Counter()
    for flow in run.tables["flows"]:
        sent[run.links(flow["flow"], flow["direction"])[0]["name"]] += flow["packets_sent"]
    later = {
        run.spec["links"][number]["name"]
        for app in run.spec["apps"]
        for way in ("up", "down")
        for number in app[way]["links"][1:]
    }
    for link in sent:
        offered = rows[link]["packets_offered"]
        if offered < sent[link] or (offered > sent[link] and link not in later):
            yield f"{link}: {offered} came of {sent[link]} sent"


def links_carry_no_more_than_their_rate(run: Run) -> Iterator[str]:
    """A link carries at most the bytes that its rate and its shaper allow."""
    from_ns, to_ns = run.interval_ns
    interval_s = (to_ns - from_ns) / 1e9
    packet = bounds.most_packet_bytes(run)
    for link in run.spec["links"]:
        row = by_link(run)[link["name"]]
        # A driver takes frames before they are on the air.
        ahead = 8 * link["wifi"]["driver"] * packet if link.get("wifi") else 0
        for bits, first_s, last_s in (
            (8 * row["bytes_out"], 0.0, run.duration_s),
            (row["throughput_mbit"] * 1e6 * interval_s, from_ns / 1e9, to_ns / 1e9),
        ):
            most = bounds.ip_bits_between(run, link, first_s, last_s) + ahead
            if bits > most * (1 + ROUNDING):
                yield f"{link['name']}: {bits} bits from {first_s} to {last_s} s, {most} at most"
        if run.whole and not math.isclose(
            row["throughput_mbit"] * 1e6 * interval_s, 8 * row["bytes_out"], rel_tol=ROUNDING
        ):
            yield f"{link['name']}: {row['throughput_mbit']} Mbit/s of {row['bytes_out']} B"
        if not 0 <= row["utilisation"] <= 1 + ROUNDING:
            yield f"{link['name']}: used to {row['utilisation']}"
        is_constant = "rate_steps" not in link
        if link.get("shaper", "line") == "line" and not link.get("wifi") and is_constant:
            busy_s = (
                row["utilisation"] * run.duration_s
                + 8 * bounds.on_link(link["overhead"], packet) / link["rate_bps"]
            )
            carried = bounds.efficiency(link, packet) * link["rate_bps"] * busy_s
            if 8 * row["bytes_out"] > carried * (1 + ROUNDING):
                yield f"{link['name']}: {row['bytes_out']} B while sending for {busy_s} s"


def links_hand_on_what_they_send(run: Run) -> Iterator[str]:
    """A link is offered at most the packets that the link before it sent.

    The packets that arrive are at most the packets that the last link sent. If only queues can lose
    packets, the lost packets are at most the dropped packets.
    """
    rows = by_link(run)
    for way in ("up", "down"):
        routes = {tuple(app[way]["links"]) for app in run.spec["apps"]}
        if len(routes) != 1:
            continue
        names = [run.spec["links"][number]["name"] for number in next(iter(routes))]
        for one, other in itertools.pairwise(names):
            on_the_way = rows[one]["packets_out"] - rows[other]["packets_offered"]
            if on_the_way < 0:
                yield f"{one} sent {rows[one]['packets_out']}, {other} got {rows[other]}"
        flows = [row for row in run.tables["flows"] if row["direction"] == way]
        arrived = sum(row["packets_received"] for row in flows)
        if arrived > rows[names[-1]]["packets_out"]:
            yield f"{arrived} packets arrived, {names[-1]} sent {rows[names[-1]]['packets_out']}"
        # If reordering is possible, a packet that later packets have overtaken counts as lost at
        # the end. DualPI2 reorders a connection with ECN, because only its data packets enter the L
        # queue.
        links = [run.spec["links"][number] for number in next(iter(routes))]
        lossless = not any(app[way]["loss"] or app[way]["reorder"] for app in run.spec["apps"])
        lossless = lossless and not any(
            link.get("wifi") or link["qdisc"]["kind"].startswith("dualpi2") for link in links
        )
        lost = sum(row["lost"] for row in flows)
        if lossless and lost > sum(dropped(rows[name]) for name in names):
            yield f"{lost} packets were lost {way} and fewer dropped"


def _limit_packets(link: dict[str, Any]) -> float:
    kind = catalogue.load()["disciplines"][link["qdisc"]["kind"]]
    param, given = kind.params.get("limit"), link["qdisc"]["params"]
    if param is None or param.type != "count" or given.get("limit_bytes"):
        return math.inf
    limit: float = given.get("limit", param.default)
    return 3 * limit if kind.name == "pfifo_fast" else limit  # the kind has three bands


def _limit_bytes(link: dict[str, Any]) -> float:
    kind = catalogue.load()["disciplines"][link["qdisc"]["kind"]]
    param, given = kind.params.get("limit"), link["qdisc"]["params"]
    if param is None or param.type != "bytes":  # CAKE limits the memory of packets
        return given.get("limit_bytes") or math.inf
    limit: float = given.get("limit", param.default)
    if not limit and kind.name == "dualpi2_rfc":
        # The default limit is 250 ms at the link's rate. The rate of a radio is unknown.
        limit = 0.25 * link["rate_bps"] / 8 or math.inf
    return limit


def queues_hold_no_more_than_their_limit(run: Run) -> Iterator[str]:
    """A backlog is within the limit in packets or bytes, and waits are within the trial."""
    hosts = [app[side] for app in run.spec["apps"] for side in ("home", "wan")]
    largest = max(host["mtu"] for host in hosts)
    for link in run.spec["links"]:
        row = by_link(run)[link["name"]]
        samples = (one for one in run.tables["queue_series"] if one["link"] == link["name"])
        most_bytes = max((one["backlog_bytes"] for one in samples), default=0)
        # Some disciplines accept a packet of any size while the limit is not reached.
        if most_bytes >= _limit_bytes(link) + largest + link["overhead"].get("counted", 0):
            yield f"{link['name']}: {most_bytes} bytes in {link['qdisc']}"
        if row["backlog_max_packets"] > _limit_packets(link):
            yield f"{link['name']}: {row['backlog_max_packets']} packets in {link['qdisc']}"
        names = [f"sojourn_{name}_ms" for name in ("p5", "p50", "p95", "p99", "max")]
        waits = [row[name] for name in names]
        if any(low > high for low, high in itertools.pairwise(waits)):
            yield f"{link['name']}: sojourn times {waits}"
        if not math.isnan(waits[-1]) and not (
            0 <= row["sojourn_mean_ms"] <= waits[-1] <= 1e3 * run.duration_s
        ):
            yield f"{link['name']}: mean sojourn {row['sojourn_mean_ms']}, longest {waits[-1]} ms"
        if (
            not 0
            <= row["backlog_mean_packets"]
            <= row["packets_offered"]
            * run.duration_s
            / ((run.interval_ns[1] - run.interval_ns[0]) / 1e9)
        ):
            yield f"{link['name']}: mean backlog {row['backlog_mean_packets']}"


def waits_are_what_littles_law_says(run: Run) -> Iterator[str]:
    """The mean backlog is the rate of departures times the mean wait.

    The longest wait of each step is at most the longest wait of the trial.
    """
    if not run.whole:
        return
    for link, row in by_link(run).items():
        if row["packets_out"]:
            mean = row["packets_out"] * row["sojourn_mean_ms"] / 1e3 / run.duration_s
            # The mean wait is rounded down to a nanosecond.
            slack = row["packets_out"] * 1e-9 / run.duration_s
            if not mean * (1 - ROUNDING) <= row["backlog_mean_packets"] <= mean + slack + ROUNDING:
                yield f"{link}: a mean backlog of {row['backlog_mean_packets']}, not {mean}"
        steps = [one["sojourn_max_ms"] for one in run.tables["queue_series"] if one["link"] == link]
        if steps and max(steps) > max(0, row["sojourn_max_ms"]):
            yield f"{link}: a wait of {max(steps)} ms, the longest is {row['sojourn_max_ms']}"


def drops_and_marks_have_owners(run: Run) -> Iterator[str]:
    """Drops and marks of flows add up to the drops and marks of the link.

    Marks require ECN at both ends, or an application that sends datagrams with ECN. The SYN or
    SYN-ACK of a controller that needs ECN is ECN-capable even if the other end has no ECN. With
    QUIC each end decides alone whether its datagrams are ECN-capable.
    """
    rows = by_link(run)
    drops: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    for row in run.tables["queue_drops"]:
        drops[row["link"]] += row["drops"]
        marks[row["link"]] += row["marks"]
        ends = run.apps[row["flow"]]
        hosts = (ends["home"], ends["wan"])
        enough = any if _uses_quic(ends["app"]) else all
        may_mark = enough(map(_may_use_ecn, hosts)) or any(map(_needs_ecn, hosts))
        if row["marks"] and not may_mark and not _sends_with_ecn(ends["app"]):
            yield f"{row['flow']} was marked without ECN"
    for link, row in rows.items():
        if drops[link] != dropped(row) or marks[link] != row["marks"]:
            yield f"{link}: {drops[link]} drops and {marks[link]} marks have owners, of {row}"


def _may_use_ecn(host: dict[str, Any]) -> bool:
    """Returns whether a host may negotiate ECN: by a key, a setting or its congestion control."""
    return host["ecn"] or "tcp_ecn" in host["settings"] or _needs_ecn(host)


def _needs_ecn(host: dict[str, Any]) -> bool:
    return (host["cc"] or {}).get("kind") in ("dctcp", "prague")


def _uses_quic(app: Row) -> bool:
    params = app["params"]
    return str(params.get("transport", params.get("protocol"))).startswith(("quic", "http3"))


def _sends_with_ecn(app: dict[str, Any]) -> bool:
    return app["params"].get("ecn", "not_ect") != "not_ect"


def samples_agree_with_totals(run: Run) -> Iterator[str]:
    """Counters do not fall, and do not exceed their totals.

    A queue has bytes if and only if it has packets. Probabilities are between 0 and 1.
    """
    rows = by_link(run)
    most: dict[str, float] = dict.fromkeys(rows, 0)
    before: dict[str, tuple[float, float]] = {}
    for row in run.tables["queue_series"]:
        link = row["link"]
        now = (row["drops"], row["marks"])
        if now < before.get(link, (0, 0)) or now[1] < before.get(link, (0, 0))[1]:
            yield f"{link}: counters fell at {row['t_s']} s"
        before[link] = now
        most[link] = max(most[link], row["backlog_packets"])
        if (row["backlog_packets"] > 0) != (row["backlog_bytes"] > 0):
            yield f"{link}: {row['backlog_packets']} packets of {row['backlog_bytes']} B"
        if not 0 <= row["sojourn_max_ms"] <= 1e3 * run.duration_s:
            yield f"{link}: a wait of {row['sojourn_max_ms']} ms at {row['t_s']} s"
    for link, (drops, marks) in before.items():
        if drops > dropped(rows[link]) or marks > rows[link]["marks"]:
            yield f"{link}: samples count {drops} drops and {marks} marks of {rows[link]}"
        if most[link] > rows[link]["backlog_max_packets"]:
            yield f"{link}: {most[link]} packets sampled, {rows[link]['backlog_max_packets']}"
    for row in run.tables["queue_gauges"]:
        share = row["gauge"] in ("drop_probability", "max_probability", "dropping")
        is_signed = row["gauge"] == "credit"  # negative: the other queue of dualpi2 has credit
        if (row["value"] < 0 and not is_signed) or (share and row["value"] > 1):
            yield f"{row['link']}: {row['gauge']} is {row['value']}"
