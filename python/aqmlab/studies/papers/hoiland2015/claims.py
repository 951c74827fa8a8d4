"""The claims of the abstract and of sections 1 and 2, each as a small function over results."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from aqmlab.studies.claims import Check, Claims, above, more, mostly, not_less, part
from aqmlab.studies.numbers import At, BySeed, Numbers, Points, Unjudged
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

RATES = ("10/10 Mbit/s", "100/100 Mbit/s", "10/1 Mbit/s")
FIFO = "pfifo_fast"
AQMS = ("ARED", "PIE", "CoDel")
FAIR = ("SFQ", "fq_codel", "fq_nocodel")
FLOWS = tuple(f"over{rtt_ms}" for rtt_ms in (10, 50, 200, 500))
PAGES = ("small", "large")
AIR = ("15/7", "11/3")
LOAD, VOIP, WEB = Trials("load"), Trials("voip"), Trials("web")
FAIRNESS, WIFI, CABLE = Trials("fairness"), Trials("wifi"), Trials("cable")

SIGNIFICANT = 2.0
"""Our reading of "significantly" and "vastly": at least twice as good."""
CALL_SLACK = 0.02
"""The relative difference of opinion scores that counts as inaudible."""
WEB_MS = 70_000.0
"""The duration in which pages are requested."""
LOAD_S = 5.0
"""The start time of the load."""
STEADY_S = (30.0, 65.0)
SEVERAL_S = 2.0
"""Our reading of "several seconds": at least two."""
SPIKE = 5.0
"""Our reading of a "very high spike", as a multiple of the queue's steady-state delay."""
ALMOST_ALL = 0.9
"""Our reading of "almost completely": 90 %."""
OUTSIDE_MS = 20.0
"""Our reading of "significant latency" outside of an algorithm's control.

The value is the target of PIE, the largest target of the algorithms.
"""
CHOICES = ("text", "rates", "rtt", "queues", "hosts", "load")


def _at(rate: str, qdisc: str) -> At:
    return {"rate": rate, "qdisc": qdisc}


def _latency(n: Numbers, at: At) -> BySeed:
    """The median delay that queues add to a ping, in ms."""
    return n.flow("ping", "induced_p50_ms", at, "up")


def _words(at: At) -> str:
    return ", ".join(at.values())


# --- The Good: steady state --------------------------------------------------------------------


def _less_than_fifo(n: Numbers, times: float) -> list[Check]:
    return [
        more(f"FIFO over {_words(_at(rate, one))}", _latency(n, _at(rate, FIFO)),
             _latency(n, _at(rate, one)), times=times)
        for rate in RATES
        for one in (*AQMS, *FAIR)
    ]  # fmt: skip


@CLAIMS("3-01", "Abstract; section 1", "Under load every algorithm has less latency than FIFO "
        "queueing, at symmetrical and asymmetrical rates.", LOAD, given=CHOICES)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _less_than_fifo(n, 1.0)


@CLAIMS("3-01b", "Section 1", "It is significantly less.", LOAD, given=CHOICES,
        rule='"significantly" is half or less')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _less_than_fifo(n, SIGNIFICANT)


def _power(n: Numbers, at: At) -> BySeed:
    """Kleinrock's power: throughput of both directions over round-trip time."""
    down, up = (n.queue(link, "throughput_mbit", at) for link in ("down", "up"))
    rtt = n.flow("ping", "rtt_p50_ms", at, "up")
    return {seed: (down[seed] + up[seed]) / rtt[seed] for seed in n.seeds}


@CLAIMS("3-02", "Abstract", "Fairness queueing has the best balance of low latency and high "
        "throughput.", LOAD, given=CHOICES,
        rule="of throughput over round-trip time, as Kleinrock's power")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{fair} over {other}, {rate}", _power(n, _at(rate, fair)),
             _power(n, _at(rate, other)))
        for rate in RATES
        for fair in FAIR
        for other in (FIFO, *AQMS)
    ]  # fmt: skip


