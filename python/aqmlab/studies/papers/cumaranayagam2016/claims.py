"""The claims of the paper, each as a small function over results."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from aqmlab.studies.claims import (
    Check,
    Claims,
    Evidence,
    about,
    above,
    alike,
    below,
    more,
    spread,
    total,
)
from aqmlab.studies.numbers import At, BySeed, Numbers, Points
from aqmlab.studies.statistic import Span
from aqmlab.studies.time_series import apart, swings, uneven
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

FAST, SLOW = "50/20 Mbit/s", "4/1 Mbit/s"
FIFO, FQ = "pfifo", "fq_codel"
UPLOADS = Trials("uploads")
IOT = Trials("iot")

FLOWS = ("flow1", "flow2", "flow3")
STARTS_S = {"flow1": 0.0, "flow2": 20.0, "flow3": 40.0}
ENDS_S = {"flow1": 60.0, "flow2": 80.0, "flow3": 100.0}

ALONE: Span = (5.0, 20.0)
"""The interval with the first upload only, without its start."""
TOGETHER: Span = (20.0, 80.0)
PARTS: tuple[Span, ...] = ((20.0, 40.0), (40.0, 60.0), (60.0, 80.0))
"""The parts of `TOGETHER` between starts and ends of uploads."""
TWO, THREE = PARTS[:2]

FRAME = 1514
"""The length of a full packet in bytes, as the router counts it."""
BUFFER = 90
UP_MBIT = {FAST: 20.0, SLOW: 1.0}
DRAIN_MS = {rate: BUFFER * FRAME * 8e-3 / mbit for rate, mbit in UP_MBIT.items()}
"""The time in which a full buffer drains, by rate."""
PACKET_MS = FRAME * 8e-3 / UP_MBIT[SLOW]
CALL_MBIT = (160 + 40) * 8 / 20e3
"""The rate of a call with G.711: a packet every 20 ms with IP, UDP and RTP headers."""

EVEN, SMOOTH, UNEVEN = 1.5, 1.25, 2.0
"""Our readings of "balanced", "completely smooth" and "very unevenly".

Each value bounds the ratio of the largest to the smallest upload, as the median over windows of
one second.
"""
FULL = 0.95
"""Our reading of "full capacity", as a share of the line's IP capacity."""
FAR = 2.0
"""Our reading of "much" and "significantly": at least twice."""


def _at(rate: str, queue: str) -> At:
    return {"rate": rate, "qdisc": queue}


def _rates(n: Numbers, flow: str, at: At) -> Points:
    """The throughput in windows of one second, in Mbit/s."""
    return n.points("windows", flow, "throughput_mbit", at, "up")


def _rtts(n: Numbers, flow: str, at: At) -> Points:
    """The mean round-trip times of steps of 250 ms, in ms."""
    return n.points("rtt", flow, "rtt_mean_ms", at, "up")


def _fills(n: Numbers, flow: str, rate: str, queue: str, span: Span) -> Check:
    carries = UP_MBIT[rate] * 1500 / FRAME
    words = f"{flow}, {rate} {queue}, {span[0]:g} to {span[1]:g} s"
    return above(words, n.rate(flow, _at(rate, queue), span), FULL * carries, "Mbit/s")


def _senders(span: Span) -> list[str]:
    return [flow for flow in FLOWS if STARTS_S[flow] <= span[0] and span[1] <= ENDS_S[flow]]


def _unevenness(n: Numbers, at: At, *spans: Span) -> BySeed:
    """The ratio of the largest to the smallest active upload, as the median over windows."""
    found: BySeed = {}
    for seed in n.seeds:
        windows: list[float] = []
        for span in spans:
            own = [_rates(n, flow, at)[seed] for flow in _senders(span)]
            windows += uneven(own, (span[0] + 0.5, span[1] - 0.5))
        found[seed] = statistics.median(windows)
    return found


def _noise(n: Numbers, at: At, *spans: Span) -> BySeed:
    """The mean relative standard deviation of throughput, over uploads and intervals."""
    each = []
    for span in spans:
        for flow in _senders(span):
            mean, deviation = (n.rate(flow, at, span, take=one) for one in ("mean", "deviation"))
            each.append({seed: deviation[seed] / mean[seed] for seed in n.seeds})
    return _mean(each)


def _delay(n: Numbers, flow: str, at: At, span: Span, share: float = 0.5) -> BySeed:
    """A quantile of a flow's round-trip times in a span, in ms."""
    return n.rtt(flow, at, span, direction="up", take=share)


def _lives(flow: str) -> Span:
    """The interval in which an upload sends while other uploads also send."""
    return max(STARTS_S[flow], TOGETHER[0]), min(ENDS_S[flow], TOGETHER[1])


