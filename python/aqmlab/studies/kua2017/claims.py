"""The claims of the paper, each as a small function over results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from aqmlab.studies.claims import (
    Check,
    Claims,
    Finding,
    about,
    above,
    alike,
    below,
    more,
    not_less,
    spread,
    total,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

HIGH, MIDDLE, FOUR, LOW = "25/5 Mbit/s", "12/1 Mbit/s", "4/1 Mbit/s", "1.5/0.5 Mbit/s"
RATES = (HIGH, MIDDLE, FOUR, LOW)
FQ = ("FQ-CoDel", "FQ-PIE")
AQMS = ("PIE", *FQ)
QUEUES = ("FIFO", *AQMS)
SHOWN = ("40 ms", "140 ms", "240 ms")

Flow = tuple[str, str, str]
"""What a flow is called, its application, and which way its data go."""

FLOWS: tuple[Flow, ...] = (
    ("IoT_low", "iot_low", "up"),
    ("IoT_high", "iot_high", "up"),
    ("VideoCall up", "video_call", "up"),
    ("VideoCall down", "video_call", "down"),
    ("BulkUpload", "bulk_upload", "up"),
    ("BulkDownload", "bulk_download", "down"),
    ("DASH", "dash", "down"),
)
LIGHT = FLOWS[:4]
"""Those that send at a rate of their own."""
IOT = FLOWS[:2]

IOT_LOW_MBIT, IOT_HIGH_MBIT, CALL_MBIT = 2.5 * 152 * 8e-6, 125 * 152 * 8e-6, 50 * 728 * 8e-6
"""Table I at the IP layer: 100 B and 52 B of headers (with timestamps), 700 B and 28 B."""

TOP_MBIT, LOWEST_MBIT = 4.219897, 0.045652
"""The highest and the lowest representation of the 2 s set."""

WINDOW_BYTES = 300_000
FAR = 2.0
"""What we take "far above" for: at least twice."""


def home(*rates: str, rtts: tuple[str, ...] = SHOWN) -> Trials:
    """The whole home at some rates."""
    return Trials("home", {"rate": rates or RATES, "rtt": rtts})


def induced(n: Numbers, flow: Flow, at: At, part: int = 50) -> BySeed:
    """A percentile of a flow's induced RTT."""
    return n.flow(flow[1], f"induced_p{part}_ms", at, flow[2])


def spread_of(n: Numbers, flow: Flow, at: At) -> BySeed:
    """From the 25th to the 75th percentile of a flow's induced RTT."""
    return spread(induced(n, flow, at, 25), induced(n, flow, at, 75))


def mean_induced(n: Numbers, flows: Sequence[Flow], at: At) -> BySeed:
    """The mean over flows of their median induced RTTs."""
    summed = total(*(induced(n, flow, at) for flow in flows))
    return {seed: value / len(flows) for seed, value in summed.items()}


def rate_of(n: Numbers, flow: str, at: At, part: int = 50, way: str | None = None) -> BySeed:
    """A percentile of a flow's throughput, in Mbit/s."""
    return n.flow(flow, f"throughput_p{part}_mbit", at, way)


def places(*rates: str, queues: tuple[str, ...] = QUEUES) -> Iterator[tuple[str, At]]:
    """Conditions, in words and as keywords."""
    for rate in rates:
        for queue in queues:
            for rtt in SHOWN:
                short = rate.removesuffix(" Mbit/s")
                yield f"{short} {queue} {rtt}", _at(rate, queue, rtt)


def _at(rate: str, queue: str, rtt: str) -> At:
    return {"rate": rate, "qdisc": queue, "rtt": rtt}


def against(words: str, at: At, other: str) -> tuple[str, At]:
    """The same place under another queue."""
    return f"{words} over {other}", {**at, "qdisc": other}


# --- Table I and section III -------------------------------------------------------------------


@CLAIMS("0-01", "Table I", "IoT_low is 100 B every 400 ms: 2 kbit/s.", Trials("alone"))
def _(n: Numbers) -> list[Check]:
    rate = {seed: 1e3 * one for seed, one in n.flow("iot_low", "throughput_mean_mbit").items()}
    return [
        about("application", n.app("iot_low", "offered_kbit"), 2.0, "kbit/s", within=0.02),
        about("IP", rate, 3.0, "kbit/s", within=0.05),
    ]