@CLAIMS("3-02b", "Section 1", "Fairness queueing is vastly superior to FIFO queueing and to the "
        "AQMs: in latency under load.", LOAD, given=CHOICES,
        rule='"vastly" is half the latency or less')  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{other} over {fair}, {rate}", _latency(n, _at(rate, other)),
             _latency(n, _at(rate, fair)), times=SIGNIFICANT)
        for rate in RATES
        for fair in FAIR
        for other in (FIFO, *AQMS)
    ]  # fmt: skip


def _score(n: Numbers, at: At) -> BySeed:
    """The opinion score of the worse direction of a call."""
    up, down = (n.app("call", f"mos_{way}", at) for way in ("up", "down"))
    return {seed: min(up[seed], down[seed]) for seed in n.seeds}


def _page_ms(n: Numbers, at: At) -> BySeed:
    """The median load time of pages, in ms.

    If no page was loaded, it is the whole duration of requests.
    """
    found = n.app("web", "page_load_p50_ms", at)
    return {seed: WEB_MS if math.isnan(value) else value for seed, value in found.items()}


PAGE_RULE = "a page that never comes takes 70 s"


@CLAIMS("3-03", "Section 1", "Calls and web pages fare better under every algorithm than under "
        "FIFO queueing.", VOIP, WEB, given=(*CHOICES, "applications"), rule=PAGE_RULE)  # fmt: skip
def _(voip: Numbers, web: Numbers) -> list[Check]:
    checks: list[Check] = []
    for rate in RATES:
        fifo = _at(rate, FIFO)
        for one in (*AQMS, *FAIR):
            at = _at(rate, one)
            checks.append(
                more(f"call: {one} over FIFO, {rate}", _score(voip, at), _score(voip, fifo))
            )
            checks += part("pages", (
                more(f"{page} page: FIFO over {one}, {rate}",
                     _page_ms(web, {**fifo, "web.page": page}),
                     _page_ms(web, {**at, "web.page": page}))
                for page in PAGES
            ))  # fmt: skip
    return checks


@CLAIMS("3-03b", "Abstract; section 1", "They fare best with fairness queueing.", VOIP, WEB,
        given=(*CHOICES, "applications"),
        rule=f"2 % of a score is no difference; {PAGE_RULE}")  # fmt: skip
def _(voip: Numbers, web: Numbers) -> list[Check]:
    checks: list[Check] = []
    for rate, fair, aqm in itertools.product(RATES, FAIR, AQMS):
        these, those = _at(rate, fair), _at(rate, aqm)
        checks.append(
            not_less(f"call: {fair} over {aqm}, {rate}", _score(voip, these), _score(voip, those),
                     slack=CALL_SLACK)
        )  # fmt: skip
        checks += [
            more(f"{page} page: {aqm} over {fair}, {rate}",
                 _page_ms(web, {**those, "web.page": page}),
                 _page_ms(web, {**these, "web.page": page}))
            for page in PAGES
        ]  # fmt: skip
    return checks


# --- The Bad: fairness and flow start-up -------------------------------------------------------


def _jain(n: Numbers, at: At) -> BySeed:
    """Jain's index of four goodputs: 0.25 if three of them are zero, 1 if all are equal."""
    each = [n.flow(flow, "goodput_mbit", at) for flow in FLOWS]
    return {
        seed: sum(one[seed] for one in each) ** 2
        / (len(each) * sum(one[seed] ** 2 for one in each))
        for seed in n.seeds
    }


def _unfairness(n: Numbers, at: At) -> BySeed:
    return {seed: 1.0 - index for seed, index in _jain(n, at).items()}


