"""Conditions and numbers that several claims use."""

from __future__ import annotations

from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.trials import Trials

FIFO, CODEL, PIE, FQ = QUEUES = ("drop-tail", "CoDel", "PIE", "FQ-CoDel")
MANAGED = QUEUES[1:]
LEVELS = {"mild": 3, "medium": 7, "heavy": 9}
"""The number of flows at each level of congestion."""
LOSS_PERCENT = {"mild": 0.1, "medium": 0.5, "heavy": 1.0}
SENDERS = ("NewReno", "CUBIC")
RTTS = ("5 ms", "20 ms", "50 ms", "100 ms", "200 ms", "560 ms")

LINE_MBIT, RTT_MS = 10.0, 100.0
PACKET_MS = 1500 * 8e-3 / LINE_MBIT
TARGET_MS = {CODEL: 5.0, PIE: 15.0}

NO_LOSS_OF_USE = 0.05
"""Our reading of "no negative impact" on utilisation: at most 5 % less."""
INSENSITIVE = 2.0
"""Our reading of "insensitive": the greatest median delay is at most twice the least."""

SINGLE, LOAD, PAIR = Trials("single"), Trials("load"), Trials("rtt")
BESIDE, BURSTS, MIX = Trials("beside"), Trials("bursts"), Trials("mix")


def sojourn(n: Numbers, at: At, column: str = "sojourn_p50_ms") -> BySeed:
    """A column of the table `queues`, for the link to node B of RFC 7928."""
    return n.queue("down", column, at)


def congested(level: str, queue: str) -> At:
    """The condition with a level of congestion and a discipline."""
    return {"congestion": level, "qdisc": queue}


def flows(level: str) -> list[str]:
    """The names of the flows at a level of congestion."""
    return [f"flow-{number + 1}" for number in range(LEVELS[level])]


def ratio(these: BySeed, those: BySeed) -> BySeed:
    """The ratio of `these` to `those`, for each seed."""
    return {seed: these[seed] / those[seed] for seed in these}