@CLAIMS("0-02", "Table I", "IoT_high is 100 B 125 times a second: 100 kbit/s.", Trials("alone"))
def _(n: Numbers) -> list[Check]:
    rate = {seed: 1e3 * one for seed, one in n.flow("iot_high", "throughput_mean_mbit").items()}
    return [
        about("application", n.app("iot_high", "offered_kbit"), 100.0, "kbit/s", within=0.02),
        about("IP", rate, 150.0, "kbit/s", within=0.05),
    ]


@CLAIMS("0-03", "Table I", "A video call is 700 B every 20 ms each way: 280 kbit/s.",
        Trials("alone"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        about(way, n.flow("video_call", column, direction=way), expected, "Mbit/s", within=0.02)
        for way in ("up", "down")
        for column, expected in (("goodput_mbit", 0.28), ("throughput_mean_mbit", CALL_MBIT))
    ]


@CLAIMS("0-04", "III-E", "From 30 to 200 s an experiment gives about 680 samples of throughput "
        "and more than 5000 of RTT.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    import polars as pl

    trials = n.results.manifest["trials"]
    one = trials[0]["conditions"]
    windows = n.results.only([t["id"] for t in trials if t["conditions"] == one]).table("windows")
    whole = pl.col("t_s").is_between(32.5 - 1e-6, 197.5 + 1e-6)
    own = windows.filter(
        whole & (pl.col("flow") == "bulk_download") & (pl.col("direction") == "down")
    )
    samples = {seed: float((own["seed"] == seed).sum()) for seed in n.seeds}
    checks = [about("windows wholly within", samples, 680, within=0.05)]
    for words, at in places(*RATES):
        pairs = total(*(n.flow(flow, "rtt_n", at, way) for _, flow, way in FLOWS))
        checks.append(above(f"{words}: round trips", pairs, 5000))
    return checks


@CLAIMS("0-05", "III-D", "Packets are lost at the queue only, and the delay comes after it.",
        home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    import polars as pl

    keys = ["trial", "flow"]
    drops = n.results.table("queue_drops").group_by(keys).agg(pl.col("drops").sum())
    flows = n.results.table("flows")
    lost = flows.group_by([*keys, "seed"]).agg(pl.col("lost").sum())
    joined = lost.join(drops, on=keys, how="left").with_columns(
        (pl.col("lost") - pl.col("drops").fill_null(0)).clip(lower_bound=0).alias("beyond")
    )
    short = flows.with_columns((pl.col("rtt_min_ms") - pl.col("rtt_base_ms")).alias("above"))
    beyond, least = {}, {}
    for seed in n.seeds:
        beyond[seed] = float(joined.filter(pl.col("seed") == seed)["beyond"].sum())
        known = short.filter(pl.col("seed") == seed)["above"].drop_nulls().drop_nans()
        least[seed] = min(known.to_list())
    return [
        below("packets lost that no queue dropped", beyond, 0, "packets"),
        above("shortest round trip less RTT_base", least, 0, "ms"),
    ]


# --- 25/5 Mbit/s -------------------------------------------------------------------------------


@CLAIMS("0-06", "IV-A.1, Fig. 2a", "At 25/5 every application gets all it can use, whatever the "
        "queue.", home(HIGH))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(HIGH, queues=AQMS):
        for name, flow, way in LIGHT:
            target = {"iot_low": IOT_LOW_MBIT, "iot_high": IOT_HIGH_MBIT}.get(flow, CALL_MBIT)
            own = rate_of(n, flow, at, way=way)
            checks.append(above(f"{name}, {words}", own, target, "Mbit/s", slack=0.05))
        shown = n.chunks("dash", "rr_mbit", at)
        checks.append(about(f"RR, {words}", shown, TOP_MBIT, "Mbit/s", within=0.01))
    return Finding(checks, note="judged on the applications that have a rate to reach")


@CLAIMS("0-07", "IV-A.1, Fig. 2a", "At 25/5 BulkDownload gets less under FIFO than under each AQM.",
        home(HIGH), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _over_fifo(n, HIGH, AQMS)


def _over_fifo(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[Check]:
    checks = []
    for words, at in places(rate, queues=queues):
        what, fifo = against(words, at, "FIFO")
        own, other = rate_of(n, "bulk_download", at), rate_of(n, "bulk_download", fifo)
        checks.append(more(f"BulkDownload, {what}", own, other))
    return checks


@CLAIMS("0-08", "IV-A.1, Fig. 3a", "At 25/5 FIFO adds far more delay to every flow than each AQM.",
        home(HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        more(f"{flow[0]}, {rtt}: FIFO over {aqm}", induced(n, flow, _at(HIGH, "FIFO", rtt)),
             induced(n, flow, _at(HIGH, aqm, rtt)), times=FAR)
        for flow in FLOWS for aqm in AQMS for rtt in SHOWN
    ]  # fmt: skip


@CLAIMS("0-09", "IV-A.1, Fig. 3a", "At 25/5 induced RTT is longer and varies more under PIE than "
        "under FQ-CoDel and FQ-PIE.", home(HIGH))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(HIGH, queues=("PIE",)):
        for queue in FQ:
            what, other = against(words, at, queue)
            for flow in FLOWS:
                own, theirs = induced(n, flow, at), induced(n, flow, other)
                checks.append(more(f"{flow[0]} median, {what}", own, theirs))
                own, theirs = spread_of(n, flow, at), spread_of(n, flow, other)
                checks.append(more(f"{flow[0]} spread, {what}", own, theirs))
    return Finding.in_general(checks)


@CLAIMS("0-10", "IV-A.4, Fig. 3a", "At 25/5 DASH waits noticeably longer under FQ-PIE than under "
        "FQ-CoDel.", home(HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(HIGH, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = induced(n, FLOWS[6], at), induced(n, FLOWS[6], other)
        checks.append(more(f"DASH, {what}", own, theirs, times=1.25))
    return checks


# --- 12/1 Mbit/s -------------------------------------------------------------------------------


@CLAIMS("0-11", "IV-A.2, Fig. 3b", "At 12/1 under FIFO every flow's round trips take about 2700 ms "
        "more, over ten times the longest RTT_base.", home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=("FIFO",)):
        for flow in FLOWS:
            own = induced(n, flow, at)
            checks.append(about(f"{flow[0]}, {words}", own, 2700, "ms"))
            checks.append(above(f"{flow[0]}, {words}", own, 2400, "ms", slack=0.1))
    return checks


@CLAIMS("0-12", "IV-A.2, Fig. 2b", "At 12/1 FIFO shares capacity worst of the four.",
        home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=AQMS):
        what, fifo = against(words, at, "FIFO")
        own, theirs = rate_of(n, "iot_high", at), rate_of(n, "iot_high", fifo)
        checks.append(more(f"IoT_high, {what}", own, theirs))
        checks.append(more(f"Jain of BulkDownload and DASH, {what}", _jain(n, at), _jain(n, fifo)))
    return checks


def _jain(n: Numbers, at: At) -> BySeed:
    flows = [n.flow(name, "throughput_mean_mbit", at) for name in ("bulk_download", "dash")]
    return {
        seed: sum(one[seed] for one in flows) ** 2 / (2 * sum(one[seed] ** 2 for one in flows))
        for seed in n.seeds
    }


def _iot_high(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[tuple[str, BySeed]]:
    return [
        (f"IoT_high, {words}", rate_of(n, "iot_high", at))
        for words, at in places(rate, queues=queues)
    ]


def _misses(n: Numbers, rate: str, queue: str) -> list[Check]:
    own = _iot_high(n, rate, (queue,))
    return [below(what, values, IOT_HIGH_MBIT, "Mbit/s", slack=-0.05) for what, values in own]


def _attains(n: Numbers, rate: str, queues: tuple[str, ...]) -> list[Check]:
    own = _iot_high(n, rate, queues)
    return [above(what, values, IOT_HIGH_MBIT, "Mbit/s", slack=0.05) for what, values in own]


@CLAIMS("0-13", "IV-A.2, Fig. 2b", "At 12/1 under FIFO IoT_high does not reach its rate.",
        home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _misses(n, MIDDLE, "FIFO")


@CLAIMS("0-14", "IV-A.2, Fig. 2b", "At 12/1 under PIE IoT_high reaches its rate.", home(MIDDLE))
def _(n: Numbers) -> list[Check]:
    return _attains(n, MIDDLE, ("PIE",))


@CLAIMS("0-15", "IV-A.2, Fig. 2b", "At 12/1 BulkDownload gets more under PIE than under FIFO.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _over_fifo(n, MIDDLE, ("PIE",))


@CLAIMS("0-16", "IV-A.2, Fig. 3b", "At 12/1 induced RTT is shortest, and varies little, under "
        "FQ-CoDel and FQ-PIE.", home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(MIDDLE, queues=FQ):
        _what, pie = against(words, at, "PIE")
        own, theirs = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, pie)
        checks.append(not_less(f"mean of all, PIE over {words}", theirs, own, slack=0.0))
        for flow in LIGHT:
            own, theirs = induced(n, flow, at), induced(n, flow, pie)
            checks.append(more(f"{flow[0]} median, PIE over {words}", theirs, own))
            own, theirs = spread_of(n, flow, at), spread_of(n, flow, pie)
            checks.append(more(f"{flow[0]} spread, PIE over {words}", theirs, own))
    return Finding(
        checks, note="greedy flows wait in queues of their own making; their mean counts"
    )


@CLAIMS("0-17", "IV-A.4, Fig. 4", "At 12/1 under FIFO BulkDownload stays below 2 Mbit/s.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below(f"BulkDownload, {words}", rate_of(n, "bulk_download", at), 2, "Mbit/s")
        for words, at in places(MIDDLE, queues=("FIFO",))
    ]


@CLAIMS("0-18", "IV-A.4, Fig. 4", "At 12/1 under each AQM BulkDownload gets 4 to 8 Mbit/s.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=AQMS):
        own = rate_of(n, "bulk_download", at)
        checks.append(above(f"BulkDownload, {words}", own, 4, "Mbit/s", slack=0.1))
        checks.append(below(f"BulkDownload, {words}", own, 8, "Mbit/s", slack=0.1))
    return checks


@CLAIMS("0-19", "IV-A.4, Fig. 4", "At 12/1 under an AQM BulkDownload gets less over a long path.",
        home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in AQMS:
        short, long = (
            rate_of(n, "bulk_download", _at(MIDDLE, queue, rtt)) for rtt in ("40 ms", "240 ms")
        )
        checks.append(more(f"BulkDownload, {queue}: 40 over 240 ms", short, long))
    return checks


@CLAIMS("0-20", "IV-A.4", "Under FIFO at 12/1 the window over the round-trip time, and not the "
        "line, limits BulkDownload.", home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=("FIFO",)):
        rtt_ms = n.flow("bulk_download", "rtt_mean_ms", at)
        most = {seed: WINDOW_BYTES * 8 * 1500 / 1448 / (1e3 * rtt_ms[seed]) for seed in n.seeds}
        own = n.flow("bulk_download", "throughput_mean_mbit", at)
        checks.append(alike(f"throughput over window per RTT, {words}", own, most, within=0.25))
        checks.append(below(f"downlink's use, {words}", n.queue("down", "utilisation", at), 0.5))
    return checks


# --- 1.5/0.5 Mbit/s ----------------------------------------------------------------------------


@CLAIMS("0-21", "IV-A.3, Fig. 3c", "At 1.5/0.5 under FIFO medians of induced RTT reach 5000 ms.",
        home(LOW), given="windows")  # fmt: skip
def _(n: Numbers) -> Check:
    medians = [induced(n, flow, at) for _, at in places(LOW, queues=("FIFO",)) for flow in FLOWS]
    return about("longest median", {seed: max(one[seed] for one in medians) for seed in n.seeds},
                 5000, "ms")  # fmt: skip


@CLAIMS("0-22", "IV-A.3, Fig. 2c", "At 1.5/0.5 under FIFO IoT_low reaches its rate.", home(LOW))
def _(n: Numbers) -> list[Check]:
    return [
        above(f"IoT_low, {words}", n.flow("iot_low", "throughput_mean_mbit", at), IOT_LOW_MBIT,
              "Mbit/s", slack=0.1)
        for words, at in places(LOW, queues=("FIFO",))
    ]  # fmt: skip


@CLAIMS("0-23", "IV-A.3, Fig. 2c", "At 1.5/0.5 under FIFO IoT_high does not reach its rate.",
        home(LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _misses(n, LOW, "FIFO")


@CLAIMS("0-24", "IV-A.3, Fig. 2c", "At 1.5/0.5 under PIE IoT_high just misses its rate.", home(LOW))
def _(n: Numbers) -> Finding:
    close = []
    for words, at in places(LOW, queues=("PIE",)):
        own, fifo = rate_of(n, "iot_high", at), rate_of(n, "iot_high", {**at, "qdisc": "FIFO"})
        missing = {seed: IOT_HIGH_MBIT - own[seed] for seed in n.seeds}
        gained = {seed: own[seed] - fifo[seed] for seed in n.seeds}
        close.append(more(f"gained over FIFO to what is missing, {words}", gained, missing))
    return Finding([*_misses(n, LOW, "PIE"), *close], note="just: nearer to it than to FIFO's")


@CLAIMS("0-25", "IV-A.3, Fig. 2c", "At 1.5/0.5 under FQ-CoDel and FQ-PIE IoT_high reaches its "
        "rate.", home(LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _attains(n, LOW, FQ)


@CLAIMS("0-26", "IV-A.3, Fig. 3c", "At 1.5/0.5 FIFO delays far more than PIE, and PIE more and "
        "less evenly than FQ-CoDel and FQ-PIE delay the IoT flows.", home(LOW))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(LOW, queues=("PIE",)):
        for flow in FLOWS:
            _, fifo = against(words, at, "FIFO")
            own, theirs = induced(n, flow, at), induced(n, flow, fifo)
            checks.append(more(f"{flow[0]}, FIFO over {words}", theirs, own, times=FAR))
        for queue in FQ:
            what, other = against(words, at, queue)
            for flow in IOT:
                own, theirs = induced(n, flow, at), induced(n, flow, other)
                checks.append(more(f"{flow[0]} median, {what}", own, theirs))
                own, theirs = spread_of(n, flow, at), spread_of(n, flow, other)
                checks.append(more(f"{flow[0]} spread, {what}", own, theirs))
    return Finding(checks, note="FQ is held to what the sentence is about, the IoT flows")


# --- Section IV-A.4 ----------------------------------------------------------------------------


@CLAIMS("0-27", "IV-A.4, Fig. 3", "Under FIFO induced RTT grows as the line gets slower.",
        home(HIGH, MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for fast, slow in ((HIGH, MIDDLE), (MIDDLE, LOW)):
        for rtt in SHOWN:
            own, other = (mean_induced(n, FLOWS, _at(rate, "FIFO", rtt)) for rate in (slow, fast))
            checks.append(more(f"mean of all, {rtt}: {slow} over {fast}", own, other))
    return checks


@CLAIMS("0-28", "IV-A, IV-A.4", "Delays at 4/1 are nearly those at 12/1: the uplink rules.",
        home(MIDDLE, FOUR))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(FOUR):
        own, other = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, {**at, "rate": MIDDLE})
        checks.append(alike(f"mean of all, {words} over 12/1", own, other, within=0.25))
    return checks


@CLAIMS("0-29", "IV-A.4", "Under FIFO the queue of the uplink rules the round trips of downstream "
        "flows too.", home())  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=("FIFO",)):
        uplink, downlink = (n.queue(link, "sojourn_mean_ms", at) for link in ("up", "down"))
        checks.append(more(f"wait at the uplink over downlink, {words}", uplink, downlink))
        down, up = (
            mean_induced(n, [one for one in FLOWS if one[2] == way], at) for way in ("down", "up")
        )
        checks.append(alike(f"downstream flows over upstream, {words}", down, up, within=0.35))
    return checks


@CLAIMS("0-30", "IV-A.4", "FQ-PIE can delay longer and less evenly than FQ-CoDel.", home())
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(*RATES, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, other)
        checks.append(not_less(f"mean of all, {what}", own, theirs, slack=0.05))
        own, theirs = (total(*(spread_of(n, flow, one) for flow in FLOWS)) for one in (at, other))
        checks.append(not_less(f"mean spread, {what}", own, theirs, slack=0.05))
    return checks


@CLAIMS("0-31", "IV-A.4", "Under FQ-CoDel and FQ-PIE no IoT flow is ever starved.", home())
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(*RATES, queues=FQ):
        low, high = rate_of(n, "iot_low", at, 5), rate_of(n, "iot_high", at, 5)
        checks.append(above(f"IoT_low p5, {words}", low, 0.5 * IOT_LOW_MBIT, "Mbit/s"))
        checks.append(above(f"IoT_high p5, {words}", high, 0.5 * IOT_HIGH_MBIT, "Mbit/s"))
    return Finding(checks, note="starved: less than half of its rate in a window of twenty")


# --- Section IV-B: DASH ------------------------------------------------------------------------


def _dash(n: Numbers, column: str, at: At) -> BySeed:
    return n.chunks("dash", column, at)


def _better(n: Numbers, queue: str, other: str, rates: tuple[str, ...]) -> list[Check]:
    """AR is higher under `queue` than under `other`, and RR not lower."""
    checks = []
    for words, at in places(*rates, queues=(queue,)):
        what, less = against(words, at, other)
        own, theirs = (_dash(n, "ar_mbit", one) for one in (at, less))
        checks.append(more(f"AR, {what}", own, theirs))
        own, theirs = (_dash(n, "rr_mbit", one) for one in (at, less))
        checks.append(not_less(f"RR, {what}", own, theirs, slack=0.001))
    return checks


@CLAIMS("0-32", "IV-B, Fig. 5", "At every rate FIFO gives the lowest AR and RR.", home(),
        given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [check for queue in AQMS for check in _better(n, queue, "FIFO", RATES)]


@CLAIMS("0-33", "IV-B, Fig. 5d", "At 1.5/0.5 under FIFO AR is below the lowest RR, and the video "
        "stalls often.", home(LOW), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(LOW, queues=("FIFO",)):
        checks.append(below(f"AR, {words}", _dash(n, "ar_mbit", at), LOWEST_MBIT, "Mbit/s"))
        checks.append(above(f"stalls, {words}", n.app("dash", "stalls_count", at), 5))
    return checks


@CLAIMS("0-34", "IV-B, Fig. 5", "At every rate AR and RR are higher under FQ-CoDel and FQ-PIE than "
        "under PIE.", home(), given="rate")  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = [check for queue in FQ for check in _better(n, queue, "PIE", RATES)]
    return Finding.in_general(checks)


def _rr(
    n: Numbers, rate: str, queues: tuple[str, ...], expected: float, within: float
) -> list[Check]:
    return [
        about(f"RR, {words}", _dash(n, "rr_mbit", at), expected, "Mbit/s", within=within)
        for words, at in places(rate, queues=queues)
    ]


@CLAIMS("0-35", "IV-B, Fig. 5a", "At 25/5 every AQM lets DASH choose the highest rate.", home(HIGH))
def _(n: Numbers) -> list[Check]:
    return _rr(n, HIGH, AQMS, TOP_MBIT, 0.01)


@CLAIMS("0-36", "IV-B, Fig. 5a", "At 25/5 AR is highest under FQ-PIE, then FQ-CoDel, then PIE, and "
        "enough for the highest rate even so.", home(HIGH), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in SHOWN:
        at = {"rate": HIGH, "rtt": rtt}
        pie, codel, fq_pie = (_dash(n, "ar_mbit", {**at, "qdisc": one}) for one in AQMS)
        checks.append(more(f"AR, {rtt}: FQ-PIE over FQ-CoDel", fq_pie, codel))
        checks.append(more(f"AR, {rtt}: FQ-CoDel over PIE", codel, pie))
        checks.append(above(f"AR, {rtt}: PIE", pie, TOP_MBIT, "Mbit/s"))
    return checks


@CLAIMS("0-37", "IV-B, Fig. 5b", "At 12/1 under FQ-CoDel and FQ-PIE AR is mostly above 4 Mbit/s "
        "and RR the highest.", home(MIDDLE), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = [
        above(f"AR, {words}", _dash(n, "ar_mbit", at), 4, "Mbit/s")
        for words, at in places(MIDDLE, queues=FQ)
    ]
    return [*rates, *_rr(n, MIDDLE, FQ, TOP_MBIT, 0.01)]


@CLAIMS("0-38", "IV-B, Fig. 5b", "At 12/1 AR is slightly higher under FQ-PIE than under FQ-CoDel.",
        home(MIDDLE), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=("FQ-PIE",)):
        what, other = against(words, at, "FQ-CoDel")
        own, theirs = (_dash(n, "ar_mbit", one) for one in (at, other))
        checks.append(more(f"AR, {what}", own, theirs))
    return checks


def _over_fifo_rr(n: Numbers, rate: str) -> list[Check]:
    checks = []
    for words, at in places(rate, queues=("PIE",)):
        what, fifo = against(words, at, "FIFO")
        own, theirs = (_dash(n, "rr_mbit", one) for one in (at, fifo))
        checks.append(more(f"RR, {what}", own, theirs))
    return checks


@CLAIMS("0-39", "IV-B, Fig. 5b", "At 12/1 under PIE RR is mostly below 1 Mbit/s, and higher than "
        "under FIFO.", home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    low = [
        below(f"RR, {words}", _dash(n, "rr_mbit", at), 1, "Mbit/s", slack=0.1)
        for words, at in places(MIDDLE, queues=("PIE",))
    ]
    return [*low, *_over_fifo_rr(n, MIDDLE)]


@CLAIMS("0-40", "IV-B, Fig. 5c", "At 4/1 under FQ-CoDel and FQ-PIE AR is about 1.5 Mbit/s and RR "
        "1.24 Mbit/s at every RTT_base.", home(FOUR), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    rates = [
        about(f"AR, {words}", _dash(n, "ar_mbit", at), 1.5, "Mbit/s")
        for words, at in places(FOUR, queues=FQ)
    ]
    return [*rates, *_rr(n, FOUR, FQ, 1.244778, 0.25)]


@CLAIMS("0-41", "IV-B, Fig. 5c", "At 4/1 under PIE RR is 0.5 Mbit/s in most cases, and higher than "
        "under FIFO.", home(FOUR))  # fmt: skip
def _(n: Numbers) -> Finding:
    return Finding([*_rr(n, FOUR, ("PIE",), 0.5, 0.25), *_over_fifo_rr(n, FOUR)], share=5 / 6,
                   note="most: at two of the three RTTs")  # fmt: skip


@CLAIMS("0-42", "IV-B, Fig. 5d", "At 1.5/0.5 under FQ-CoDel and FQ-PIE RR is about 400 kbit/s.",
        home(LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _rr(n, LOW, FQ, 0.4, 0.25)


@CLAIMS("0-43", "IV-B, Fig. 5d", "At 1.5/0.5 AR and RR are lowest under FIFO, then PIE, then "
        "FQ-CoDel and FQ-PIE.", home(LOW), given="rate")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    fq = [check for queue in FQ for check in _better(n, queue, "PIE", (LOW,))]
    return [*_better(n, "PIE", "FIFO", (LOW,)), *fq]


# --- Section V, and what the text says besides -------------------------------------------------


@CLAIMS("0-44", "V", "FIFO protects IoT flows worst, PIE better, FQ-CoDel and FQ-PIE best and "
        "alike.", home(HIGH, MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rate in (HIGH, MIDDLE, LOW):
        for rtt in SHOWN:
            at = {"rate": rate, "rtt": rtt}
            fifo, pie, codel, fq_pie = (
                mean_induced(n, IOT, {**at, "qdisc": queue}) for queue in QUEUES
            )
            words = f"induced RTT of IoT, {rate.removesuffix(' Mbit/s')} {rtt}"
            checks.append(more(f"{words}: FIFO over PIE", fifo, pie))
            checks.append(more(f"{words}: PIE over FQ-CoDel", pie, codel))
            checks.append(more(f"{words}: PIE over FQ-PIE", pie, fq_pie))
            checks.append(alike(f"{words}: FQ-PIE over FQ-CoDel", fq_pie, codel, within=0.25))
    return checks


@CLAIMS("0-45", "II-A, V", "The 250 ms of telemonitoring in real time are kept under each AQM, and "
        "broken under FIFO at 12/1 and 1.5/0.5.", home(MIDDLE, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, LOW):
        for name, flow, way in IOT:
            if at["qdisc"] == "FIFO":
                own = n.flow(flow, "rtt_p50_ms", at, way)
                checks.append(above(f"{name} median, {words}", own, 250, "ms"))
            else:
                own = n.flow(flow, "rtt_p95_ms", at, way)
                checks.append(below(f"{name} p95, {words}", own, 250, "ms"))
    return checks


EVERY_RTT = tuple(f"{rtt_ms} ms" for rtt_ms in range(20, 241, 20))


@CLAIMS("0-46", "IV-A", "Of the twelve RTT_base, 40, 140 and 240 ms show what RTT_base does.",
        home(MIDDLE, rtts=EVERY_RTT))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for queue in QUEUES:
        for flow in FLOWS:
            shown = [induced(n, flow, _at(MIDDLE, queue, rtt)) for rtt in SHOWN]
            for rtt in (one for one in EVERY_RTT if one not in SHOWN):
                own = induced(n, flow, _at(MIDDLE, queue, rtt))
                beyond = {seed: _beyond([one[seed] for one in shown], own[seed]) for seed in own}
                what = f"{flow[0]}, {queue} {rtt}: beyond what is shown"
                checks.append(below(what, beyond, 1.5, "×"))
    return Finding.in_general(checks)


def _beyond(shown: list[float], value: float) -> float:
    """By which factor a value lies outside what is shown."""
    if math.isnan(value) or any(map(math.isnan, shown)):
        return math.nan
    return max(value / max(shown), min(shown) / value, 1.0)


@CLAIMS("0-47", "Fig. 4", "At 12/1 each AQM lets BulkDownload get more than FIFO.", home(MIDDLE),
        given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return _over_fifo(n, MIDDLE, AQMS)


@CLAIMS("0-48", "V", "With an AQM IoT flows mostly reach their rates with little delay.", home())
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(*RATES, queues=AQMS):
        own = rate_of(n, "iot_high", at)
        checks.append(above(f"IoT_high, {words}", own, IOT_HIGH_MBIT, "Mbit/s", slack=0.05))
        for flow in IOT:
            checks.append(below(f"{flow[0]} induced, {words}", induced(n, flow, at), 100, "ms"))
    return Finding(checks, share=0.8, note="mostly: in four conditions of five; little: 100 ms")


@CLAIMS("0-49", "IV-B", "AR is steadier under FQ-CoDel and FQ-PIE than under PIE.",
        home(MIDDLE, FOUR, LOW))  # fmt: skip
def _(n: Numbers) -> Finding:
    checks = []
    for words, at in places(MIDDLE, FOUR, LOW, queues=FQ):
        _, pie = against(words, at, "PIE")
        own, theirs = (_unevenness(n, one) for one in (at, pie))
        checks.append(more(f"spread of AR over its median, PIE over {words}", theirs, own))
    return Finding.in_general(checks)


def _unevenness(n: Numbers, at: At) -> BySeed:
    low, middle, high = (n.chunks("dash", "player_ar_mbit", at, part) for part in (0.25, 0.5, 0.75))
    return {seed: (high[seed] - low[seed]) / middle[seed] for seed in n.seeds}
