"""Claims of sections III and V, which show a part of Appendices B, C and D."""

from __future__ import annotations

from aqmlab.studies.claims import (
    ABOUT,
    Check,
    Claims,
    Evidence,
    above,
    alike,
    always,
    below,
    more,
    part,
    spread,
    total,
)
from aqmlab.studies.numbers import At, BySeed, Numbers
from aqmlab.studies.papers.armitage2017.claims.common import (
    FRAME_BYTES,
    FULL,
    Flow,
    alike_under_all,
    delay,
    each,
    jain,
    mean,
    rates,
    ratio,
    together,
    words,
)
from aqmlab.studies.trials import Trials

CLAIMS = Claims()

DOWNS = ("12 Mbit/s", "25 Mbit/s")
UPS = tuple(f"{tenths / 10:g} Mbit/s" for tenths in range(5, 51, 5))
WHOLE_UPS = UPS[1::2]


def call(**where: str | tuple[str, ...]) -> Trials:
    """The trials of Appendix B under the conditions `where`, with `_` in place of each `.`.

    The upload has an RTT of 40 ms by default.
    """
    named = {name.replace("_", "."): value for name, value in where.items()}
    return Trials("call", {"upload.rtt": "40 ms", **named})


def place(down: str, up: str, queue: str = "FIFO 180", rtt: str = "40 ms") -> At:
    """The condition of Appendix B with two rates, a queue and an RTT of the upload."""
    return {"down.rate": down, "up.rate": up, "qdisc": queue, "upload.rtt": rtt}


def call_rtt(n: Numbers, at: At) -> BySeed:
    """The median round-trip time of the call, in ms."""
    return n.flow("call", "rtt_p50_ms", at, "up")


def mbit(rate: str) -> float:
    """The number in a rate such as "12 Mbit/s"."""
    return float(rate.removesuffix(" Mbit/s"))


DOUBLINGS = tuple((up, f"{2 * mbit(up):g} Mbit/s") for up in UPS[:5])


@CLAIMS("2-01", "III-C, Fig. 2", "Beside an upload through a FIFO of 180 packets a call's round "
        "trips take seconds at the lowest upstream rates, and ever less as the rate grows.",
        call(qdisc="FIFO 180"))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for down in DOWNS:
        for up, double in DOUBLINGS:
            own, other = (call_rtt(n, place(down, rate)) for rate in (up, double))
            checks.append(more(f"{down} down: {up} up over {double}", own, other))
        first, last = (call_rtt(n, place(down, up)) for up in (UPS[0], UPS[-1]))
        checks.append(above(f"{down} down, {UPS[0]} up", first, 1000, "ms"))
        checks.append(more(f"{down} down: {UPS[0]} up over {UPS[-1]}", first, last, times=5))
    return Evidence(checks, note="a distinct drop: at each doubling, and to a fifth over all")


