"""Claims of Appendix C about competing bulk transfers: their shares and limits under each queue.

The sentences of the appendix summarise Figures 9 to 20, each of which shows a case at a rate. The
claims are therefore compared with whole figures. If a figure has several values of RTT_base, the
mean over them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from aqmlab.studies.claims import (
    Check,
    Claims,
    Evidence,
    about,
    above,
    below,
    more,
    not_less,
    part,
    total,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims.body import (
    AQMS,
    DEEP,
    DOWNLOADS,
    FIFOS,
    QUEUES,
    UPLOAD,
)
from aqmlab.studies.papers.armitage2017.claims.common import FULL, Flow, delay, mean, ratio, width
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

LOW, MIDDLE, HIGH = SHOWN = ("1.5/0.5 Mbit/s", "12/1 Mbit/s", "25/5 Mbit/s")
"""The rates of Figures 9 to 20, which use NewReno."""
FASTER = ("50/20 Mbit/s", "100/40 Mbit/s")
RTTS = ("10 ms", "40 ms", "180 ms", "240 ms", "340 ms")

FAR = 2.0
"""Our reading of "much": at least twice."""
SLIGHTLY = 0.2
"""Our reading of "slightly less": at most 20 % less."""
NOTICEABLY = 1.05
"""Our reading of "noticeably": at least 5 %."""


@dataclass(frozen=True)
class BulkCase:
    """One of the four cases of section C-D of the report."""

    scenario: str
    flows: tuple[Flow, ...]
    rtts: tuple[str, ...]
    """The values of the RTT that all flows share; empty if the flows have different RTTs."""

    @property
    def ways(self) -> tuple[tuple[Flow, ...], ...]:
        """The downloads of the case, and its uploads if it has any."""
        parts = [tuple(one for one in self.flows if one[1] == way) for way in ("down", "up")]
        return tuple(part for part in parts if part)

    def trials(self, *values: str, tcp: str | tuple[str, ...] = "NewReno") -> Trials:
        """The trials of the case at the rates `values`."""
        return Trials(self.scenario, {"rate": values, "tcp": tcp})

    def name(self, rate: str) -> str:
        """The name of the case with a rate, as checks show it."""
        return f"{self.scenario} {rate.removesuffix(' Mbit/s')}"

    def places(self, rate: str, queue: str, tcp: str = "NewReno") -> Iterator[tuple[str, At]]:
        """Yields the conditions of the case at a rate, in words and as keywords."""
        at = {"rate": rate, "qdisc": queue, "tcp": tcp}
        if not self.rtts:
            yield self.name(rate), at
        for rtt in self.rtts:
            yield f"{self.name(rate)} {rtt}", {**at, "rtt": rtt}


CASE_1 = BulkCase("downloads4", DOWNLOADS, RTTS)
CASE_2 = BulkCase("downloads4_mixed", DOWNLOADS, ())
CASE_3 = BulkCase("downloads3_upload1", (*DOWNLOADS[:3], UPLOAD), RTTS)
CASE_4 = BulkCase("downloads3_upload1_mixed", (*DOWNLOADS[:3], UPLOAD), ())
CASES = (CASE_1, CASE_2, CASE_3, CASE_4)
ALL_SHOWN = tuple(case.trials(*SHOWN) for case in CASES)


def against(at: At, **changed: str) -> At:
    """The condition `at` with the values `changed`."""
    return {**at, **changed}


def parts(case: BulkCase) -> Iterator[tuple[str, Sequence[Flow]]]:
    """Yields the directions of a case in words, each with its flows."""
    for flows in case.ways:
        yield ("downloads" if flows[0][1] == "down" else "upload"), flows


def shown(
    case: BulkCase, rate: str, queue: str, what: Callable[[At], BySeed], rtts: Sequence[str] = RTTS
) -> BySeed:
    """The mean of a quantity over the values of RTT_base in a figure."""
    own = [what(at) for _, at in case.places(rate, queue) if at.get("rtt", rtts[0]) in rtts]
    return mean(own)


def rates(n: Numbers, flows: Sequence[Flow], at: At) -> list[BySeed]:
    """The mean throughput of each flow while it ran, in Mbit/s.

    Unlike medians, means can be summed.
    """
    return [n.flow(name, "throughput_mean_mbit", at, way) for name, way in flows]


def together(n: Numbers, flows: Sequence[Flow], at: At) -> BySeed:
    """The sum of the flows' mean throughputs, in Mbit/s."""
    return total(*rates(n, flows, at))


