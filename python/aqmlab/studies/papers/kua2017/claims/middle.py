"""Claims of section IV-A.2 and Fig. 4: 12/1 Mbit/s."""

from __future__ import annotations

from aqmlab.studies.claims import (
    THRESHOLD,
    Check,
    Claims,
    about,
    above,
    alike,
    always,
    below,
    more,
    not_less,
    part,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    AQMS,
    FLOWS,
    FQ,
    LIGHT,
    MIDDLE,
    SHOWN,
    WINDOW_BYTES,
    against,
    attains,
    home,
    induced,
    mean_induced,
    misses,
    over_fifo,
    places,
    rate_of,
    spread_of,
    where,
)

CLAIMS = Claims()


@CLAIMS("0-11", "IV-A.2, Fig. 3b", "At 12/1 under FIFO every flow's round trips take about 2700 ms "
        "more, over ten times the longest RTT_base.", home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=("FIFO",)):
        for flow in FLOWS:
            own = induced(n, flow, at)
            checks.append(about(f"{flow[0]}, {words}", own, 2700, "ms"))
            checks.append(above(f"{flow[0]}, {words}", own, 2400, "ms", slack=THRESHOLD))
    return always("all traffic flows", checks)


@CLAIMS("0-12", "IV-A.2, Fig. 2b", "At 12/1 FIFO shares capacity worst of the four.",
        home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=AQMS):
        what, fifo = against(words, at, "FIFO")
        own, theirs = rate_of(n, "iot_high", at), rate_of(n, "iot_high", fifo)
        checks.append(more(f"IoT_high, {what}", own, theirs))
        other = more(f"Jain of BulkDownload and DASH, {what}", _jain(n, at), _jain(n, fifo))
        checks += part("downstream", [other])
    return checks


def _jain(n: Numbers, at: At) -> BySeed:
    flows = [n.flow(name, "throughput_mean_mbit", at) for name in ("bulk_download", "dash")]
    return {
        seed: sum(one[seed] for one in flows) ** 2 / (2 * sum(one[seed] ** 2 for one in flows))
        for seed in n.seeds
    }


@CLAIMS("0-13", "IV-A.2, Fig. 2b", "At 12/1 under FIFO IoT_high does not reach its rate.",
        home(MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return misses(n, MIDDLE, "FIFO")


@CLAIMS("0-14", "IV-A.2, Fig. 2b", "At 12/1 under PIE IoT_high reaches its rate.", home(MIDDLE))
def _(n: Numbers) -> list[Check]:
    return attains(n, MIDDLE, ("PIE",))


@CLAIMS("0-15", "IV-A.2, Fig. 2b", "At 12/1 BulkDownload gets more under PIE than under FIFO.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return over_fifo(n, MIDDLE, ("PIE",))


@CLAIMS("0-16", "IV-A.2, Fig. 3b", "At 12/1 induced RTT is shortest, and varies little, under "
        "FQ-CoDel and FQ-PIE.", home(MIDDLE),
        rule="of the mean of all flows, and of each that sends at a rate of its own: a greedy one "
        "waits in a queue of its own making")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    means, medians, spreads = [], [], []
    for words, at in places(MIDDLE, queues=FQ):
        _what, pie = against(words, at, "PIE")
        own, theirs = mean_induced(n, FLOWS, at), mean_induced(n, FLOWS, pie)
        means.append(not_less(f"mean of all, PIE over {words}", theirs, own, slack=0.0))
        for flow in LIGHT:
            own, theirs = induced(n, flow, at), induced(n, flow, pie)
            medians.append(more(f"{flow[0]} median, PIE over {words}", theirs, own))
            own, theirs = spread_of(n, flow, at), spread_of(n, flow, pie)
            spreads.append(more(f"{flow[0]} spread, PIE over {words}", theirs, own))
    return [*part("of all", means), *part("shortest", medians), *part("even", spreads)]


@CLAIMS("0-17", "IV-A.4, Fig. 4", "At 12/1 under FIFO BulkDownload stays below 2 Mbit/s.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        below(f"BulkDownload, {words}", rate_of(n, "bulk_download", at), 2, "Mbit/s",
              slack=THRESHOLD)
        for words, at in places(MIDDLE, queues=("FIFO",))
    ]  # fmt: skip


@CLAIMS("0-18", "IV-A.4, Fig. 4", "At 12/1 under each AQM BulkDownload gets 4 to 8 Mbit/s.",
        home(MIDDLE), given="windows")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(MIDDLE, queues=AQMS):
        own = rate_of(n, "bulk_download", at)
        checks.append(above(f"BulkDownload, {words}", own, 4, "Mbit/s", slack=THRESHOLD))
        checks.append(below(f"BulkDownload, {words}", own, 8, "Mbit/s", slack=THRESHOLD))
    return checks


@CLAIMS("0-19", "IV-A.4, Fig. 4", "At 12/1 under an AQM BulkDownload gets less over a long path.",
        home(MIDDLE), rule="over 140 and 240 ms than over 40 ms")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in AQMS:
        short, *long = (rate_of(n, "bulk_download", where(MIDDLE, queue, rtt)) for rtt in SHOWN)
        for rtt, own in zip(SHOWN[1:], long, strict=True):
            checks.append(more(f"BulkDownload, {queue}: 40 ms over {rtt}", short, own))
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