@CLAIMS("2-02", "III-C, Fig. 2", "The downstream rate has little impact on that.",
        call(qdisc="FIFO 180"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    return [
        alike(f"{up} up: 25 over 12 Mbit/s down", call_rtt(n, place(DOWNS[1], up)),
              call_rtt(n, place(DOWNS[0], up)), within=0.25)
        for up in UPS
    ]  # fmt: skip


def full_use(n: Numbers, at: At) -> Check:
    """A check that the upload's median rate and the other flows' mean rate fill the uplink."""
    rest = [n.queue("up", "throughput_mbit", at), n.flow("upload", "throughput_mean_mbit", at)]
    upload = n.flow("upload", "throughput_p50_mbit", at)
    used = each(lambda median, link, mean: median + link - mean, upload, *rest)
    return above(f"uplink, {words(at)}", used, FULL * mbit(at["up.rate"]), "Mbit/s")


@CLAIMS("2-03", "III-C", "The upload uses the upstream rate fully, whatever it is.",
        call(qdisc="FIFO 180"))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    used = (full_use(n, place(down, up)) for down in DOWNS for up in UPS)
    return always("at each offered speed", used)


@CLAIMS("2-04", "V-C, Fig. 3", "FQ-CoDel can make the call's round trips shorter by orders of "
        "magnitude.", call(qdisc=("FIFO 180", "FQ-CoDel"), up_rate=WHOLE_UPS))  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for down in DOWNS:
        times = []
        for up in WHOLE_UPS:
            fifo, own = (call_rtt(n, place(down, up, queue)) for queue in ("FIFO 180", "FQ-CoDel"))
            checks.append(more(f"{down} down, {up} up: FIFO over FQ-CoDel", fifo, own, times=5))
            times.append(ratio(fifo, own))
        most = each(max, *times)
        checks.append(above(f"{down} down: the most that it is", most, 10, "×"))
    return Evidence(checks, note="can be: tenfold at some rate, and fivefold at every")


FIGURE_4 = ("40 ms", "80 ms", "120 ms")


@CLAIMS("2-05", "V-C, Fig. 4", "Through a FIFO of 180 packets an upload uses the upstream rate "
        "fully over 40, 80 and 120 ms.", call(qdisc="FIFO 180", down_rate=DOWNS[1],
        up_rate=WHOLE_UPS, upload_rtt=FIGURE_4))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    used = (full_use(n, place(DOWNS[1], up, rtt=rtt)) for up in WHOLE_UPS for rtt in FIGURE_4)
    return always("for each upstream speed and each RTT_base", used)


@CLAIMS("2-06", "V-C, Fig. 4", "Under FQ-CoDel an upload uses the upstream rate fully over 40 ms, "
        "and begins to drop off over 80 and 120 ms.", call(qdisc="FQ-CoDel",
        down_rate=DOWNS[1], up_rate=WHOLE_UPS, upload_rtt=FIGURE_4))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for up in WHOLE_UPS:
        places = [place(DOWNS[1], up, "FQ-CoDel", rtt) for rtt in FIGURE_4]
        checks.append(full_use(n, places[0]))
        near, middle, far = (n.flow("upload", "throughput_mean_mbit", at) for at in places)
        checks.append(more(f"{up} up: 40 over 80 ms", near, middle))
        checks.append(more(f"{up} up: 40 over 120 ms", near, far))
    return checks


# --- Figures 5 and 6: NewReno flows of Appendix C ----------------------------------------------

FIFOS = ("FIFO 20", "FIFO 180", "FIFO 320")
DEEP = FIFOS[1:]
AQMS = ("CoDel", "FQ-CoDel", "PIE")
QUEUES = (*FIFOS, *AQMS)
SINGLE = ("CoDel", "PIE")
ONE_QUEUE = (*FIFOS, *SINGLE)
NEAR, FAR = "40 ms", "240 ms"
SHOWN = {"tcp": "NewReno", "rtt": (NEAR, FAR)}
FOUR = Trials("downloads4", {**SHOWN, "rate": "12/1 Mbit/s"})
THREE_ONE = Trials("downloads3_upload1", {**SHOWN, "rate": "25/5 Mbit/s"})

DOWNLOADS: tuple[Flow, ...] = tuple((f"down{number}", "down") for number in range(1, 5))
UPLOAD: Flow = ("up", "up")
ALL_OF_6 = (*DOWNLOADS[:3], UPLOAD)


def four(queue: str, rtt: str) -> At:
    """The condition of Figure 5 with a queue and an RTT."""
    return {"rate": "12/1 Mbit/s", "tcp": "NewReno", "qdisc": queue, "rtt": rtt}


def three(queue: str, rtt: str) -> At:
    """The condition of Figure 6 with a queue and an RTT."""
    return {"rate": "25/5 Mbit/s", "tcp": "NewReno", "qdisc": queue, "rtt": rtt}


@CLAIMS("2-07", "V-D, Fig. 5a", "At 12/1 over 40 ms four downloads get roughly the same under "
        "every queue, and most evenly so under FQ-CoDel.", FOUR)  # fmt: skip
def _(n: Numbers) -> Evidence:
    fair = {queue: jain(n, DOWNLOADS, four(queue, NEAR)) for queue in QUEUES}
    checks = [above(f"Jain, {queue}", own, 0.9) for queue, own in fair.items()]
    for queue in ONE_QUEUE:
        checks.append(more(f"Jain: FQ-CoDel over {queue}", fair["FQ-CoDel"], fair[queue]))
    return Evidence(checks, note="roughly: Jain's index of 0.9")


@CLAIMS("2-08", "V-D, Fig. 5a", "Over 240 ms the AQMs lose some throughput.", FOUR)
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in AQMS:
        near, far = (together(n, DOWNLOADS, four(queue, rtt)) for rtt in (NEAR, FAR))
        checks.append(more(f"all four, {queue}: 40 over 240 ms", near, far))
    return checks


@CLAIMS("2-09", "V-D, Fig. 5b", "Four downloads at 12/1 wait far less under an AQM than in a FIFO "
        "of 180 or 320 packets, and so they do in one of 20.", FOUR)  # fmt: skip
def _(n: Numbers) -> Evidence:
    checks = []
    for rtt in (NEAR, FAR):
        for deep in DEEP:
            fifo = delay(n, DOWNLOADS, four(deep, rtt))
            for queue in (*AQMS, "FIFO 20"):
                own = delay(n, DOWNLOADS, four(queue, rtt))
                checks.append(more(f"RTT, {rtt}: {deep} over {queue}", fifo, own, times=1.25))
    return Evidence(checks, note="significantly: by a quarter of the whole round trip, which has "
                   "240 ms of path in it")  # fmt: skip


@CLAIMS("2-10", "V-D, Fig. 6a", "At 25/5 over 40 ms an upload beside three downloads gets much the "
        "same under every queue.", THREE_ONE)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    own = {queue: rates(n, [UPLOAD], three(queue, NEAR))[0] for queue in QUEUES}
    return alike_under_all("upload", own, within=0.2)


@CLAIMS("2-11", "V-D, Fig. 6a", "There only FQ-CoDel gives the downloads equal and steady shares.",
        THREE_ONE)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    fair = {queue: jain(n, DOWNLOADS[:3], three(queue, NEAR)) for queue in QUEUES}
    rough = {queue: unsteady(n, three(queue, NEAR)) for queue in QUEUES}
    checks = [above("Jain, FQ-CoDel", fair["FQ-CoDel"], 0.99)]
    for queue in ONE_QUEUE:
        checks.append(more(f"Jain: FQ-CoDel over {queue}", fair["FQ-CoDel"], fair[queue]))
        steadier = more(f"spread: {queue} over FQ-CoDel", rough[queue], rough["FQ-CoDel"])
        checks += part("steady", [steadier])
    return checks


def unsteady(n: Numbers, at: At) -> BySeed:
    """The interquartile range of a download's throughput in Mbit/s, as the mean over downloads."""
    return mean([
        spread(*(n.flow(name, f"throughput_p{part}_mbit", at, way) for part in (25, 75)))
        for name, way in DOWNLOADS[:3]
    ])  # fmt: skip


@CLAIMS(
    "2-12",
    "V-D, Fig. 6a",
    "There FIFOs of 180 and 320 packets share very unevenly, CoDel and PIE better.",
    THREE_ONE,
)
def _(n: Numbers) -> list[Check]:
    fair = {queue: jain(n, DOWNLOADS[:3], three(queue, NEAR)) for queue in QUEUES}
    return [
        more(f"Jain: {queue} over {fifo}", fair[queue], fair[fifo])
        for queue in SINGLE for fifo in DEEP
    ]  # fmt: skip


@CLAIMS("2-13", "V-D, Fig. 6a", "Over 240 ms every queue gives less both ways, and FQ-CoDel shares "
        "the downlink best.", THREE_ONE)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for queue in QUEUES:
        for what, flows in (("downloads", DOWNLOADS[:3]), ("upload", (UPLOAD,))):
            near, far = (together(n, flows, three(queue, rtt)) for rtt in (NEAR, FAR))
            checks.append(more(f"{what}, {queue}: 40 over 240 ms", near, far))
    fair = {queue: jain(n, DOWNLOADS[:3], three(queue, FAR)) for queue in QUEUES}
    for queue in ONE_QUEUE:
        best = more(f"Jain, 240 ms: FQ-CoDel over {queue}", fair["FQ-CoDel"], fair[queue])
        checks += part("shares best", [best])
    return checks


@CLAIMS("2-14", "V-D, Fig. 6b", "There round trips are longest in a FIFO of 180 or 320 packets, "
        "shorter under CoDel and PIE, and shortest under FQ-CoDel.", THREE_ONE)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for rtt in (NEAR, FAR):
        own = {queue: delay(n, ALL_OF_6, three(queue, rtt)) for queue in QUEUES}
        for queue in SINGLE:
            for fifo in DEEP:
                checks.append(more(f"RTT, {rtt}: {fifo} over {queue}", own[fifo], own[queue]))
            best = more(f"RTT, {rtt}: {queue} over FQ-CoDel", own[queue], own["FQ-CoDel"])
            checks += part("FQ-CoDel shortest", [best])
    return checks


@CLAIMS("2-15", "V-D, Fig. 6b", "CoDel and PIE keep round trips less short where there is an "
        "upload too.", FOUR, THREE_ONE)  # fmt: skip
def _(downloads: Numbers, both: Numbers) -> list[Check]:
    checks = []
    for queue in SINGLE:
        for rtt in (NEAR, FAR):
            own = delay(both, ALL_OF_6, three(queue, rtt), "induced")
            other = delay(downloads, DOWNLOADS, four(queue, rtt), "induced")
            checks.append(more(f"induced RTT, {queue} {rtt}: Fig. 6b over 5b", own, other))
    return checks


# --- Any FIFO, and FQ-CoDel -------------------------------------------------------------------

SLACK_PACKETS = 2
"""The packets that the buffer's limit does not count: one in HTB, and one on the wire."""


@CLAIMS("2-19", "III-B", "A FIFO adds at most its size over the link's rate.",
        call(qdisc=("FIFO 180", "FIFO 320")))  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    for packets in (180, 320):
        for at in (place(down, up, f"FIFO {packets}") for down in DOWNS for up in UPS):
            most_ms = (packets + SLACK_PACKETS) * FRAME_BYTES * 8e-3 / mbit(at["up.rate"])
            longest = n.queue("up", "sojourn_max_ms", at)
            checks.append(below(f"longest wait, {words(at)}", longest, most_ms, "ms"))
    return checks


@CLAIMS("2-19b", "III-C", "Twice the link's rate halves what a FIFO adds.", call(qdisc="FIFO 180"))
def _(n: Numbers) -> list[Check]:
    checks = []
    for down in DOWNS:
        for up, double in DOUBLINGS:
            slow, fast = (
                n.flow("call", "induced_p95_ms", place(down, rate), "up") for rate in (up, double)
            )
            twice = {seed: 2 * value for seed, value in fast.items()}
            checks.append(
                alike(f"{down} down: {up} over twice {double}", slow, twice, within=ABOUT)
            )
    return checks


IOT_2 = Trials("iot2", {"rate": "12/1 Mbit/s", "rtt": "40 ms"})
SPARSE = ("iot_low", "iot_high", "video_call")


@CLAIMS("2-20", "V-E", "CoDel and PIE make flows of low rate lose packets, while FQ-CoDel aims its "
        "drops at the TCP flow that congests.", IOT_2)  # fmt: skip
def _(n: Numbers) -> list[Check]:
    checks = []
    fair = {"rate": "12/1 Mbit/s", "rtt": "40 ms", "qdisc": "FQ-CoDel"}
    for queue in SINGLE:
        at = {**fair, "qdisc": queue}
        own, other = (_lost(n, one) for one in (at, fair))
        checks.append(more(f"packets of low rate lost: {queue} over FQ-CoDel", own, other))
        own, other = (_share_of_bulk(n, one) for one in (fair, at))
        aimed = more(f"the upload's share of all losses: FQ-CoDel over {queue}", own, other)
        checks += part("aims", [aimed])
    return checks


def _lost(n: Numbers, at: At) -> BySeed:
    return total(*(n.flow(flow, "lost", at, "up") for flow in SPARSE))


def _share_of_bulk(n: Numbers, at: At) -> BySeed:
    lost = [n.flow(flow, "lost", at, "up") for flow in ("bulk_upload", *SPARSE)]
    return each(lambda bulk, *others: bulk / (bulk + sum(others)), *lost)