# --- The effects of more rate and of an AQM ---------------------------------------------------


@CLAIMS("2-26", "C-D1a, Figs. 9 to 20", "As the rate grows throughput rises and delay falls.",
        *ALL_SHOWN,
        *(Trials(case.scenario, {"rate": FASTER, "tcp": "NewReno", "rtt": "40 ms"})
          for case in (CASE_1, CASE_3)))  # fmt: skip
def _(*numbers: Numbers) -> list[Check]:
    checks: list[Check] = []
    for case, n in zip(CASES, numbers, strict=True):
        for queue in QUEUES:
            for pair in pairwise(SHOWN):
                checks += _grows(n, case, queue, pair)
            if case.rtts:
                for pair in pairwise((HIGH, *FASTER)):
                    checks += _grows(n, case, queue, pair, ("40 ms",))
    return checks


def _grows(
    n: Numbers, case: BulkCase, queue: str, pair: tuple[str, str], rtts: Sequence[str] = RTTS
) -> Iterator[Check]:
    """Yields checks that throughput is higher and RTT shorter at the second rate in `pair`."""
    slow, fast = pair
    words = f"{case.scenario}, {queue}: {fast} over {slow}".replace(" Mbit/s", "")
    for what, flows in parts(case):
        own, other = (
            shown(case, rate, queue, partial(together, n, flows), rtts) for rate in (fast, slow)
        )
        yield from part("throughput", [more(f"{what}, {words}", own, other)])
    own, other = (
        shown(case, rate, queue, partial(delay, n, case.flows), rtts) for rate in (slow, fast)
    )
    yield more(f"RTT the other way round, {words}", own, other)


@CLAIMS("2-27", "C-D1a, Figs. 9 to 20", "Throughput under an AQM is similar to that in a FIFO of "
        "180 or 320 packets or slightly less, and round trips are much shorter.",
        *ALL_SHOWN)  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks: list[Check] = []
    for case, n in zip(CASES, numbers, strict=True):
        for rate in SHOWN:
            for queue in AQMS:
                for fifo in DEEP:
                    checks += _spares(n, case, rate, (queue, fifo))
    return Evidence(checks, "slightly: a fifth; much: twice, without the path")


def _spares(n: Numbers, case: BulkCase, rate: str, queues: tuple[str, str]) -> Iterator[Check]:
    """Yields checks that an AQM costs little throughput and removes much delay.

    `queues` are the AQM and the FIFO with which the AQM is compared.
    """
    words = f"{case.name(rate)}, {queues[0]} and {queues[1]}"
    for what, flows in parts(case):
        own, other = (shown(case, rate, one, partial(together, n, flows)) for one in queues)
        yield not_less(f"{what}, {words}: AQM over FIFO", own, other, slack=SLIGHTLY)
        yield not_less(f"{what}, {words}: FIFO over AQM", other, own, slack=0.05)
    own, other = (
        shown(case, rate, one, partial(delay, n, case.flows, quantity="induced")) for one in queues
    )
    yield more(f"induced RTT, {words}: FIFO over AQM", other, own, times=FAR)


@CLAIMS("2-28", "C-D1a, Figs. 11, 14, 17, 20", "A FIFO of 20 packets costs noticeable throughput "
        "where the rate is high, such as 25/5.",
        *(case.trials(LOW, HIGH) for case in CASES))  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks = []
    for case, n in zip(CASES, numbers, strict=True):
        downloads = partial(together, n, case.ways[0])
        kept = []
        for rate in (LOW, HIGH):
            short, long = (shown(case, rate, fifo, downloads) for fifo in FIFOS[:2])
            kept.append(ratio(short, long))
            if rate == HIGH:
                what = f"downloads, {case.scenario} 25/5: FIFO 180 over 20"
                checks.append(more(what, long, short, times=NOTICEABLY))
        what = f"downloads, {case.scenario}, what FIFO 20 keeps: 1.5/0.5 over 25/5"
        checks.append(more(what, *kept))
    return Evidence(checks, note="noticeable: 5 %")


@CLAIMS("2-29", "C-D1a, Figs. 9 to 20", "Round trips under an AQM at 1.5/0.5 are shorter than in a "
        "FIFO of 180 or 320 packets at 25/5.",
        *(case.trials(LOW, HIGH) for case in CASES))  # fmt: skip