@CLAIMS("3-04", "Abstract; section 1", "Among four flows of round-trip times that vary almost two "
        "orders of magnitude, the AQMs exacerbate unfairness over FIFO queueing.", FAIRNESS,
        given=(*CHOICES, "fairness"), rule="of Jain's index")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"FIFO over {_words(_at(rate, aqm))}", _jain(n, _at(rate, FIFO)),
             _jain(n, _at(rate, aqm)))
        for rate in RATES
        for aqm in AQMS
    ]  # fmt: skip


@CLAIMS("3-04b", "Abstract", "Fairness queueing almost completely alleviates the AQMs' unfairness.",
        FAIRNESS, given=(*CHOICES, "fairness"),
        rule="what Jain's index lacks of one falls by nine tenths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{aqm} over {fair}, {rate}", _unfairness(n, _at(rate, aqm)),
             _unfairness(n, _at(rate, fair)), times=1 / (1 - ALMOST_ALL))
        for rate in RATES
        for fair in FAIR
        for aqm in AQMS
    ]  # fmt: skip


def _pings(n: Numbers, at: At) -> Points:
    """The delay in ms that queues add to pings, over the seconds since the start of the load."""
    base = n.flow("ping", "rtt_base_ms", at, "up")
    points = n.points("rtt", "ping", "rtt_mean_ms", at, "up")
    return {
        seed: [(t_s - LOAD_S, rtt - base[seed]) for t_s, rtt in own if t_s > LOAD_S]
        for seed, own in points.items()
    }


def _steady(own: Sequence[tuple[float, float]]) -> float:
    span = (STEADY_S[0] - LOAD_S, STEADY_S[1] - LOAD_S)
    return statistics.median(added for t_s, added in own if span[0] <= t_s <= span[1])


def _peak(n: Numbers, at: At) -> BySeed:
    """The greatest delay that queues add to a ping in the load's first ten seconds, in ms."""
    return {
        seed: max(added for t_s, added in own if t_s <= 10.0) for seed, own in _pings(n, at).items()
    }


def _spike(n: Numbers, at: At) -> BySeed:
    """The ratio of the result of `_peak` to the steady-state median."""
    peak = _peak(n, at)
    return {seed: peak[seed] / _steady(own) for seed, own in _pings(n, at).items()}


def _excess(n: Numbers, at: At) -> BySeed:
    """The excess of the result of `_peak` over the steady-state median, in ms; at least zero."""
    peak = _peak(n, at)
    return {seed: max(peak[seed] - _steady(own), 0.0) for seed, own in _pings(n, at).items()}


def _converged_s(n: Numbers, at: At) -> BySeed:
    """The result of `_first_calm` for twice the steady-state median, in seconds."""
    return {seed: _first_calm(own, 2.0 * _steady(own)) for seed, own in _pings(n, at).items()}


def _first_calm(own: Sequence[tuple[float, float]], bound: float) -> float:
    """The start of the first second, after the queue has filled, with a median up to `bound`.

    The queue has filled when the median over a second exceeds `bound`. The result is 0 if the queue
    never fills, and 60 if the median stays above `bound`.
    """
    seconds = [
        statistics.median([added for t_s, added in own if second <= t_s < second + 1] or [0.0])
        for second in range(60)
    ]
    filled = next((at for at, added in enumerate(seconds) if added > bound), None)
    if filled is None:
        return 0.0
    return float(next((at for at in range(filled, 60) if seconds[at] <= bound), 60))


@CLAIMS("3-05", "Section 1", "When flows start up, PIE and CoDel take several seconds to control "
        "the delay, with very high spikes.", LOAD, given=(*CHOICES, "startup"),
        rule='"several" is at least 2, "very high" at least five times the delay in steady state; '
        "the introduction names no rate: at two of the three at least")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for aqm in ("PIE", "CoDel"):
        for rate in RATES:
            at = _at(rate, aqm)
            checks.append(above(f"{_words(at)}: converged after", _converged_s(n, at), SEVERAL_S,
                                "s"))  # fmt: skip
            checks.append(above(f"{_words(at)}: spike", _spike(n, at), SPIKE, "×"))
    return mostly("", checks, share=2 / 3)


