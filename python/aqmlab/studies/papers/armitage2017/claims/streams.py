"""Claims of Appendix D, scenario 3, which adds a stream."""

from __future__ import annotations

from aqmlab.studies.claims import Check, Claims, alike, more, not_less, part, total
from aqmlab.studies.numbers import BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims import home
from aqmlab.studies.papers.armitage2017.claims.common import Flow, ratio
from aqmlab.studies.papers.armitage2017.claims.home import (
    AQMS,
    CALL_DOWN,
    CALL_UP,
    DASH,
    HIGH,
    LOW,
    MIDDLE,
    QUEUES,
    RATES,
    SINGLE,
    UPLOAD,
    at,
    far,
    near,
    places,
    rate_of,
    trials,
)
from aqmlab.studies.papers.armitage2017.claims.iot import (
    heavy_losses,
    shorter,
    upload_best_under_fifo,
)

CLAIMS = Claims()
FAR_LESS = 2.0
"""Our reading of "much smaller": at most half."""


def lower_than_before(before: Numbers, after: Numbers, flow: Flow) -> list[Check]:
    """Checks that a flow gets less total throughput than in the previous scenario.

    At each rate, the sum over queues and round-trip times is compared.
    """
    return [
        more(f"{home.name(flow)}, {rate}: before over after", _sum(before, flow, rate),
             _sum(after, flow, rate))
        for rate in RATES
    ]  # fmt: skip


def _sum(n: Numbers, flow: Flow, rate: str) -> BySeed:
    return total(*(rate_of(n, flow, here) for here in places(rate)))


def improves(n: Numbers, scenario: int) -> list[Check]:
    """Checks that a faster line shortens round trips, and that elastic flows get no less."""
    checks: list[Check] = []
    for slow, fast in ((LOW, MIDDLE), (MIDDLE, HIGH)):
        checks += shorter(n, scenario, fast, slow)
        for flow, what, before, after in home.upgraded(home.elastic(scenario), slow, fast):
            own, other = (rate_of(n, flow, one) for one in (after, before))
            checks.append(not_less(f"rate of {what}: {fast} over {slow}", own, other, slack=0.02))
    return checks


# --- Scenario 3 --------------------------------------------------------------------------------


@CLAIMS("2-61", "D-E3", "A stream makes the upload get less, and IoT_high too at low upstream "
        "rates, except under FQ-CoDel.", trials(2), trials(3))  # fmt: skip
def _(before: Numbers, after: Numbers) -> list[Check]:
    checks = lower_than_before(before, after, UPLOAD)
    for rate in (LOW, MIDDLE):
        for queue in QUEUES:
            own, now = (
                n.flow("iot_high", "throughput_mean_mbit", at(rate, queue), "up")
                for n in (before, after)
            )
            text = f"iot_high, {rate} {queue} 40 ms"
            if queue == "FQ-CoDel":
                checks.append(alike(f"{text}: after over before", now, own, within=0.02))
            else:
                checks += part("IoT_high", [more(f"{text}: before over after", own, now)])
    return checks


@CLAIMS("2-61a", "D-E3", "With a stream round trips and rates improve with the line.",
        trials(3))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return improves(n, 3)


