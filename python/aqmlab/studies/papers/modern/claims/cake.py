"""Claims of CAKE's sources about hosts, flows, tins and acknowledgements."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, about, above, more, not_less, total
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.modern.claims.conditions import copies, goodput, percent
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

FLOWS = 100
WAYS = ("down", "up")
TINS = ("diffserv3", "diffserv4")
LINES = ("50/1 Mbit/s", "50/0.5 Mbit/s", "100/1 Mbit/s")
SHARES = {"voice": 25.0, "background": 6.25}
"""The shares of the rate in the commit `DIFFSERV`, in per cent: a quarter and a sixteenth."""

MAN = "tc-cake(8), flow isolation"
DIFFSERV = "Linux commit 83f8fd69af4f, sch_cake: Add DiffServ handling"


# --- Flows and hosts ----------------------------------------------------------------------------


@CLAIMS("M-12", "RFC 8290, 5.3", "Of 100 flows 90.78 % have one of 1024 queues for themselves. With"
        " sets of eight, as CAKE has them, about all do.", Trials("hash"),
        rule="Within 5 %; in CAKE 99.9 %. A flow that gets three quarters of the median flow's"
        " throughput is alone.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        about("FQ-CoDel", _alone(n, {"queue": "FQ-CoDel"}), 90.78, "%", within=0.05),
        above("CAKE", _alone(n, {"queue": "CAKE"}), 99.9, "%"),
    ]


def _alone(n: Numbers, at: At) -> BySeed:
    """The percentage of flows that share their queue with no other flow.

    These are the flows with more than 75 % of the median throughput.
    """
    flows = [n.flow(flow, "throughput_mean_mbit", at) for flow in copies("flow", FLOWS)]
    found: BySeed = {}
    for seed in n.seeds:
        rates = sorted(flow[seed] for flow in flows)
        found[seed] = 100 * sum(rate > 0.75 * rates[FLOWS // 2] for rate in rates) / FLOWS
    return found


def _share(n: Numbers, isolation: str, way: str) -> BySeed:
    """The share of the host with one connection, in per cent of both hosts' goodput."""
    at = {"isolation": isolation, "way": way}
    one, many = goodput(n, "one", at), (goodput(n, flow, at) for flow in copies("many", 10))
    return percent(one, total(one, *many))


def _hosts(n: Numbers, isolation: str, expected: float) -> list[Check]:
    return [
        about(f"one connection, {way}", _share(n, isolation, way), expected, "%", within=0.05)
        for way in WAYS
    ]


@CLAIMS("M-13", MAN, "With `dual-srchost` and `dual-dsthost` a host with ten connections cannot"
        " monopolise the line: a host with one connection gets as much.", Trials("hosts"),
        rule="Half of the goodput, within 5 %.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _hosts(n, "dual", 50.0)


@CLAIMS("M-14", MAN, "`flows` isolates flows as FQ-CoDel does, so a host with one connection beside"
        " a host with ten gets an eleventh.", Trials("hosts"), rule="Within 5 %.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _hosts(n, "flows", 100 / 11)


@CLAIMS("M-15", MAN, "`triple-isolate`, the default, does what both dual modes do.",
        Trials("hosts"), rule="Half of the goodput, within 5 %.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _hosts(n, "triple-isolate", 50.0)


# --- Acknowledgements and tins ------------------------------------------------------------------


@CLAIMS("M-16", "Linux commit 8b7138814f29, sch_cake: Add optional ACK filter", "On a very"
        " asymmetric line filtering acknowledgements raises the download's throughput.",
        Trials("acks"), given="acks")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for line in LINES:
        for load in ("download", "both"):
            off, *others = (
                goodput(n, "download", {"filter": mode, "load": load, "rate": line})
                for mode in ("off", "on", "aggressive")
            )
            found += [
                more(f"{mode} over off, {load}, {line}", own, off)
                for mode, own in zip(("on", "aggressive"), others, strict=True)
            ]
    return found


@CLAIMS("M-17", DIFFSERV, "The tin of voice has a quarter of the rate and the tin of bulk a"
        " sixteenth: traffic beyond its tin's rate gains nothing by its codepoint.",
        Trials("tins", {"tins": TINS}),
        rule="Within a tenth, when all tins have packets waiting.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    found = []
    for tins in TINS:
        at = {"tins": tins, "traffic": "together"}
        flows = {flow: goodput(n, flow, at) for flow in ("voice", "effort", "background")}
        every = total(*flows.values())
        found += [
            about(f"{flow}, {tins}", percent(flows[flow], every), share, "%", within=0.1)
            for flow, share in SHARES.items()
        ]
    return found


@CLAIMS("M-18", "Høiland-Jørgensen, Täht and Morton 2018, introduction", "The tins conserve work:"
        " traffic of one codepoint may borrow what the other tins do not use.", Trials("tins"),
        rule="Alone, each codepoint gets as much as without tins; at most 2 % less.")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    alone = {"voice": "EF alone", "effort": "CS0 alone", "background": "CS1 alone"}
    return [
        not_less(f"{traffic}, {tins} over besteffort",
                 *(goodput(n, flow, {"tins": one, "traffic": traffic})
                   for one in (tins, "besteffort")), slack=0.02)
        for flow, traffic in alone.items()
        for tins in TINS
    ]  # fmt: skip
