"""Claims of Appendix D about scenario 4, which adds a download, and the appendix's conclusions."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, Evidence, always, below, more, part
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims import home
from aqmlab.studies.papers.armitage2017.claims.common import words
from aqmlab.studies.papers.armitage2017.claims.home import (
    AQMS,
    CALL_DOWN,
    CALL_UP,
    DASH,
    DOWNLOAD,
    HIGH,
    IOT,
    IOT_HIGH,
    LOW,
    MIDDLE,
    NEAR,
    ONE_QUEUE,
    QUEUES,
    RATES,
    RTTS,
    SINGLE,
    UPLOAD,
    at,
    far,
    near,
    places,
    rate_of,
    trials,
)
from aqmlab.studies.papers.armitage2017.claims.iot import heavy_losses
from aqmlab.studies.papers.armitage2017.claims.streams import (
    improves,
    lower_than_before,
    starved_stream,
)

CLAIMS = Claims()


# --- Scenario 4 --------------------------------------------------------------------------------


@CLAIMS(
    "2-77", "D-E4", "A download makes the upload and the stream get less.", trials(3), trials(4)
)
def _(before: Numbers, after: Numbers) -> list[Check]:
    return [check for flow in (UPLOAD, DASH) for check in lower_than_before(before, after, flow)]


@CLAIMS("2-77a", "D-E4", "With a download too round trips and rates improve with the line.",
        trials(4))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return improves(n, 4)


@CLAIMS("2-78", "D-E4a, Fig. 34", "At 1.5/0.5 under FIFO all six flows' round trips take more than "
        "1 s.", trials(4, LOW), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.over(n, home.running(4), places(LOW, "FIFO"), 1000)


@CLAIMS("2-79", "D-E4a, Fig. 34", "At 1.5/0.5 under each AQM round trips mostly take less than 250 "
        "ms over 40 ms, and less than 500 ms over 340 ms.",
        trials(4, LOW), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.aqm_mostly_under(n, 4, LOW, 250, 500)


@CLAIMS("2-80", "D-E4a, Fig. 34", "At 1.5/0.5 FQ-CoDel gives IoT the shortest and steadiest round "
        "trips, and it alone gives IoT_high its rate; IoT_low has its own always.",
        trials(4, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.iot_best(n, LOW), *home.iot_rates(n, LOW)]


@CLAIMS("2-81", "D-E4a, Fig. 35", "At 1.5/0.5 the call loses under FIFO less than 2 % upstream and "
        "hardly anything downstream; under each AQM upstream more than 10 % over 40 ms, 5 % over "
        "340 ms, downstream less than 2 % and hardly anything.", trials(4, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    limit = home.NEGLIGIBLE_PERCENT
    return [
        *home.lost_under(n, CALL_UP, places(LOW, "FIFO"), 2),
        *home.lost_under(n, CALL_DOWN, places(LOW, "FIFO"), limit),
        *home.lost_under(n, CALL_DOWN, near(LOW, *AQMS), 2),
        *home.lost_under(n, CALL_DOWN, far(LOW, *AQMS), limit),
        *heavy_losses(n),
    ]


def download_over_stream(n: Numbers, rate: str, times: float, rtts: tuple[str, ...]) -> list[Check]:
    """Checks that the download gets more than `times` the throughput of the stream."""
    return [
        more(f"download over stream, {queue} {rtt}",
             *(rate_of(n, flow, at(rate, queue, rtt)) for flow in (DOWNLOAD, DASH)), times=times)
        for queue in QUEUES for rtt in rtts
    ]  # fmt: skip


SIGNIFICANTLY, NOTICEABLY = 1.5, 1.1


@CLAIMS("2-82", "D-E4a, Fig. 34", "At 1.5/0.5 the download gets significantly more than the "
        "stream, and under each AQM less over 340 than over 40 ms.", trials(4, LOW))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = download_over_stream(n, LOW, SIGNIFICANTLY, RTTS)
    return Evidence([*checks, *home.falls(n, DOWNLOAD, LOW, AQMS)], note="significantly: by half")


@CLAIMS("2-83", "D-E4b, Fig. 36", "At 12/1 under FIFO all six flows' round trips take less than "
        "600 ms.", trials(4, MIDDLE), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.under(n, home.running(4), places(MIDDLE, "FIFO"), 600)


@CLAIMS("2-84", "D-E4b, Fig. 36", "At 12/1 under each AQM round trips take less than 150 ms over "
        "40 ms, and less than 400 ms over 340 ms; FQ-CoDel gives IoT the shortest and steadiest.",
        trials(4, MIDDLE), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.aqm_under(n, 4, MIDDLE, 150, 400), *home.iot_best(n, MIDDLE)]


@CLAIMS("2-84a", "D-E4b, Fig. 36", "At 12/1 IoT_high has its rate under FQ-CoDel, and slightly "
        "less under the others over 40 ms; IoT_low has its own always.",
        trials(4, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.iot_high_slightly_less(n, MIDDLE)


@CLAIMS("2-85", "D-E4b, Fig. 37", "At 12/1 the call hardly loses anything downstream; upstream "
        "less than 2 % over 40 ms and 1 % over 340 ms under FIFO and FQ-CoDel, more than 3 % over "
        "40 ms and less than 2 % over 340 ms under PIE and CoDel.", trials(4, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    limit = home.NEGLIGIBLE_PERCENT
    checks = home.lost_under(n, CALL_DOWN, places(MIDDLE), limit)
    for queue in ("FIFO", "FQ-CoDel"):
        checks += home.lost_under(n, CALL_UP, near(MIDDLE, queue), 2)
        checks += part("upstream", home.lost_under(n, CALL_UP, far(MIDDLE, queue), 1))
    for queue in SINGLE:
        checks += home.lost_over(n, CALL_UP, near(MIDDLE, queue), 3)
        checks += home.lost_under(n, CALL_UP, far(MIDDLE, queue), 2)
    return checks


@CLAIMS("2-86", "D-E4b, Fig. 36", "At 12/1 the upload gets slightly more under FIFO than under "
        "each AQM, and over 40 ms least under FQ-CoDel.", trials(4, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = [
        home.exceeds(n, UPLOAD, at(MIDDLE, "FIFO", rtt), at(MIDDLE, queue, rtt))
        for queue in AQMS for rtt in RTTS
    ]  # fmt: skip
    return [*checks, *home.less(n, UPLOAD, at(MIDDLE, "FQ-CoDel"), near(MIDDLE, *SINGLE))]


@CLAIMS("2-87", "D-E4b, Fig. 36", "At 12/1 over 40 ms the stream gets less under FIFO than under "
        "each AQM, over 340 ms less under every queue; the download gets much more than it.",
        trials(4, MIDDLE))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = [
        *starved_stream(n, MIDDLE, 1.0),
        *home.falls(n, DASH, MIDDLE, QUEUES),
        *download_over_stream(n, MIDDLE, SIGNIFICANTLY, RTTS),
    ]
    return Evidence(checks, note="significantly: by half")


@CLAIMS("2-88", "D-E4c, Fig. 38", "At 25/5 under FIFO round trips take less than 150 ms over 40 "
        "ms, and less than 450 ms over 340 ms.",
        trials(4, HIGH), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.fifo_under(n, 4, HIGH, 150, 450)


@CLAIMS("2-89", "D-E4c, Fig. 38", "At 25/5 under each AQM round trips take less than 100 ms over "
        "40 ms, and less than 400 ms over 340 ms; FQ-CoDel gives IoT the shortest and steadiest.",
        trials(4, HIGH), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.aqm_under(n, 4, HIGH, 100, 400), *home.iot_best(n, HIGH)]


@CLAIMS("2-89a", "D-E4c, Figs. 38 and 39", "At 25/5 beside a stream and a download too both IoT "
        "flows and the call have their rates under every queue, and the call loses hardly any.",
        trials(4, HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.full_rates(n, HIGH)


@CLAIMS("2-90", "D-E4c, Fig. 38", "At 25/5 over 40 ms the download gets noticeably more than the "
        "stream, and far less over 340 ms.", trials(4, HIGH))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = download_over_stream(n, HIGH, NOTICEABLY, (NEAR,))
    checks += home.falls(n, DOWNLOAD, HIGH, QUEUES, SIGNIFICANTLY)
    return Evidence(checks, note="noticeably: by a tenth; far less: by a third")


# --- Conclusions ------------------------------------------------------------------------------

SHORT_MS = 150.0
"""Our reading of "consistently small" for round trips over a path of 40 ms."""


@CLAIMS("2-91", "D-F", "FQ-CoDel gives the IoT flows their rates and short round trips in every "
        "case, and no other queue does.", trials(2), trials(3), trials(4))  # fmt: skip
def _(*scenarios: Numbers) -> Evidence:
    checks = []
    for n in scenarios:
        for rate in RATES:
            for here in places(rate, "FQ-CoDel"):
                checks += [home.reaches(n, flow, here) for flow in IOT]
                for flow in IOT:
                    own = n.flow(flow[0], "rtt_p95_ms", here, flow[1])
                    checks.append(
                        below(f"RTT p95 of {flow[0]}, {words(here)}", own, SHORT_MS, "ms")
                    )
    checks = always("in all the tested cases", checks)
    for queue in ONE_QUEUE:
        worst = _worst(scenarios, queue)
        text = f"least share of its rate that IoT_high gets anywhere, {queue}"
        checks.append(below(text, worst, home.NOTICEABLY))
    return Evidence(checks, note="short: 95 % within 150 ms")


def _worst(scenarios: tuple[Numbers, ...], queue: str) -> BySeed:
    found = [
        rate_of(n, IOT_HIGH, here)
        for n in scenarios for rate in RATES for here in places(rate, queue)
    ]  # fmt: skip
    target = home.TARGET_MBIT["iot_high"]
    return {seed: min(one[seed] for one in found) / target for seed in found[0]}


@CLAIMS("2-92", "D-F", "At low rates each AQM makes the call lose more upstream than FIFO does, at "
        "12/1 FQ-CoDel the least.", trials(2), trials(3), trials(4))  # fmt: skip
def _(*scenarios: Numbers) -> list[Check]:
    checks = []
    for number, n in enumerate(scenarios, 2):
        for rate in (LOW, MIDDLE):
            fifo = home.loss(n, CALL_UP, at(rate, "FIFO"))
            for queue in AQMS:
                own = home.loss(n, CALL_UP, at(rate, queue))
                checks.append(more(f"scenario {number}, {rate}: {queue} over FIFO", own, fifo))
        best = home.loss(n, CALL_UP, at(MIDDLE, "FQ-CoDel"))
        for queue in SINGLE:
            own = home.loss(n, CALL_UP, at(MIDDLE, queue))
            least = more(f"scenario {number}, 12/1: {queue} over FQ-CoDel", own, best)
            checks += part("FQ-CoDel least", [least])
    return checks
