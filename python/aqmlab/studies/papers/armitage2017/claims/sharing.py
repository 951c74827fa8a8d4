"""Claims of Appendix C about the fairness of bulk transfers, over equal and unequal paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from aqmlab.studies.claims import Check, Claims, Evidence, above, more, part
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims.body import AQMS, DEEP, DOWNLOADS, ONE_QUEUE
from aqmlab.studies.papers.armitage2017.claims.bulk import (
    CASE_1,
    CASE_2,
    CASE_3,
    CASE_4,
    LOW,
    SHOWN,
    BulkCase,
    against,
    rates,
    shown,
    together,
)
from aqmlab.studies.papers.armitage2017.claims.common import Flow, each, jain_index, mean, ratio
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

EQUAL, UNEQUAL = (CASE_1, CASE_3), (CASE_2, CASE_4)
HIGHER = SHOWN[1:]
ROUGHLY = 0.9
"""Jain's index from which shares count as roughly equal, as for Figure 5."""
CLEARLY = 1.25
"""Our reading of "noticeably" and "significantly" more: at least 25 %."""
GAP = 1.5
"""Our reading of "unfairness": a ratio of at least 1.5."""

PLAIN = ("FIFO 20", *AQMS)
TCPS = ("NewReno", "CUBIC")
MIDDLING = ("10 ms", "40 ms", "180 ms")


def _rate(n: Numbers, flow: Flow, at: At) -> BySeed:
    return rates(n, [flow], at)[0]


def _fairness(n: Numbers, case: BulkCase, at: At) -> BySeed:
    """Jain's index of the throughputs of a case's downloads while they ran."""
    return jain_index(rates(n, case.ways[0], at))


def _first_wins(n: Numbers, case: BulkCase, words: str, at: At) -> Iterator[Check]:
    first, *others = case.ways[0]
    own = _rate(n, first, at)
    for other in others:
        yield more(f"{words}: {first[0]} over {other[0]}", own, _rate(n, other, at))


def _needs(cases: Sequence[BulkCase], where: dict[str, str | tuple[str, ...]]) -> list[Trials]:
    return [Trials(case.scenario, where) for case in cases]


# --- Over equal paths --------------------------------------------------------------------------


@CLAIMS("2-31", "C-D1b, Figs. 9, 15", "At 1.5/0.5 in a FIFO of 320 packets the download that "
        "starts first gets most for 90 s, under NewReno and CUBIC.",
        *_needs(EQUAL, {"rate": LOW, "qdisc": "FIFO 320", "tcp": TCPS}),
        given="windows")  # fmt: skip
def _(*numbers: Numbers) -> list[Check]:
    checks: list[Check] = []
    for case, n in zip(EQUAL, numbers, strict=True):
        for tcp in TCPS:
            for words, at in case.places(LOW, "FIFO 320", tcp):
                checks += part(tcp, _first_wins(n, case, f"{words} {tcp}", at))
    return checks


@CLAIMS("2-32", "C-D1b", "Under Compound shares are as unequal there, but in some trials the third "
        "download gets most.",
        *_needs(EQUAL, {"rate": LOW, "qdisc": "FIFO 320", "tcp": "Compound"}),
        given="windows")  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    wins = dict.fromkeys(numbers[0].seeds, 0.0)
    checks = []
    for case, n in zip(EQUAL, numbers, strict=True):
        for words, at in case.places(LOW, "FIFO 320", "Compound"):
            own = rates(n, case.ways[0], at)
            gap = each(lambda *shares: max(shares) / min(shares), *own)
            checks.append(above(f"{words}: most over least", gap, GAP, "×"))
            for seed in n.seeds:
                wins[seed] += own[2][seed] == max(one[seed] for one in own)
    checks.append(above("trials of ten in which the third wins", wins, 1, "trials"))
    return Evidence(checks, note="unequal: half as much again; some: one in ten")


LONG = Trials("downloads4_long")


