"""Claims of Appendix D, scenarios 1 and 2, and of V-E, which shows a part of scenario 2."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, Evidence, above, always, below, more, part, total
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims import home
from aqmlab.studies.papers.armitage2017.claims.common import FRAME_BYTES, each, ratio
from aqmlab.studies.papers.armitage2017.claims.home import (
    AQMS,
    CALL_DOWN,
    CALL_UP,
    FAR,
    HIGH,
    IOT,
    LIGHT,
    LOW,
    MIDDLE,
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

CLAIMS = Claims()


# --- Section V-E, Figure 7 ---------------------------------------------------------------------


@CLAIMS("2-16", "V-E, Fig. 7a", "At 12/1 over 40 ms both IoT flows and the call have basically "
        "their rates under every queue, and the upload takes the rest.",
        trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for queue in QUEUES:
        here = at(MIDDLE, queue)
        for flow in LIGHT:
            target = home.TARGET_MBIT[flow[0]]
            own = rate_of(n, flow, here)
            checks.append(above(f"{home.name(flow)}, {queue}", own, target, "Mbit/s", slack=0.1))
        checks.append(above(f"uplink, {queue}", _filled(n, here), 0.95, "Mbit/s"))
    return Evidence(checks, note="basically: nine tenths; Appendix D says slightly less")


def _filled(n: Numbers, here: At) -> BySeed:
    """The load of the uplink in Mbit/s, with each packet counted as a frame, as HTB counts it.

    The load of the upload is its median throughput.
    """
    parts = [n.flow("bulk_upload", "throughput_p50_mbit", here)]
    parts += [rate_of(n, flow, here) for flow in (*IOT, CALL_UP)]
    sizes = (1500, 152, 152, 728)
    return each(
        lambda *rates: sum(
            rate * (size + FRAME_BYTES - 1500) / size
            for rate, size in zip(rates, sizes, strict=True)
        ),
        *parts,
    )


@CLAIMS("2-17", "V-E, Fig. 7a", "At 12/1 over 340 ms the upload gets moderately less under an AQM "
        "than under FIFO.", trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for queue in AQMS:
        fifo, own = (rate_of(n, UPLOAD, at(MIDDLE, one, FAR)) for one in ("FIFO", queue))
        checks.append(more(f"upload, FIFO over {queue}", fifo, own))
        checks.append(more(f"upload, {queue} over half of FIFO's", own, fifo, times=0.5))
    return Evidence(checks, note="moderately: not by more than half")


@CLAIMS("2-18", "V-E, Fig. 7b", "At 12/1 each AQM keeps the round trips of IoT far shorter than "
        "FIFO does, FQ-CoDel the shortest.", trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in RTTS:
        for flow in IOT:
            own = {queue: home.typical(n, flow, at(MIDDLE, queue, rtt)) for queue in QUEUES}
            for queue in AQMS:
                checks.append(
                    more(f"{flow[0]}, {rtt}: FIFO over {queue}", own["FIFO"], own[queue], times=2)
                )
            for queue in SINGLE:
                best = more(f"{flow[0]}, {rtt}: {queue} over FQ-CoDel", own[queue], own["FQ-CoDel"])
                checks += part("FQ-CoDel best", [best])
    return checks


# --- Scenario 1 --------------------------------------------------------------------------------


@CLAIMS("2-44", "D-E1", "Alone with a call the IoT flows reach their rates under every queue and "
        "at every rate, and so does the call, with no queueing to speak of.",
        trials(1))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for rate in RATES:
        for queue in QUEUES:
            for rtt in RTTS:
                here = at(rate, queue, rtt)
                checks += [home.reaches(n, flow, here) for flow in LIGHT]
                for link in ("up", "down"):
                    wait = n.queue(link, "sojourn_p50_ms", here)
                    checks.append(below(f"wait {link}, {rate} {queue} {rtt}", wait, 10, "ms"))
                sums = total(*(home.rate_of(n, flow, here) for flow in (*home.IOT, home.CALL_UP)))
                checks.append(below(f"sum of the rates, {rate} {queue} {rtt}", sums, 0.5, "Mbit/s"))
    checks = always("for all R_down/up", checks)
    return Evidence(checks, note="no queueing to speak of: a median wait of at most 10 ms")


# --- Scenario 2 at 1.5/0.5 ---------------------------------------------------------------------


@CLAIMS("2-45", "D-E2a, Fig. 22", "At 1.5/0.5 under FIFO over 40 ms all four flows' round trips "
        "take more than 600 ms.", trials(2, LOW), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.over(n, home.running(2), near(LOW, "FIFO"), 600)


@CLAIMS("2-46", "D-E2a, Fig. 22", "There over 340 ms those of the flows that are no IoT take more "
        "than 1 s.", trials(2, LOW), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.over(n, home.others(2), far(LOW, "FIFO"), 1000)


@CLAIMS("2-47", "D-E2a, Fig. 22", "At 1.5/0.5 under each AQM round trips take less than 250 ms "
        "over 40 ms, and less than 500 ms over 340 ms.",
        trials(2, LOW), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.aqm_under(n, 2, LOW, 250, 500)


@CLAIMS("2-48", "D-E2a, Fig. 22", "At 1.5/0.5 FQ-CoDel gives IoT the shortest and steadiest round "
        "trips, and it alone gives IoT_high its rate; IoT_low has its own always.",
        trials(2, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.iot_best(n, LOW), *home.iot_rates(n, LOW)]


@CLAIMS("2-49", "D-E2a, Fig. 23", "At 1.5/0.5 the call loses nothing downstream; upstream less "
        "than 2 % under FIFO, and under each AQM more than 10 % over 40 ms, 5 % over 340 ms.",
        trials(2, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        *home.lost_under(n, CALL_DOWN, places(LOW), home.NONE_PERCENT),
        *home.lost_under(n, CALL_UP, places(LOW, "FIFO"), 2),
        *heavy_losses(n),
    ]


def heavy_losses(n: Numbers) -> list[Check]:
    """Checks that at 1.5/0.5 Mbit/s under each AQM the call loses over 10 or 5 % upstream.

    The bound is 10 % at an RTT of 40 ms, and 5 % at 340 ms.
    """
    checks = []
    for queue in AQMS:
        checks += home.lost_over(n, CALL_UP, near(LOW, queue), 10.0)
        checks += home.lost_over(n, CALL_UP, far(LOW, queue), 5.0)
    return checks


@CLAIMS("2-50", "D-E2a, Fig. 22", "At 1.5/0.5 over 40 ms the upload gets about the same under "
        "FIFO, CoDel and PIE, and less under FQ-CoDel.", trials(2, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        *home.similar(n, UPLOAD, LOW, ONE_QUEUE, 0.25),
        *home.less(n, UPLOAD, at(LOW, "FQ-CoDel"), near(LOW, *ONE_QUEUE)),
    ]


@CLAIMS("2-51", "D-E2a, Fig. 22", "At 1.5/0.5 under each AQM the upload gets less over 340 than "
        "over 40 ms, which the other flows gain.", trials(2, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.falls(n, UPLOAD, LOW, AQMS), *home.gain(n, LOW, AQMS)]


# --- Scenario 2 at 12/1 ------------------------------------------------------------------------


def shorter(n: Numbers, scenario: int, fast: str, slow: str) -> list[Check]:
    """Checks that all flows' round trips are shorter at the rate `fast` than at `slow`."""
    return always("all flows", (
        more(f"RTT of {what}: {slow} over {fast}",
             *(home.typical(n, flow, one) for one in (before, after)))
        for flow, what, before, after in home.upgraded(home.running(scenario), slow, fast)
    ))  # fmt: skip