@CLAIMS("3-06", "Abstract", "Fairness queueing almost completely removes the delay that PIE and "
        "CoDel let other flows see when flows start up.", LOAD, given=(*CHOICES, "startup"),
        rule='"almost completely" is by nine tenths, of what the highest ping has beyond steady '
        "state")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{aqm} over {fair}, {rate}", _excess(n, _at(rate, aqm)),
             _excess(n, _at(rate, fair)), times=1 / (1 - ALMOST_ALL))
        for rate in RATES
        for fair in FAIR
        for aqm in ("PIE", "CoDel")
    ]  # fmt: skip


# --- The WiFi ----------------------------------------------------------------------------------


def _below_ms(n: Numbers, at: At) -> BySeed:
    """The sum over both drivers of the median age of the oldest frame, in ms."""
    down, up = (
        n.gauge(f"wifi-{way}", "driver_oldest_ms", at, STEADY_S, take=0.5) for way in ("down", "up")
    )
    return {seed: down[seed] + up[seed] for seed in n.seeds}


@CLAIMS("3-07", "Section 1", "Over Wi-Fi the algorithms fail to limit latency.", WIFI, LOAD,
        given=(*CHOICES, "wifi"), rule="what queues add to a ping is at least twice what it is "
        "under the same discipline at 100/100 Mbit/s by wire")  # fmt: skip
def _(air: Numbers, wire: Numbers) -> list[Check]:
    return [
        more(f"MCS {mcs} over wire, {one}", _latency(air, {"wifi.mcs": mcs, "qdisc": one}),
             _latency(wire, _at("100/100 Mbit/s", one)), times=SIGNIFICANT)
        for mcs in AIR
        for one in (*AQMS, *FAIR)
    ]  # fmt: skip


@CLAIMS("3-07b", "Abstract", "Large amounts of queueing in lower layers induce significant latency "
        "outside of the control of all the algorithms.", WIFI, given=(*CHOICES, "wifi"),
        rule="frames wait 20 ms or more in the two drivers, as much as the largest delay that an "
        "algorithm aims at")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        above(f"MCS {mcs}, {one}", _below_ms(n, {"wifi.mcs": mcs, "qdisc": one}), OUTSIDE_MS, "ms")
        for mcs in AIR
        for one in (*AQMS, *FAIR)
    ]  # fmt: skip


# --- Related work ------------------------------------------------------------------------------


@CLAIMS("3-08", "Section 2, on White's simulations", "Behind a cable modem CoDel, PIE, SFQ-CoDel "
        "and SFQ-PIE offer a marked improvement over FIFO queueing, and the two with fair queues "
        "perform best.", CABLE, given=("text", "rtt", "hosts", "cable"),
        rule="of the latency of a game: half or less")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    added = {
        one: n.flow("game", "induced_p50_ms", {"qdisc": one}, "up")
        for one in ("FIFO", "CoDel", "PIE", "SFQ-CoDel", "SFQ-PIE")
    }
    checks = [
        more(f"FIFO over {one}", added["FIFO"], values, times=SIGNIFICANT)
        for one, values in added.items()
        if one != "FIFO"
    ]
    return checks + [
        more(f"{aqm} over {fair}", added[aqm], added[fair])
        for aqm in ("CoDel", "PIE")
        for fair in ("SFQ-CoDel", "SFQ-PIE")
    ]


@CLAIMS("3-08b", "Section 2, on White's simulations", "There PIE offers slightly better latency "
        "than CoDel, but has some issues with bulk TCP traffic.")  # fmt: skip
def _() -> list[Check]:
    raise Unjudged(
        "the paper says that algorithms were adjusted to the modem's hardware, and not how; "
        "which of two AQMs has less latency hangs on their targets"
    )