def _mean(parts: Sequence[BySeed]) -> BySeed:
    return {seed: value / len(parts) for seed, value in total(*parts).items()}


# --- Throughput under pfifo: figures 2 and 3 ---------------------------------------------------


def _shares_badly(n: Numbers, rate: str) -> list[Check]:
    at = _at(rate, FIFO)
    return [
        above(f"most over least, {rate}, 20 to 80 s", _unevenness(n, at, *PARTS), UNEVEN, "×"),
        more(f"most over least, {rate}: from 40 s over before", _unevenness(n, at, THREE),
             _unevenness(n, at, TWO)),
    ]  # fmt: skip


@CLAIMS("1-01", "IV-A, Fig. 2", "At 50/20 under pfifo the uploads share very unevenly from 20 to "
        "80 s, and worse once the third has joined.", UPLOADS, given="lengths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _shares_badly(n, FAST)


@CLAIMS("1-02", "IV-A, Fig. 3", "At 4/1 under pfifo the first upload alone fills the line until 20 "
        "s; then they share very unevenly, and worse once the third has joined.", UPLOADS,
        given="lengths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [_fills(n, "flow1", SLOW, FIFO, ALONE), *_shares_badly(n, SLOW)]


@CLAIMS("1-03", "IV-A, Fig. 3", "At 4/1 under pfifo the first two uploads cease at about 90 s, and "
        "the third then has the full line.", UPLOADS, given="lengths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    at = _at(SLOW, FIFO)
    ends, rest = {}, {}
    for seed in n.seeds:
        first, second, third = (_rates(n, flow, at)[seed] for flow in FLOWS)
        ends[seed] = max(t_s for t_s, value in (*first, *second) if value > 0)
        rest[seed] = statistics.fmean(value for t_s, value in third if t_s > ends[seed] + 0.5)
    carries = UP_MBIT[SLOW] * 1500 / FRAME
    return [
        about("the first two have ceased", ends, 90, "s"),
        above("flow3 from then on", rest, FULL * carries, "Mbit/s"),
    ]


# --- Round-trip times under pfifo: figures 4 and 5 ---------------------------------------------


@CLAIMS("1-04", "IV-B, Fig. 4", "At 50/20 under pfifo round-trip times swing high in rapid "
        "periodic cycles.", UPLOADS)  # fmt: skip
def _(n: Numbers) -> Evidence:
    at = _at(FAST, FIFO)
    checks = []
    for flow in FLOWS:
        low, high = (_delay(n, flow, at, _lives(flow), share) for share in (0.05, 0.95))
        own = spread(low, high)
        checks.append(above(f"{flow}: p95 less p5", own, DRAIN_MS[FAST] / 2, "ms"))
        start, end = _lives(flow)
        period = {}
        for seed, course in _rtts(n, flow, at).items():
            lived = [one for one in course if start <= one[0] <= end]
            period[seed] = (end - start) / max(swings(lived, low[seed], high[seed]), 1)
        checks.append(below(f"{flow}: length of a cycle", period, 10, "s"))
    return Evidence(checks, note="high: half of what the buffer can hold; rapid: every 10 s")


@CLAIMS("1-05", "IV-B, Fig. 5", "At 4/1 under pfifo round-trip times cycle between about 600 and "
        "1100 ms, those of all uploads together.", UPLOADS)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    at = _at(SLOW, FIFO)
    checks = []
    for flow in FLOWS:
        low, high = (_delay(n, flow, at, _lives(flow), share) for share in (0.05, 0.95))
        checks.append(about(f"{flow}: p5", low, 600, "ms"))
        checks.append(about(f"{flow}: p95", high, 1100, "ms"))
    checks.append(_close(n, "flow1", "flow2", at, (20.0, 60.0)))
    return checks


def _close(n: Numbers, one: str, other: str, at: At, span: Span) -> Check:
    """A check that the round-trip times of two flows in the same step differ little."""
    ones, others = _rtts(n, one, at), _rtts(n, other, at)
    found = {seed: apart(ones[seed], others[seed], span) for seed in n.seeds}
    return below(f"{one} and {other} apart in a step", found, 0.1)


# --- Throughput under fq_codel: figures 6 and 7 ------------------------------------------------


@CLAIMS("1-06", "IV-C, Fig. 6", "At 50/20 under fq_codel throughput is steady and shared evenly, "
        "and quite smoothly once all three send.", UPLOADS, given="lengths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    fq, fifo = _at(FAST, FQ), _at(FAST, FIFO)
    three = _unevenness(n, fq, (42.0, 60.0))
    own, theirs = (_unevenness(n, at, *PARTS) for at in (fq, fifo))
    return [
        below("most over least, 20 to 80 s", own, EVEN, "×"),
        below("most over least of three", three, SMOOTH, "×"),
        more("most over least, pfifo over fq_codel", theirs, own),
        more("noise, pfifo over fq_codel", _noise(n, fifo, *PARTS), _noise(n, fq, *PARTS)),
    ]


@CLAIMS("1-07", "IV-D, V, Fig. 7", "At 4/1 under fq_codel throughput is noisy, though less than "
        "under pfifo, and smoothly shared from 0 to 20, 30 to 40 and 90 to 100 s.", UPLOADS,
        given="lengths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    fq, fifo = _at(SLOW, FQ), _at(SLOW, FIFO)
    smooth = (30.0, 40.0)
    return [
        _fills(n, "flow1", SLOW, FQ, ALONE),
        _fills(n, "flow3", SLOW, FQ, (90.0, 100.0)),
        below("most over least, 30 to 40 s", _unevenness(n, fq, smooth),
              SMOOTH, "×"),
        more("noise, 20 to 80 s over 30 to 40 s", _noise(n, fq, *PARTS), _noise(n, fq, smooth)),
        more("noise, pfifo over fq_codel", _noise(n, fifo, *PARTS), _noise(n, fq, *PARTS)),
        more("most over least, pfifo over fq_codel", _unevenness(n, fifo, *PARTS),
             _unevenness(n, fq, *PARTS)),
    ]  # fmt: skip


# --- Round-trip times under fq_codel: figures 8 and 9 ------------------------------------------


def _spike(n: Numbers, flow: str, at: At) -> tuple[BySeed, BySeed]:
    """The longest RTT 0 to 3 s after an upload's start, and the median RTT 5 to 20 s after it."""
    start = STARTS_S[flow]
    longest = n.rtt(flow, at, (start, start + 3), direction="up", take="max")
    return longest, _delay(n, flow, at, (start + 5, start + 20))


@CLAIMS("1-08", "IV-E, Figs. 8, 9", "Under fq_codel round-trip times spike when an upload starts, "
        "at both rates, and soon fall by about 100 ms.", UPLOADS)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rate in UP_MBIT:
        at = _at(rate, FQ)
        falls = []
        for flow in FLOWS:
            longest, settled = _spike(n, flow, at)
            checks.append(more(f"{flow}, {rate}: spike over what follows", longest, settled,
                               times=1.5))  # fmt: skip
            falls.append(spread(settled, longest))
        fall = {seed: statistics.median(one[seed] for one in falls) for seed in n.seeds}
        checks.append(about(f"fall, {rate}", fall, 100, "ms"))
    return checks


def _residual(n: Numbers, rate: str, expected_ms: float) -> Check:
    """A check that RTT at the end of uploads exceeds RTT_base by about `expected_ms`.

    The end is the last five seconds of each upload.
    """
    at = _at(rate, FQ)
    each = [_delay(n, flow, at, (ENDS_S[flow] - 5, ENDS_S[flow])) for flow in FLOWS]
    middle = {seed: statistics.median(one[seed] for one in each) - 40 for seed in n.seeds}
    return about(f"above 40 ms, {rate}", middle, expected_ms, "ms")


@CLAIMS("1-09", "IV-E, Fig. 8", "At 50/20 under fq_codel the end of each upload is about 10 ms "
        "above RTT_base.", UPLOADS, given="lengths")  # fmt: skip
def _(n: Numbers) -> Check:
    return _residual(n, FAST, 10)


@CLAIMS("1-10", "IV-E, Fig. 9", "At 4/1 under fq_codel the end of each upload is about 30 ms above "
        "RTT_base.", UPLOADS, given="lengths")  # fmt: skip
def _(n: Numbers) -> Check:
    return _residual(n, SLOW, 30)


def _induced(n: Numbers, flow: str, rate: str, queue: str) -> BySeed:
    own = _delay(n, flow, _at(rate, queue), _lives(flow))
    return {seed: value - 40 for seed, value in own.items()}


@CLAIMS("1-11", "IV-E, Figs. 4, 5, 8, 9", "At both rates fq_codel delays much less than pfifo.",
        UPLOADS)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{flow}, {rate}: pfifo over fq_codel", _induced(n, flow, rate, FIFO),
             _induced(n, flow, rate, FQ), times=FAR)
        for rate in UP_MBIT for flow in FLOWS
    ]  # fmt: skip


# --- Low-rate datagrams: figures 10 and 11 -----------------------------------------------------


@CLAIMS("1-12", "IV-F, Fig. 10", "Under pfifo a low-rate UDP flow has the same high swings of "
        "round-trip time as the uploads.", IOT, given="datagrams")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    at = {"qdisc": FIFO}
    checks = []
    swing = {}
    for flow, name in (("flow2", "upload"), ("iot", "UDP")):
        low, high = (_delay(n, flow, at, TOGETHER, share) for share in (0.05, 0.95))
        swing[name] = spread(low, high)
    checks.append(alike("p95 less p5, UDP over upload", swing["UDP"], swing["upload"], within=0.2))
    checks.append(above("p95 less p5, UDP", swing["UDP"], DRAIN_MS[SLOW] / 4, "ms"))
    return [*checks, _close(n, "iot", "flow2", at, TOGETHER)]


@CLAIMS("1-13", "IV-F, Fig. 11", "Under fq_codel the UDP flow's round-trip times are short and "
        "even while the uploads go on.", IOT, given="datagrams")  # fmt: skip
def _(n: Numbers) -> Evidence:
    at = {"qdisc": FQ}
    low, middle, high = (_delay(n, "iot", at, (0.0, 100.0), share) for share in (0.05, 0.5, 0.95))
    above_base = {seed: value - 20 for seed, value in middle.items()}
    uploads = total(*(n.rate(flow, at, THREE) for flow in FLOWS))
    left = UP_MBIT[SLOW] * 1500 / FRAME - CALL_MBIT
    checks = [
        below("UDP: median above RTT_base", above_base, 2 * PACKET_MS, "ms"),
        below("UDP: p95 less p5", spread(low, high), 2 * PACKET_MS, "ms"),
        above("uploads together, 40 to 60 s", uploads, FULL * left, "Mbit/s"),
    ]
    return Evidence(checks, note="short and even: two packets' time on the line")


# --- Other statements of the text --------------------------------------------------------------


@CLAIMS("1-14", "IV-E", "Delay under fq_codel depends less on the line and on the load than under "
        "pfifo.", UPLOADS)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    line = {
        queue: spread(*(_mean([_induced(n, flow, rate, queue) for flow in FLOWS])
                        for rate in (FAST, SLOW)))
        for queue in (FIFO, FQ)
    }  # fmt: skip
    checks = [more("from 50/20 to 4/1, pfifo over fq_codel", line[FIFO], line[FQ])]
    for rate in UP_MBIT:
        load = []
        for queue in (FIFO, FQ):
            alone, three = (_delay(n, "flow1", _at(rate, queue), one) for one in (ALONE, THREE))
            load.append({seed: abs(three[seed] - alone[seed]) for seed in n.seeds})
        checks.append(more(f"from one upload to three, {rate}, pfifo over fq_codel", *load))
    return checks


@CLAIMS("1-15", "V", "fq_codel drops packets of the largest flows, and so none of low-rate flows.",
        IOT, given="datagrams")  # fmt: skip
def _(n: Numbers) -> Evidence:
    at = {"qdisc": FQ}
    call = n.drops("up", "iot", at)
    every = total(call, *(n.drops("up", flow, at) for flow in FLOWS))
    share = {seed: call[seed] / every[seed] for seed in n.seeds}
    return Evidence(
        [below("UDP's share of the uplink's drops", share, 0.01)], note="none: one in a hundred"
    )


@CLAIMS("1-16", "I, IV-F", "fq_codel delays low-rate IoT flows significantly less than pfifo.", IOT,
        given="datagrams")  # fmt: skip
def _(n: Numbers) -> Check:
    fifo, fq = (_delay(n, "iot", {"qdisc": queue}, (0.0, 100.0)) for queue in (FIFO, FQ))
    return more("UDP, pfifo over fq_codel", fifo, fq, times=FAR)


@CLAIMS("1-17", "IV-F", "Under fq_codel uploads and low-rate UDP live together: capacity is shared "
        "evenly, and UDP gets its rate.", IOT, given="datagrams")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    at = {"qdisc": FQ}
    call = n.flow("iot", "throughput_mean_mbit", at, "up")
    return [
        below("most over least of uploads", _unevenness(n, at, *PARTS), EVEN, "×"),
        above("UDP", call, CALL_MBIT, "Mbit/s", slack=0.05),
    ]


@CLAIMS("1-18", "III", "90 packets are what 50 Mbit/s and 40 ms call for, with a margin.")
def _() -> Evidence:
    packets = 50e6 * 0.040 / 8 / 1500
    note = f"a bandwidth-delay product of {packets:.0f} packets of 1500 bytes"
    return Evidence([above("packets of the buffer", BUFFER, packets, "packets")], note=note)
