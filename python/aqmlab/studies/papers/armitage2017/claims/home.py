"""Common parts of Appendix D's claims: flows, conditions and readings of sentences.

"All flows experience RTT < x" is compared with the median of each flow's round trips. This is the
choice `typical` of `study.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aqmlab.studies.claims import (
    THRESHOLD,
    Check,
    above,
    always,
    below,
    more,
    mostly,
    not_less,
    part,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims.common import Flow, alike_under_all, width, words
from aqmlab.studies.trials import Trials

LOW, MIDDLE, HIGH = "1.5/0.5 Mbit/s", "12/1 Mbit/s", "25/5 Mbit/s"
RATES = (LOW, MIDDLE, HIGH)
AQMS = ("PIE", "CoDel", "FQ-CoDel")
SINGLE = ("PIE", "CoDel")
QUEUES = ("FIFO", *AQMS)
ONE_QUEUE = ("FIFO", *SINGLE)
NEAR, FAR = "40 ms", "340 ms"
RTTS = (NEAR, FAR)

IOT_LOW, IOT_HIGH = ("iot_low", "up"), ("iot_high", "up")
CALL_UP, CALL_DOWN = ("video_call", "up"), ("video_call", "down")
UPLOAD, DASH, DOWNLOAD = ("bulk_upload", "up"), ("dash", "down"), ("bulk_download", "down")
IOT: tuple[Flow, ...] = (IOT_LOW, IOT_HIGH)
LIGHT: tuple[Flow, ...] = (*IOT, CALL_UP, CALL_DOWN)
FLOWS: tuple[Flow, ...] = (*LIGHT, UPLOAD, DASH, DOWNLOAD)

TARGET_MBIT = {
    "iot_low": 2.5 * 152 * 8e-6,
    "iot_high": 125 * 152 * 8e-6,
    "video_call": 50 * 728 * 8e-6,
}
"""The rates of the flows at the IP layer.

TCP packets with 100 B of payload have 52 B of headers (with timestamps), and UDP packets with
700 B have 28 B.
"""

REACHED, NOTICEABLY = 0.95, 0.95
"""The least shares of a rate that count as reaching the rate, and as not noticeably less."""

NONE_PERCENT, NEGLIGIBLE_PERCENT = 0.05, 1.0
"""The largest losses that count as none and as negligible, in percent.

D-E3b calls losses "again negligible" that are below 1 % in D-E2b.
"""


def trials(scenario: int, *rates: str) -> Trials:
    """The trials of a scenario at these `rates`, by default at all rates."""
    return Trials(f"iot{scenario}", {"rate": rates or RATES})


def at(rate: str, queue: str, rtt: str = NEAR) -> At:
    """The condition with a rate, a queue and a round-trip time."""
    return {"rate": rate, "qdisc": queue, "rtt": rtt}


def places(rate: str, *queues: str) -> list[At]:
    """The conditions at a rate under `queues`, by default all, at 40 and 340 ms."""
    return [at(rate, queue, rtt) for queue in queues or QUEUES for rtt in RTTS]


def near(rate: str, *queues: str) -> list[At]:
    """The conditions of `places` with an RTT of 40 ms."""
    return [at(rate, queue, NEAR) for queue in queues or QUEUES]


def far(rate: str, *queues: str) -> list[At]:
    """The conditions of `places` with an RTT of 340 ms."""
    return [at(rate, queue, FAR) for queue in queues or QUEUES]


def upgraded(flows: Sequence[Flow], slow: str, fast: str) -> Iterator[tuple[Flow, str, At, At]]:
    """Yields each flow under every queue and round-trip time, with the condition in words.

    The last two values are the conditions at the slow and at the fast rate.
    """
    for before, after in zip(places(slow), places(fast), strict=True):
        for flow in flows:
            yield flow, f"{name(flow)}, {before['qdisc']} {before['rtt']}", before, after


def running(scenario: int) -> tuple[Flow, ...]:
    """The flows of a scenario. Each scenario adds one flow to the previous scenario."""
    return FLOWS[: scenario + 3]


def others(scenario: int) -> tuple[Flow, ...]:
    """The flows of a scenario that are not IoT."""
    return running(scenario)[2:]


def elastic(scenario: int) -> tuple[Flow, ...]:
    """The flows of a scenario that use all available capacity."""
    return running(scenario)[4:]


def name(flow: Flow) -> str:
    """The name of a flow in checks."""
    return f"{flow[0]} {flow[1]}" if flow[0] == "video_call" else flow[0]


def rate_of(n: Numbers, flow: Flow, where: At) -> BySeed:
    """The throughput of a flow in Mbit/s. It is the mean, or for IoT_high the median of windows.

    IoT_high sends delayed data later at a higher rate, so the mean throughput hides the delay.
    """
    column = "throughput_p50_mbit" if flow == IOT_HIGH else "throughput_mean_mbit"
    return n.flow(flow[0], column, where, flow[1])


def loss(n: Numbers, flow: Flow, where: At) -> BySeed:
    """The percentage of a flow's packets that are lost."""
    return n.flow(flow[0], "loss_percent", where, flow[1])


