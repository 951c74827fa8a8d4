"""The claims of the disciplines' own RFCs."""

from __future__ import annotations

import statistics

from aqmlab.studies.claims import Check, Claims, about, above, below, more, not_less, total
from aqmlab.studies.numbers import At, BySeed, Numbers, Unjudged
from aqmlab.studies.papers.rfc7928.claims.conditions import (
    CODEL,
    FIFO,
    FQ,
    INSENSITIVE,
    LEVELS,
    LOAD,
    MANAGED,
    MIX,
    NO_LOSS_OF_USE,
    PACKET_MS,
    PAIR,
    PIE,
    RTT_MS,
    RTTS,
    SENDERS,
    SINGLE,
    TARGET_MS,
    congested,
    flows,
    ratio,
    sojourn,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()


def _together(n: Numbers, level: str, queue: str) -> BySeed:
    """The total throughput of a level's flows, in Mbit/s of payload."""
    at = congested(level, queue)
    return total(*(n.flow(flow, "goodput_mbit", at) for flow in flows(level)))


# --- Claims of RFC 8033 about PIE ---------------------------------------------------------------


@CLAIMS("R-01", "RFC 8033, abstract", "PIE controls the mean queueing delay to its target of 15 ms"
        " under various congestion.", LOAD, given="buffer",
        rule="At each of three levels of congestion.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        about(f"{level}, mean sojourn", sojourn(n, congested(level, PIE), "sojourn_mean_ms"),
              TARGET_MS[PIE], "ms")
        for level in LEVELS
    ]  # fmt: skip


@CLAIMS("R-02", "RFC 8033, 3", "PIE keeps delay low and the link used.",
        LOAD, SINGLE, given="buffer",
        rule="At most a twentieth less goodput than drop-tail.")  # fmt: skip
def _(load: Numbers, single: Numbers) -> list[Check]:
    return _no_less_use(load, single, PIE)


def _no_less_use(load: Numbers, single: Numbers, queue: str) -> list[Check]:
    found = [
        not_less(f"{queue} over {FIFO}, {level}", _together(load, level, queue),
                 _together(load, level, FIFO), slack=NO_LOSS_OF_USE)
        for level in LEVELS
    ]  # fmt: skip
    for sender in SENDERS:
        these, those = (
            single.flow("flow", "goodput_mbit", {"sender": sender, "qdisc": one})
            for one in (queue, FIFO)
        )
        found.append(not_less(f"one {sender} flow", these, those, slack=NO_LOSS_OF_USE))
    return found


# --- Claims of RFC 8289 about CoDel -------------------------------------------------------------


@CLAIMS("R-03", "RFC 8289, 3.2", "CoDel lets no queue stand above its target of 5 ms: the least"
        " delay of an interval seldom is.", SINGLE, given="buffer",
        rule="In nine of ten steps of 250 ms, two and a half intervals, the least induced RTT is at"
        " most 5 ms and a packet's time on the wire.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [_standing(n, {"sender": sender, "qdisc": CODEL}, sender) for sender in SENDERS]


def _standing(n: Numbers, at: At, words: str) -> Check:
    base_ms = n.flow("flow", "rtt_base_ms", at)
    steps = n.points("rtt", "flow", "rtt_min_ms", at)
    limit_ms = TARGET_MS[CODEL] + PACKET_MS
    share = {
        seed: statistics.fmean(ms - base_ms[seed] <= limit_ms for at_s, ms in own if at_s >= 10)
        for seed, own in steps.items()
    }
    return above(f"{words}, share of steps", {s: 100 * one for s, one in share.items()}, 90, "%")


@CLAIMS("R-04", "RFC 8289, abstract", "CoDel controls delay whatever the round-trip time, the link"
        " rate and the load.", LOAD, PAIR, given="buffer",
        rule="Over three loads, and over six RTTs of the second flow, the greatest median sojourn"
        " is at most twice the least; the link rate is not varied.")  # fmt: skip
def _(load: Numbers, pair: Numbers) -> list[Check]:
    loads = [sojourn(load, congested(level, CODEL)) for level in LEVELS]
    rtts = [sojourn(pair, {"rtt": rtt, "qdisc": CODEL}) for rtt in RTTS]
    return [
        below(f"over {words}, greatest over least", _span(parts), INSENSITIVE, "×")
        for words, parts in (("loads", loads), ("RTTs", rtts))
    ]


def _span(parts: list[BySeed]) -> BySeed:
    return {seed: max(p[seed] for p in parts) / min(p[seed] for p in parts) for seed in parts[0]}


@CLAIMS("R-05", "RFC 8289, abstract", "CoDel adapts to rates that change, with no negative impact"
        " on utilisation.", SINGLE)  # fmt: skip
def _(n: Numbers) -> Check:
    raise Unjudged("the lines of the study have constant rates")


@CLAIMS("R-05b", "RFC 8289, 3.2", "A target that is a share f of the round-trip time leaves one"
        " flow of Reno (3 + 6f - f²) / (4 (1 + f)) of the line.", SINGLE, given="buffer",
        rule="Within a twentieth, of what drop-tail gave the flow, which filled it.")  # fmt: skip
def _(n: Numbers) -> Check:
    share = TARGET_MS[CODEL] / RTT_MS
    expected = (3 + 6 * share - share**2) / (4 * (1 + share))
    got, line = (
        n.flow("flow", "goodput_mbit", {"sender": "NewReno", "qdisc": queue})
        for queue in (CODEL, FIFO)
    )
    return about("CoDel over drop-tail", ratio(got, line), expected, "×", within=0.05)


# --- Claims of RFC 8290 about FQ-CoDel ----------------------------------------------------------


@CLAIMS("R-06", "RFC 8290, abstract", "FQ-CoDel isolates low-rate traffic: a call does not wait for"
        " what others have queued.", MIX, given=("buffer", "bursts"),
        rule="The call's 95th percentile of induced RTT is at most that of four full packets on the"
        " wire, and less than half of CoDel's and PIE's.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    waits = {queue: n.flow("voip", "induced_p95_ms", {"qdisc": queue}, "down") for queue in MANAGED}
    return [
        below("call under FQ-CoDel", waits[FQ], 4 * PACKET_MS, "ms"),
        *(
            more(f"{queue} over FQ-CoDel", waits[queue], waits[FQ], times=2)
            for queue in (CODEL, PIE)
        ),
    ]


@CLAIMS("R-07", "RFC 8290, abstract", "FQ-CoDel improves utilisation for bidirectional traffic by"
        " keeping queues short.", Trials("both"), given="buffer",
        rule="The goodputs of both ways together are more than under drop-tail.")  # fmt: skip
def _(n: Numbers) -> Check:
    these, those = (
        total(*(n.flow(flow, "goodput_mbit", {"qdisc": queue}) for flow in ("down", "up")))
        for queue in (FQ, FIFO)
    )
    return more("FQ-CoDel over drop-tail", these, those)


@CLAIMS("R-08", "RFC 8290, 1.2 and 3.1", "FQ-CoDel shares the line by bytes among flows that have"
        " something queued.", LOAD, given="buffer",
        rule="Jain's index of many flows is 0.99 at least.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        above(f"{level}, Jain's index", n.summary("jain_down", congested(level, FQ)), 0.99)
        for level in LEVELS
    ]
