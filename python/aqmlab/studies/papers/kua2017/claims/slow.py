"""Claims of section IV-A.3: 1.5/0.5 Mbit/s."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, about, above, below, more, part
from aqmlab.studies.numbers import Numbers
from aqmlab.studies.papers.kua2017.claims.common import (
    FAR,
    FLOWS,
    FQ,
    IOT,
    IOT_HIGH_MBIT,
    IOT_LOW_MBIT,
    LOW,
    against,
    attains,
    home,
    induced,
    misses,
    places,
    rate_of,
    spread_of,
)

CLAIMS = Claims()


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
    return misses(n, LOW, "FIFO")


@CLAIMS("0-24", "IV-A.3, Fig. 2c", "At 1.5/0.5 under PIE IoT_high just misses its rate.", home(LOW),
        rule="just: it gets at least four fifths")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for words, at in places(LOW, queues=("PIE",)):
        own = rate_of(n, "iot_high", at)
        checks.append(below(f"IoT_high, {words}", own, IOT_HIGH_MBIT, "Mbit/s", slack=-0.01))
        checks.append(above(f"IoT_high, {words}", own, IOT_HIGH_MBIT, "Mbit/s", slack=0.2))
    return checks


@CLAIMS("0-25", "IV-A.3, Fig. 2c", "At 1.5/0.5 under FQ-CoDel and FQ-PIE IoT_high reaches its "
        "rate.", home(LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return attains(n, LOW, FQ)


@CLAIMS("0-26", "IV-A.3, Fig. 3c", "At 1.5/0.5 FIFO delays far more than PIE, and PIE more and "
        "less evenly than FQ-CoDel and FQ-PIE delay the IoT flows.", home(LOW),
        rule="far: twice at least")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks, medians, spreads = [], [], []
    for words, at in places(LOW, queues=("PIE",)):
        for flow in FLOWS:
            _, fifo = against(words, at, "FIFO")
            own, theirs = induced(n, flow, at), induced(n, flow, fifo)
            checks.append(more(f"{flow[0]}, FIFO over {words}", theirs, own, times=FAR))
        for queue in FQ:
            what, other = against(words, at, queue)
            for flow in IOT:
                own, theirs = induced(n, flow, at), induced(n, flow, other)
                medians.append(more(f"{flow[0]} median, {what}", own, theirs))
                own, theirs = spread_of(n, flow, at), spread_of(n, flow, other)
                spreads.append(more(f"{flow[0]} spread, {what}", own, theirs))
    return [*checks, *part("longer", medians), *part("less even", spreads)]