@CLAIMS("2-52", "D-E2b, Fig. 24", "At 12/1 under FIFO round trips take less than 700 ms over 40 "
        "ms, and less than 1 s over 340 ms.",
        trials(2, MIDDLE), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.fifo_under(n, 2, MIDDLE, 700, 1000)


@CLAIMS("2-52a", "D-E2b", "Over all flows round trips are shorter at 12/1 than at 1.5/0.5.",
        trials(2, LOW, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return shorter(n, 2, MIDDLE, LOW)


@CLAIMS("2-53", "D-E2b, Fig. 24", "At 12/1 under each AQM round trips mostly take less than 150 ms "
        "over 40 ms, and less than 400 ms over 340 ms.",
        trials(2, MIDDLE), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.aqm_mostly_under(n, 2, MIDDLE, 150, 400)


@CLAIMS("2-54", "D-E2b, Fig. 24", "At 12/1 IoT_high has its rate under FQ-CoDel, and slightly less "
        "under the others over 40 ms; IoT_low has its own always; FQ-CoDel gives both the shortest "
        "and steadiest round trips.", trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.iot_high_slightly_less(n, MIDDLE), *home.iot_best(n, MIDDLE)]


@CLAIMS("2-55", "D-E2b, Fig. 25", "At 12/1 the call loses nothing downstream; upstream less than 1 "
        "% under FIFO, over 40 ms more than 5 % under PIE and CoDel; least of the AQMs under "
        "FQ-CoDel, less than 3 % over 40 ms and less than 1 % over 340 ms.",
        trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in RTTS:
        everywhere = [at(MIDDLE, queue, rtt) for queue in QUEUES]
        checks += home.lost_under(n, CALL_DOWN, everywhere, home.NONE_PERCENT)
        checks += home.lost_under(n, CALL_UP, [at(MIDDLE, "FIFO", rtt)], 1)
        for queue in SINGLE:
            own, best = (home.loss(n, CALL_UP, at(MIDDLE, one, rtt)) for one in (queue, "FQ-CoDel"))
            checks.append(more(f"loss of the call, {rtt}: {queue} over FQ-CoDel", own, best))
    return [
        *checks,
        *home.lost_over(n, CALL_UP, near(MIDDLE, *SINGLE), 5),
        *home.lost_under(n, CALL_UP, near(MIDDLE, "FQ-CoDel"), 3),
        *home.lost_under(n, CALL_UP, far(MIDDLE, "FQ-CoDel"), 1),
    ]


def upload_best_under_fifo(n: Numbers, rate: str) -> list[Check]:
    """Checks that the upload gets more throughput under FIFO than under any AQM.

    Also checks that the ratio of the two throughputs is greater at an RTT of 340 ms than at 40 ms.
    """
    checks = []
    for queue in AQMS:
        ratios = []
        for rtt in RTTS:
            fifo, own = (rate_of(n, UPLOAD, at(rate, one, rtt)) for one in ("FIFO", queue))
            checks.append(more(f"upload, {rtt}: FIFO over {queue}", fifo, own))
            ratios.append(ratio(fifo, own))
        over_40, over_340 = ratios
        grows = more(f"that ratio, {queue}: 340 over 40 ms", over_340, over_40)
        checks += part("the more so", [grows])
    return checks


@CLAIMS("2-56", "D-E2b, Fig. 24", "At 12/1 the upload gets more under FIFO than under an AQM, the "
        "more so over 340 ms, and less over 340 than over 40 ms under each AQM.",
        trials(2, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*upload_best_under_fifo(n, MIDDLE), *home.falls(n, UPLOAD, MIDDLE, AQMS)]


# --- Scenario 2 at 25/5 ------------------------------------------------------------------------


@CLAIMS("2-57", "D-E2c, Fig. 26", "At 25/5 under FIFO round trips take less than 300 ms over 40 "
        "ms, and less than 600 ms over 340 ms.",
        trials(2, HIGH), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.fifo_under(n, 2, HIGH, 300, 600)


@CLAIMS("2-57a", "D-E2c", "Over all flows round trips are shorter at 25/5 than at 12/1.",
        trials(2, MIDDLE, HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return shorter(n, 2, HIGH, MIDDLE)


@CLAIMS("2-58", "D-E2c, Fig. 26", "At 25/5 under each AQM round trips take less than 100 ms over "
        "40 ms, and less than 400 ms over 340 ms; FQ-CoDel gives IoT the shortest and steadiest.",
        trials(2, HIGH), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.aqm_under(n, 2, HIGH, 100, 400), *home.iot_best(n, HIGH)]


@CLAIMS("2-59", "D-E2c, Figs. 26 and 27", "At 25/5 both IoT flows and the call have their rates "
        "under every queue, and the call hardly loses anything.", trials(2, HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.full_rates(n, HIGH)


@CLAIMS("2-60", "D-E2c, Fig. 26", "At 25/5 the upload gets more under FIFO than under an AQM, the "
        "more so over 340 ms, and of the AQMs most under PIE.", trials(2, HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = upload_best_under_fifo(n, HIGH)
    for rtt in RTTS:
        for queue in ("CoDel", "FQ-CoDel"):
            best = home.exceeds(n, UPLOAD, at(HIGH, "PIE", rtt), at(HIGH, queue, rtt))
            checks += part("PIE best", [best])
    return checks
