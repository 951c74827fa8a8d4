"""Claims of draft-ietf-ccwg-bbr-06 about BBRv3."""

from __future__ import annotations

from aqmlab.studies.claims import (
    THRESHOLD,
    Check,
    Claims,
    about,
    above,
    alike,
    below,
    more,
    not_less,
)
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.modern.claims.conditions import (
    MUCH,
    PAYLOAD_SHARE,
    goodput,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

BBR, LOSS_BASED = "BBRv3", ("CUBIC", "Reno")
LINE_MBIT, RTT_MS = 50.0, 40.0
FULL_BUFFER, LOSSY, SHALLOW, DEEP = (
    "buffer of 1 BDP",
    "loss of 1 %",
    "buffer of 0.05 BDP",
    "buffer of 10 BDP",
)
BUFFERS = ("0.5 BDP", "1 BDP", "2 BDP", "4 BDP")
VIDEO_MBIT = 25.0
"""The rate of a video in 4K that a flow beside BBR shall reach."""

DRAFT = "draft-ietf-ccwg-bbr-06"
COEXISTENCE = f"{DRAFT}, Bandwidth Probing and Coexistence with Reno/CUBIC"
SCALE = f"{DRAFT}, A Dual-Time-Scale Approach for Coexistence"


def _of(n: Numbers, sender: str, line: str) -> BySeed:
    return goodput(n, "flow", {"sender": sender, "line": line})


def _more(n: Numbers, line: str) -> list[Check]:
    return [
        more(f"BBRv3 over {other}", _of(n, BBR, line), _of(n, other, line), times=MUCH)
        for other in LOSS_BASED
    ]


@CLAIMS("M-24", f"{DRAFT}, abstract", "With random losses BBR has substantially more throughput"
        " than Reno and CUBIC.", Trials("bbr", {"line": LOSSY}), given="bbr",
        rule='"substantially" is twice; 1 % of packets are lost.')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _more(n, LOSSY)


@CLAIMS("M-25", f"{DRAFT}, abstract", "With a shallow buffer BBR has substantially more throughput"
        " than Reno and CUBIC.", Trials("bbr", {"line": SHALLOW}), given="bbr",
        rule='"substantially" is twice; the buffer holds 8 packets, 0.05 BDP.')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _more(n, SHALLOW)


@CLAIMS("M-26", f"{DRAFT}, abstract", "With a deep buffer BBR has substantially less queueing delay"
        " than Reno and CUBIC.", Trials("bbr", {"line": DEEP}), given="bbr",
        rule='"substantially" is half of the median; the buffer holds 10 BDP.')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    own, *others = (
        n.queue("down", "sojourn_p50_ms", {"sender": sender, "line": DEEP})
        for sender in (BBR, *LOSS_BASED)
    )
    return [
        more(f"{name} over BBRv3", other, own, times=MUCH)
        for name, other in zip(LOSS_BASED, others, strict=True)
    ]


@CLAIMS("M-27", f"{DRAFT}, High-Level Design Goals", "BBR reaches the full throughput with average"
        " losses of up to 1 %.", Trials("bbr", {"sender": BBR}), given="bbr",
        rule="At least nine tenths of the line's payload.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    full = LINE_MBIT * PAYLOAD_SHARE
    return [
        above(line, {seed: 100 * one / full for seed, one in _of(n, BBR, line).items()}, 90, "%")
        for line in ("loss of 0.1 %", LOSSY)
    ]


@CLAIMS("M-28", f"{DRAFT}, Algorithm Overview", "BBR aims at a queue of at most 1.5 BDP, and at an"
        " average loss considerably below 2 %.", Trials("bbr", {"sender": BBR}), given="bbr",
        rule="In the deep buffer the 95th percentile of the queueing delay is at most 60 ms; in the"
        " shallow buffer the loss is at most 1 %.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    delay = n.queue("down", "sojourn_p95_ms", {"sender": BBR, "line": DEEP})
    loss = n.flow("flow", "loss_percent", {"sender": BBR, "line": SHALLOW}, "down")
    return [
        below("deep buffer, p95", delay, 1.5 * RTT_MS, "ms"),
        below("shallow buffer, loss", loss, 1.0, "%", slack=THRESHOLD),
    ]


@CLAIMS("M-29", f"{DRAFT}, ProbeRTT Design Rationale", "ProbeRTT costs no more than about 2 % of"
        " the bandwidth.", Trials("bbr", {"sender": BBR, "line": FULL_BUFFER}), given="bbr",
        rule="One flow gets 0.98 of the line's rate, or more; a hundredth less is no"
        " difference.")  # fmt: skip
def _(n: Numbers) -> Check:
    own = n.flow("flow", "throughput_mean_mbit", {"sender": BBR, "line": FULL_BUFFER}, "down")
    share = {seed: 100 * one / LINE_MBIT for seed, one in own.items()}
    return above("of the line", share, 98, "%", slack=0.01)


def _pair(n: Numbers, other: str, buffer: str) -> tuple[BySeed, BySeed]:
    at = {"other": other, "buffer": buffer}
    return goodput(n, "other", at), goodput(n, "bbr", at)


@CLAIMS("M-30", COEXISTENCE, "Beside BBR a flow of Reno or CUBIC reaches up to 25 Mbit/s at a"
        " round-trip time of 30 ms.", Trials("pair", {"other": LOSS_BASED}), given="pair",
        rule="On a line of 50 Mbit/s, with buffers of 0.5 to 4 BDP. The throughput counts IP"
        " bytes.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        above(f"{other}, {buffer}",
              n.flow("other", "throughput_mean_mbit", {"other": other, "buffer": buffer}, "down"),
              VIDEO_MBIT, "Mbit/s", slack=THRESHOLD)
        for other in LOSS_BASED
        for buffer in BUFFERS
    ]  # fmt: skip


@CLAIMS("M-31", SCALE, "BBR probes so seldom that a flow of Reno or CUBIC reaches at least as much"
        " as the BBR flow.", Trials("pair", {"other": LOSS_BASED}), given="pair",
        rule="At most a tenth less.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        not_less(f"{other} over BBRv3, {buffer}", *_pair(n, other, buffer), slack=0.1)
        for other in LOSS_BASED
        for buffer in BUFFERS
    ]


@CLAIMS("M-32", f"{DRAFT}, State Machine Tactics", "BBR leaves capacity unused so that another BBR"
        " flow discovers it: their rates converge.", Trials("pair", {"other": BBR}), given="pair",
        rule="From 20 s after the second flow's start the rates differ by at most a"
        " quarter.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        alike(f"second over first, {buffer}", *_pair(n, BBR, buffer), within=0.25)
        for buffer in BUFFERS
    ]


@CLAIMS("M-33", f"{DRAFT}, Design Considerations for Choosing Constant Parameters", "At 25 Mbit/s"
        " and 30 ms the BDP is 62 packets of 1514 B, Reno needs 1.9 s between losses, and after 137"
        " rounds with losses of 1 % two doublings restore the rate.")  # fmt: skip
def _() -> list[Check]:
    packets = 25e6 * 0.030 / (1514 * 8)
    return [
        about("BDP", packets, 62, "packets", within=0.01),
        about("between losses", packets * 0.030, 1.9, "s", within=0.03),
        about("restored", 0.99**137 * 4, 1.01, "×", within=0.005),
    ]