@CLAIMS("2-33", "C-D1b", "This unfairness goes away if the downloads last much longer than 90 s.",
        LONG, given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for tcp in TCPS:
        for rtt in ("40 ms", "180 ms"):
            at = {"tcp": tcp, "rtt": rtt}
            early, late = (_jain_within(n, at, span) for span in ((6.0, 90.0), (810.0, 900.0)))
            checks.append(more(f"Jain, {tcp} {rtt}: last 90 s over first", late, early))
            checks.append(above(f"Jain, {tcp} {rtt}: last 90 s", late, ROUGHLY))
    return checks


def _jain_within(n: Numbers, at: At, span: tuple[float, float]) -> BySeed:
    return jain_index([n.rate(name, at, span, direction=way) for name, way in DOWNLOADS])


@CLAIMS("2-34", "C-D1b, Figs. 9 to 11, 15 to 17", "Under AQMs and in a FIFO of 20 packets flows of "
        "one direction share roughly equally, under FQ-CoDel most equally, above all over short "
        "and middling paths.", *(case.trials(*SHOWN) for case in EQUAL))  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks = []
    for case, n in zip(EQUAL, numbers, strict=True):
        fair = partial(_fairness, n, case)
        for rate in SHOWN:
            words = f"Jain, {case.name(rate)}"
            for queue in PLAIN:
                checks.append(above(f"{words}, {queue}", shown(case, rate, queue, fair), ROUGHLY))
            best = shown(case, rate, "FQ-CoDel", fair, MIDDLING)
            for other in ONE_QUEUE:
                own = shown(case, rate, other, fair, MIDDLING)
                checks.append(more(f"{words}, up to 180 ms: FQ-CoDel over {other}", best, own))
    return Evidence(checks, "roughly: Jain's index of 0.9; middling: up to 180 ms")


# --- Over unequal paths ------------------------------------------------------------------------


def _unequal(
    numbers: Sequence[Numbers], rates: Sequence[str], queues: Sequence[str], tcp: str = "NewReno"
) -> Iterator[tuple[BulkCase, Numbers, str, At]]:
    """Yields the conditions over unequal paths at these rates and under these queues.

    With each condition, in words and as keywords, come its case and the case's numbers.
    """
    for case, n in zip(UNEQUAL, numbers, strict=True):
        for rate in rates:
            for queue in queues:
                for words, at in case.places(rate, queue, tcp):
                    yield case, n, f"{words} {queue}", at


@CLAIMS("2-35", "C-D1c, Figs. 12, 18", "Over unequal paths the first download still gets most at "
        "1.5/0.5 in a FIFO of 180 or 320 packets.",
        *_needs(UNEQUAL, {"rate": LOW, "qdisc": DEEP, "tcp": "NewReno"}),
        given="windows")  # fmt: skip
def _(*numbers: Numbers) -> list[Check]:
    checks: list[Check] = []
    for case, n, words, at in _unequal(numbers, [LOW], DEEP):
        checks += _first_wins(n, case, words, at)
    return checks


FAR_FLOWS, NEAR_FLOWS = DOWNLOADS[:2], DOWNLOADS[2:]
"""The flows with RTTs of 240 and 180 ms, and the flows with RTTs of 40 and 10 ms."""


@CLAIMS("2-36", "C-D1c, Figs. 12, 18", "There under AQMs and in a FIFO of 20 packets downloads "
        "over much shorter paths get noticeably more.",
        *_needs(UNEQUAL, {"rate": LOW, "qdisc": PLAIN, "tcp": "NewReno"}))  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks = []
    for case, n, words, at in _unequal(numbers, [LOW], PLAIN):
        for near in (one for one in NEAR_FLOWS if one in case.flows):
            for far in FAR_FLOWS:
                own, other = _rate(n, near, at), _rate(n, far, at)
                checks.append(more(f"{words}: {near[0]} over {far[0]}", own, other, times=CLEARLY))
    return Evidence(checks, note="noticeably: a quarter")


def _nearest(case: BulkCase) -> Flow:
    """The download with the shortest path."""
    return case.ways[0][-1]


SHARE = (
    "a significantly higher share: by a quarter, of what the others have in the mean; at 12/1 a "
    "FIFO of 180 packets leaves hardly a quarter between round trips of 10 and 40 ms"
)


@CLAIMS("2-37", "C-D1c, Figs. 13, 14, 19, 20", "At higher rates the download over the shortest "
        "path gets a significantly higher share in FIFOs and under CoDel and PIE.",
        *_needs(UNEQUAL, {"rate": HIGHER, "qdisc": ONE_QUEUE, "tcp": "NewReno"}))  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks = []
    for case, n, words, at in _unequal(numbers, HIGHER, ONE_QUEUE):
        nearest = _nearest(case)
        others = mean([_rate(n, one, at) for one in case.ways[0] if one != nearest])
        what = f"{words}: {nearest[0]} over the mean of the others"
        checks.append(more(what, _rate(n, nearest, at), others, times=CLEARLY))
    return Evidence(checks, SHARE)


@CLAIMS("2-38", "C-D1c", "That is more so under NewReno and Compound than under CUBIC.",
        *_needs(UNEQUAL, {"rate": HIGHER, "qdisc": ONE_QUEUE}))  # fmt: skip
def _(*numbers: Numbers) -> list[Check]:
    checks = []
    for case, n, words, at in _unequal(numbers, HIGHER, ONE_QUEUE, "CUBIC"):
        cubic = _share(n, case, at)
        for tcp in ("NewReno", "Compound"):
            own = _share(n, case, against(at, tcp=tcp))
            what = f"share of the nearest, {words}: {tcp} over CUBIC"
            checks += part(tcp, [more(what, own, cubic)])
    return checks


def _share(n: Numbers, case: BulkCase, at: At) -> BySeed:
    """The share that the download over the shortest path has in the throughput of all downloads."""
    return ratio(_rate(n, _nearest(case), at), together(n, case.ways[0], at))


@CLAIMS("2-39", "C-D1c, Figs. 13, 14, 19, 20", "Over unequal paths, where one queue serves the "
        "nearest download best, FQ-CoDel shares much more equally.",
        *_needs(UNEQUAL, {"rate": HIGHER, "tcp": "NewReno"}))  # fmt: skip
def _(*numbers: Numbers) -> Evidence:
    checks = []
    for case, n in zip(UNEQUAL, numbers, strict=True):
        for rate in HIGHER:
            for words, at in case.places(rate, "FQ-CoDel"):
                best = _unfairness(n, case, at)
                checks += [
                    more(f"1 less Jain, {words}: {other} over FQ-CoDel",
                         _unfairness(n, case, against(at, qdisc=other)), best, times=2)
                    for other in ONE_QUEUE
                ]  # fmt: skip
    note = "much: half of what is missing to equality; at 1.5/0.5 2-36 says it of no AQM"
    return Evidence(checks, note)


def _unfairness(n: Numbers, case: BulkCase, at: At) -> BySeed:
    return {seed: 1 - value for seed, value in _fairness(n, case, at).items()}