@CLAIMS("2-62", "D-E3a, Fig. 28", "At 1.5/0.5 under FIFO all five flows' round trips take more "
        "than 1 s.", trials(3, LOW), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.over(n, home.running(3), places(LOW, "FIFO"), 1000)


@CLAIMS("2-63", "D-E3a, Fig. 28", "At 1.5/0.5 under each AQM round trips take less than 250 ms "
        "over 40 ms, and less than 500 ms over 340 ms.",
        trials(3, LOW), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.aqm_under(n, 3, LOW, 250, 500)


@CLAIMS("2-64", "D-E3a, Fig. 28", "At 1.5/0.5 FQ-CoDel gives IoT the shortest and steadiest round "
        "trips, and it alone gives IoT_high its rate; IoT_low has its own always.",
        trials(3, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.iot_best(n, LOW), *home.iot_rates(n, LOW)]


@CLAIMS("2-65", "D-E3a, Fig. 29", "At 1.5/0.5 the call hardly loses anything downstream, nor "
        "upstream under FIFO; under each AQM it loses more than 10 % over 40 ms, 5 % over 340 ms.",
        trials(3, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    limit = home.NEGLIGIBLE_PERCENT
    return [
        *home.lost_under(n, CALL_DOWN, places(LOW), limit),
        *part("upstream", home.lost_under(n, CALL_UP, places(LOW, "FIFO"), limit)),
        *heavy_losses(n),
    ]


@CLAIMS("2-66", "D-E3a, Fig. 28", "At 1.5/0.5 over 40 ms the upload gets about the same under "
        "every queue.", trials(3, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.similar(n, UPLOAD, LOW, QUEUES, 0.25)


def starved_stream(n: Numbers, rate: str, times: float) -> list[Check]:
    """Checks that at 40 ms the stream's rate under each AQM exceeds `times` multiplied by its rate
    under FIFO."""
    return home.less(n, DASH, at(rate, "FIFO"), near(rate, *AQMS), times)


@CLAIMS("2-67", "D-E3a, Fig. 28", "At 1.5/0.5 over 40 ms the stream gets far less under FIFO than "
        "under each AQM.", trials(3, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return starved_stream(n, LOW, FAR_LESS)


@CLAIMS("2-68", "D-E3a, Fig. 28", "At 1.5/0.5 under each AQM the stream and the upload get less "
        "over 340 than over 40 ms, the stream the more so, which IoT and the call gain.",
        trials(3, LOW))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = [*home.falls(n, DASH, LOW, AQMS), *home.falls(n, UPLOAD, LOW, AQMS)]
    for queue in AQMS:
        stream, upload = (_fall(n, flow, queue) for flow in (DASH, UPLOAD))
        greater = more(f"fall of the stream over that of the upload, {queue}", stream, upload)
        checks += part("the stream the more so", [greater])
    return [*checks, *home.gain(n, LOW, AQMS)]


def _fall(n: Numbers, flow: Flow, queue: str) -> BySeed:
    return ratio(*(rate_of(n, flow, here) for here in places(LOW, queue)))


@CLAIMS("2-69", "D-E3b, Fig. 30", "At 12/1 under FIFO round trips take less than 700 ms over 40 "
        "ms, and less than 1 s over 340 ms.",
        trials(3, MIDDLE), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.fifo_under(n, 3, MIDDLE, 700, 1000)


@CLAIMS("2-70", "D-E3b, Fig. 30", "At 12/1 under each AQM round trips take less than 150 ms over "
        "40 ms, and less than 500 ms over 340 ms.", trials(3, MIDDLE), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.aqm_under(n, 3, MIDDLE, 150, 500)


@CLAIMS("2-71", "D-E3b, Fig. 30", "At 12/1 IoT_high has its rate under FQ-CoDel, and slightly less "
        "under the others over 40 ms; IoT_low has its own always; FQ-CoDel gives both the shortest "
        "and steadiest round trips.", trials(3, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.iot_high_slightly_less(n, MIDDLE), *home.iot_best(n, MIDDLE)]


@CLAIMS("2-72", "D-E3b, Fig. 31", "At 12/1 the call hardly loses anything downstream, nor upstream "
        "under FIFO; over 40 ms more than 4 % under PIE and CoDel and less than 2 % under "
        "FQ-CoDel, over 340 ms less than 2 % under each.", trials(3, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    limit = home.NEGLIGIBLE_PERCENT
    return [
        *home.lost_under(n, CALL_DOWN, places(MIDDLE), limit),
        *part("upstream", home.lost_under(n, CALL_UP, places(MIDDLE, "FIFO"), limit)),
        *home.lost_over(n, CALL_UP, near(MIDDLE, *SINGLE), 4),
        *home.lost_under(n, CALL_UP, near(MIDDLE, "FQ-CoDel"), 2),
        *home.lost_under(n, CALL_UP, far(MIDDLE, *AQMS), 2),
    ]


@CLAIMS("2-73", "D-E3b, Fig. 30", "At 12/1 over 40 ms the stream gets far less under FIFO than "
        "under each AQM; over 340 ms it gets less under every queue.",
        trials(3, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*starved_stream(n, MIDDLE, FAR_LESS), *home.falls(n, DASH, MIDDLE, QUEUES)]


@CLAIMS("2-73a", "D-E3b, Fig. 30", "At 12/1 beside a stream too the upload gets more under FIFO "
        "than under an AQM, the more so over 340 ms, and less over 340 than over 40 ms under each.",
        trials(3, MIDDLE))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*upload_best_under_fifo(n, MIDDLE), *home.falls(n, UPLOAD, MIDDLE, AQMS)]


@CLAIMS("2-74", "D-E3c, Fig. 32", "At 25/5 under FIFO round trips take less than 200 ms over 40 "
        "ms, and less than 500 ms over 340 ms.",
        trials(3, HIGH), given=("fifo", "typical", "windows"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return home.fifo_under(n, 3, HIGH, 200, 500)


@CLAIMS("2-75", "D-E3c, Fig. 32", "At 25/5 under each AQM round trips mostly take less than 100 ms "
        "over 40 ms, and less than 500 ms over 340 ms; FQ-CoDel gives IoT the shortest and "
        "steadiest.", trials(3, HIGH), given="typical")  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [*home.aqm_mostly_under(n, 3, HIGH, 100, 500), *home.iot_best(n, HIGH)]


@CLAIMS("2-76", "D-E3c, Fig. 32", "At 25/5 both IoT flows and the call have their rates; the "
        "stream gets about as much under FIFO as under the AQMs, and less over 340 ms.",
        trials(3, HIGH))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        *home.full_rates(n, HIGH),
        *home.similar(n, DASH, HIGH, QUEUES, 0.25),
        *home.falls(n, DASH, HIGH, QUEUES),
    ]