def _(*numbers: Numbers) -> list[Check]:
    checks = []
    for case, n in zip(CASES, numbers, strict=True):
        rtt = partial(delay, n, case.flows)
        for queue in AQMS:
            own = shown(case, LOW, queue, rtt)
            for fifo in DEEP:
                what = f"{case.scenario}: {fifo} at 25/5 over {queue} at 1.5/0.5"
                checks.append(more(what, shown(case, HIGH, fifo, rtt), own))
    return checks


@CLAIMS("2-30", "C-D1a, Figs. 9 to 20", "Among the AQMs delay is shortest and steadiest under "
        "FQ-CoDel, and longest and least steady under PIE.", *ALL_SHOWN)  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks: list[Check] = []
    for case, n in zip(CASES, numbers, strict=True):
        for rate in SHOWN:
            checks += _ranked("mean RTT", case, rate, partial(_mean_rtt, n, case))
            checks += _ranked("width", case, rate, partial(_width, n, case))
    return Evidence(checks, "steady: from the 5th to the 95th percentile")


def _ranked(
    what: str, case: BulkCase, rate: str, quantity: Callable[[At], BySeed]
) -> Iterator[Check]:
    """Yields checks that a quantity is greatest under PIE and least under FQ-CoDel."""
    own = {queue: shown(case, rate, queue, quantity) for queue in AQMS}
    ranks = (("least", "PIE", "FQ-CoDel"), ("least", "CoDel", "FQ-CoDel"), ("most", "PIE", "CoDel"))
    for rank, high, low in ranks:
        check = more(f"{what}, {case.name(rate)}: {high} over {low}", own[high], own[low])
        yield from part(f"{rank} {what}", [check])


def _mean_rtt(n: Numbers, case: BulkCase, at: At) -> BySeed:
    return mean([n.flow(name, "rtt_mean_ms", at, way) for name, way in case.flows])


def _width(n: Numbers, case: BulkCase, at: At) -> BySeed:
    return mean([width(n, flow, at) for flow in case.flows])


# --- The limits of one download: figure 21 ----------------------------------------------------

FASTEST = "100/40 Mbit/s"
FULL_MBIT = 100 * FULL
DOWNLOAD = Trials("download1", {"rate": FASTEST, "tcp": "NewReno", "rtt": ("10 ms", "180 ms")})
BOUND = ("FIFO 320", "CoDel", "PIE")


def _one(queue: str, rtt: str) -> Mapping[str, str]:
    return {"rate": FASTEST, "tcp": "NewReno", "qdisc": queue, "rtt": rtt}


def _rate(n: Numbers, queue: str, rtt: str) -> BySeed:
    """The median throughput of the download, in Mbit/s."""
    return n.flow("down", "throughput_p50_mbit", _one(queue, rtt))


@CLAIMS("2-40", "C-D2, Fig. 21", "Over 10 ms at 100/40 every queue but a FIFO of 20 packets gives "
        "one download the full rate.", DOWNLOAD)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = [
        above(queue, _rate(n, queue, "10 ms"), FULL_MBIT, "Mbit/s")
        for queue in (*DEEP, *AQMS)
    ]  # fmt: skip
    return [*checks, below("FIFO 20", _rate(n, "FIFO 20", "10 ms"), FULL_MBIT, "Mbit/s")]


@CLAIMS("2-41", "C-D2, Fig. 21", "Over 180 ms the receive window holds it to about 50 Mbit/s in a "
        "FIFO of 320 packets and under CoDel and PIE.", DOWNLOAD, given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [about(queue, _rate(n, queue, "180 ms"), 50, "Mbit/s") for queue in BOUND]


@CLAIMS("2-42", "C-D2, fn 31", "There a FIFO of 20 or 180 packets gives it less.", DOWNLOAD,
        given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    most = _rate(n, "FIFO 320", "180 ms")
    return [
        more(f"FIFO 320 over {fifo}", most, _rate(n, fifo, "180 ms")) for fifo in FIFOS[:2]
    ]  # fmt: skip


@CLAIMS("2-43", "C-D2", "Where the receive window limits it, packets wait less in the queue.",
        DOWNLOAD, given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in BOUND:
        free, bound = (
            n.queue("down", "sojourn_mean_ms", _one(queue, rtt)) for rtt in ("10 ms", "180 ms")
        )
        checks.append(more(f"wait, {queue}: 10 over 180 ms", free, bound))
    return checks
