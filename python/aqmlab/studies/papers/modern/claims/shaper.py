"""Claims of CAKE's sources about its shaper, in front of a modem or behind the provider's queue."""

from __future__ import annotations

from aqmlab.studies.claims import THRESHOLD, Check, Claims, above, below, more, part
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.modern.claims.conditions import PAYLOAD_SHARE, goodput
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

CELLS = 33
"""The number of ATM cells of a packet of 1500 B with 40 B of overhead."""
PACKET_MS = CELLS * 53 * 8 / 1e3
"""The transmission time of `CELLS` ATM cells at the uplink's 1 Mbit/s, in ms."""

WITH, WITHOUT = "with the keyword", "without the keyword"
OVERHEAD = "Linux commit a729b7f0bd5b, sch_cake: Add overhead compensation support"
INGRESS = "Linux commit 7298de9cd725, sch_cake: Add ingress mode"
MANY = ("16", "64")
"""The numbers of downloads at which CAKE must drop many packets."""
LINE_MBIT = 20.0
WITHIN = (("10 ms", "10 ms"), ("10 ms", "50 ms"), ("100 ms", "10 ms"), ("100 ms", "50 ms"),
          ("100 ms", "200 ms"))  # fmt: skip
"""Pairs of a value of CAKE's `rtt` and a round-trip time within a factor of ten of it."""


def _modem(n: Numbers, shaping: str, column: str) -> BySeed:
    return n.queue("modem-up", column, {"shaping": shaping})


@CLAIMS("M-19", OVERHEAD, "With the line's overhead the shaper can run within 0.1 % of the line's"
        " rate: delay is low and no bandwidth is lost.", Trials("shaper", {"shaping": (WITH,)}),
        rule="At 99.9 % of an ADSL uplink the 95th percentile of the time in the modem's queue is"
        " below a full packet's transmission time, and the line is busy for 99 % of the"
        " time.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below("modem's queue, p95", _modem(n, WITH, "sojourn_p95_ms"), PACKET_MS, "ms"),
        above("busy", {s: 100 * one for s, one in _modem(n, WITH, "utilisation").items()}, 99, "%"),
    ]


@CLAIMS("M-20", OVERHEAD, "Without the line's overhead the kernel's lengths do not match the line:"
        " at this rate the delay is not low.", Trials("shaper", {"shaping": (WITH, WITHOUT)}),
        rule="The call's 95th percentile of the uplink's delay is at least twice that with the"
        " keyword, and the median time in the modem's queue is above ten packets.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    without, own = (
        n.flow("call", "owd_p95_ms", {"shaping": shaping}, "up") for shaping in (WITHOUT, WITH)
    )
    queue = _modem(n, WITHOUT, "sojourn_p50_ms")
    return [
        more("the call, without over with", without, own, times=2.0),
        above("modem's queue, median", queue, 10 * PACKET_MS, "ms"),
    ]


@CLAIMS("M-21", "tc-cake(8), shaper parameters", "CAKE's shaper does not send the initial burst of"
        " a token bucket.", Trials("bursts"),
        rule="In the modem behind the shaper at most one packet waits with CAKE, and more with"
        " HTB.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    htb, cake = (
        n.queue("modem-up", "backlog_max_packets", {"shaper": one}) for one in ("HTB", "CAKE")
    )
    return [more("HTB over CAKE", htb, cake), below("CAKE", cake, 1, "packets")]


@CLAIMS("M-22", INGRESS, "Ingress mode charges dropped packets, which have already crossed the"
        " bottleneck, so less waits there.", Trials("ingress"), given="ingress",
        rule="The 95th percentile of the time in the provider's queue is longer in egress"
        " mode.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"egress over ingress, {count} downloads",
             *(n.queue("modem-down", "sojourn_p95_ms", {"mode": mode, "flows": count})
               for mode in ("egress", "ingress")))
        for count in MANY
    ]  # fmt: skip


MAN_RTT = "tc-cake(8), round trip time"


@CLAIMS("M-23", MAN_RTT, "A response that is fast for a short round-trip time impairs the"
        " throughput of a path with a long one. Round-trip times within an order of magnitude of"
        " the setting work well for throughput and delay.", Trials("tuning"),
        rule="At 200 ms the setting of 1 ms gets less than that of 100 ms. Within a factor of ten"
        " the flow gets nine tenths of the line, and its median delay is at most"
        " 10 ms.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    lan, internet = (
        goodput(n, "flow", {"network": one, "rtt": "200 ms"}) for one in ("1 ms", "100 ms")
    )
    found = [more("200 ms, setting of 100 over 1 ms", internet, lan)]
    for network, rtt in WITHIN:
        at = {"network": network, "rtt": rtt}
        share = {
            seed: 100 * one / LINE_MBIT / PAYLOAD_SHARE
            for seed, one in goodput(n, "flow", at).items()
        }
        delay = n.queue("down", "sojourn_p50_ms", at)
        words = f"setting of {network} at {rtt}"
        found += part("within", [above(f"{words}, of the line", share, 90, "%", slack=THRESHOLD)])
        found += part("within", [below(f"{words}, delay", delay, 10, "ms")])
    return found