# --- Round-trip times --------------------------------------------------------------------------


def typical(n: Numbers, flow: Flow, where: At) -> BySeed:
    """The median of a flow's round-trip times, in ms."""
    return n.flow(flow[0], "rtt_p50_ms", where, flow[1])


def under(n: Numbers, flows: Sequence[Flow], where: Sequence[At], bound_ms: float) -> list[Check]:
    """Checks that every flow's median round trip is below a bound in each condition."""
    times = _round_trips(n, flows, where)
    short = (below(what, own, bound_ms, "ms", slack=THRESHOLD) for what, own in times)
    return always("all flows", short)


def over(n: Numbers, flows: Sequence[Flow], where: Sequence[At], bound_ms: float) -> list[Check]:
    """Checks that every flow's median round trip is above a bound in each condition."""
    times = _round_trips(n, flows, where)
    long = (above(what, own, bound_ms, "ms", slack=THRESHOLD) for what, own in times)
    return always("all flows", long)


def _round_trips(
    n: Numbers, flows: Sequence[Flow], where: Sequence[At]
) -> Iterator[tuple[str, BySeed]]:
    for here in where:
        for flow in flows:
            yield f"RTT of {name(flow)}, {words(here)}", typical(n, flow, here)


def fifo_under(n: Numbers, scenario: int, rate: str, near_ms: float, far_ms: float) -> list[Check]:
    """Checks that median round trips under FIFO are below a bound for each RTT.

    The bound `near_ms` is for all flows at an RTT of 40 ms. The bound `far_ms` is for all flows
    except IoT at 340 ms.
    """
    return [
        *under(n, running(scenario), near(rate, "FIFO"), near_ms),
        *under(n, others(scenario), far(rate, "FIFO"), far_ms),
    ]


def aqm_under(n: Numbers, scenario: int, rate: str, near_ms: float, far_ms: float) -> list[Check]:
    """The checks of `fifo_under` under each AQM."""
    checks = []
    for queue in AQMS:
        checks += under(n, running(scenario), near(rate, queue), near_ms)
        checks += under(n, others(scenario), far(rate, queue), far_ms)
    return checks


def aqm_mostly_under(
    n: Numbers, scenario: int, rate: str, near_ms: float, far_ms: float
) -> list[Check]:
    """The checks of `aqm_under`: most must hold at 40 ms ("mostly"), and all at 340 ms."""
    checks = aqm_under(n, scenario, rate, near_ms, far_ms)
    over_40, over_340 = ([one for one in checks if one.bound == ms] for ms in (near_ms, far_ms))
    return [*mostly("mostly", over_40), *over_340]


def iot_best(n: Numbers, rate: str) -> list[Check]:
    """Checks that the mean and the spread of the IoT flows' RTT are least under FQ-CoDel."""
    checks = []
    for rtt in RTTS:
        for queue in ONE_QUEUE:
            for flow in IOT:
                here, there = at(rate, queue, rtt), at(rate, "FQ-CoDel", rtt)
                text = f"of {name(flow)}, {words(here)} over FQ-CoDel"
                own, best = (n.flow(flow[0], "rtt_mean_ms", one, flow[1]) for one in (here, there))
                checks += part("mean of IoT", [more(f"mean RTT {text}", own, best)])
                own, best = (width(n, flow, one) for one in (here, there))
                checks += part("variance of IoT", [more(f"spread of RTT {text}", own, best)])
    return checks


# --- Rates -------------------------------------------------------------------------------------


def reaches(n: Numbers, flow: Flow, where: At) -> Check:
    """A check that a flow reaches its rate."""
    own, target = rate_of(n, flow, where), TARGET_MBIT[flow[0]]
    return above(f"{name(flow)}, {words(where)}", own, REACHED * target, "Mbit/s")


def misses(n: Numbers, flow: Flow, where: At) -> Check:
    """A check that a flow's throughput is noticeably less than its rate."""
    own, target = rate_of(n, flow, where), TARGET_MBIT[flow[0]]
    return below(f"{name(flow)}, {words(where)}", own, NOTICEABLY * target, "Mbit/s")


def iot_rates(n: Numbers, rate: str) -> list[Check]:
    """Checks that IoT_high reaches its rate only under FQ-CoDel, and IoT_low under every queue.

    Under the other queues, IoT_high gets noticeably less than its rate if the RTT of the other
    flows is 40 ms. If their RTT is 340 ms, IoT_high gets less than under FQ-CoDel, but need not
    miss its rate, because the upload leaves more capacity ("the throughput improvement of other
    flows").
    """
    checks = []
    for rtt in RTTS:
        checks.append(reaches(n, IOT_HIGH, at(rate, "FQ-CoDel", rtt)))
        checks += [reaches(n, IOT_LOW, at(rate, queue, rtt)) for queue in QUEUES]
    for queue in ONE_QUEUE:
        checks.append(misses(n, IOT_HIGH, at(rate, queue)))
        checks.append(exceeds(n, IOT_HIGH, at(rate, "FQ-CoDel", FAR), at(rate, queue, FAR)))
    return checks


def iot_high_slightly_less(n: Numbers, rate: str) -> list[Check]:
    """Checks that IoT_high gets its rate under FQ-CoDel, and IoT_low under every queue.

    Under the other queues, at an RTT of 40 ms, IoT_high gets less than under FQ-CoDel.
    """
    return [
        *(reaches(n, IOT_HIGH, here) for here in places(rate, "FQ-CoDel")),
        *(exceeds(n, IOT_HIGH, at(rate, "FQ-CoDel"), here) for here in near(rate, *ONE_QUEUE)),
        *(reaches(n, IOT_LOW, here) for here in places(rate)),
    ]


def full_rates(n: Numbers, rate: str) -> list[Check]:
    """Checks that the IoT flows and the call reach their rates, and the call loses few packets."""
    checks = []
    for here in places(rate):
        checks += [reaches(n, flow, here) for flow in LIGHT]
        for flow in (CALL_UP, CALL_DOWN):
            checks += lost_under(n, flow, [here], NEGLIGIBLE_PERCENT)
    return checks


def falls(
    n: Numbers, flow: Flow, rate: str, queues: Sequence[str], times: float = 1.0
) -> list[Check]:
    """Checks that a flow's throughput at an RTT of 40 ms is more than `times` that at 340 ms."""
    return [
        more(f"{name(flow)}, {queue}: 40 over 340 ms",
             *(rate_of(n, flow, at(rate, queue, rtt)) for rtt in RTTS), times=times)
        for queue in queues
    ]  # fmt: skip


def exceeds(n: Numbers, flow: Flow, here: At, there: At, *, times: float = 1.0) -> Check:
    """A check that a flow's throughput `here` is more than `times` its throughput `there`."""
    own, other = (rate_of(n, flow, one) for one in (here, there))
    return more(f"{name(flow)}, {words(here)} over {there['qdisc']}", own, other, times=times)


def less(n: Numbers, flow: Flow, here: At, than: Sequence[At], times: float = 1.0) -> list[Check]:
    """Checks that a flow's throughput in each of `than` is more than `times` its throughput
    `here`."""
    return [exceeds(n, flow, there, here, times=times) for there in than]


def similar(n: Numbers, flow: Flow, rate: str, queues: Sequence[str], within: float) -> list[Check]:
    """Checks that a flow with an RTT of 40 ms has about the same throughput under these queues."""
    own = {queue: rate_of(n, flow, at(rate, queue)) for queue in queues}
    return alike_under_all(name(flow), own, within)


def gain(n: Numbers, rate: str, queues: Sequence[str]) -> list[Check]:
    """Checks that IoT_high and the call upstream lose at most 2 % of their throughput.

    Compares RTTs of the other flows of 340 ms and 40 ms.
    """
    return [
        not_less(f"{name(flow)}, {queue}: 340 over 40 ms",
                 *(rate_of(n, flow, at(rate, queue, rtt)) for rtt in (FAR, NEAR)), slack=0.02)
        for flow in (IOT_HIGH, CALL_UP) for queue in queues
    ]  # fmt: skip


# --- Losses ------------------------------------------------------------------------------------


def lost_under(n: Numbers, flow: Flow, where: Sequence[At], percent: float) -> list[Check]:
    """Checks that a flow loses less than `percent` of its packets in each condition."""
    lost = _losses(n, flow, where)
    return [below(what, own, percent, "%", slack=THRESHOLD) for what, own in lost]


def lost_over(n: Numbers, flow: Flow, where: Sequence[At], percent: float) -> list[Check]:
    """Checks that a flow loses more than `percent` of its packets in each condition."""
    lost = _losses(n, flow, where)
    return [above(what, own, percent, "%", slack=THRESHOLD) for what, own in lost]


def _losses(n: Numbers, flow: Flow, where: Sequence[At]) -> Iterator[tuple[str, BySeed]]:
    for here in where:
        yield f"loss of {name(flow)}, {words(here)}", loss(n, flow, here)
