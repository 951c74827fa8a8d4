"""Figures 5 to 51 of the paper."""

from aqmlab.studies.draw import (
    BoxPlots,
    Figure,
    Form,
    Lines,
    OverTime,
    flow_quantiles,
    rate_over_time,
    rtt_over_time,
)
from aqmlab.studies.papers.boerlage2016.conditions import (
    CODEL,
    FIFO,
    FQ,
    HOUSEHOLDS,
    LOWEST_TIER,
    NARROW,
    NO_UPLOAD,
    OTHER_TIERS,
    PIE,
    RTTS,
    SHORT,
    UPLOADS,
    home,
    mbit,
    over_time,
)
from aqmlab.studies.trials import Trials, Wanted

_GAME = {"game": "game ↑"}
_RTT, _RATE = "RTT (ms)", "throughput (Mbit/s)"
_NAMES = {"rate": "rate down/up (Mbit/s)", "qdisc": "queue"}
_TOLERANCE = (200, "what a game tolerates")
"""The bound in the figures of the game's RTT, from Table I."""

_QUEUES = {
    FIFO: "FIFO of 500 packets",
    PIE: "PIE, 1000 packets",
    CODEL: "CoDel, 1000 packets",
    FQ: "FQ-CoDel, 1000 packets",
}
_LAST = f"RTT_base {SHORT}"


# --- One generator at a time (V-A) -------------------------------------------------------------


def _alone(number: int, traffic: str, title: str, apps: dict[str, str]) -> tuple[Figure, Figure]:
    """Two figures of one generator: its round-trip times and its throughput over time."""
    condition = f"12/1 Mbit/s; {_LAST}, {_QUEUES[FIFO]}"
    trials = Trials("alone", {"traffic": traffic})
    forms = (OverTime(rtt_over_time(apps), _RTT, marks="points"),
             OverTime(rate_over_time(apps), _RATE))  # fmt: skip
    what = ("RTT over time", "Throughput over time")
    first, second = (
        Figure(str(number + place), f"{what[place]}, {title}", condition, trials, form)
        for place, form in enumerate(forms)
    )
    return first, second


def _both_ways(shown: str, name: str) -> dict[str, str]:
    return {f"{shown}, down": f"{name} ↓", f"{shown}, up": f"{name} ↑"}


# --- A whole household over time (V-B to V-D) --------------------------------------------------

_APPS = {
    "HD movie": "movie",
    "app updates": "updates",
    "cloud upload": "cloud",
    "web": "web",
    "e-mail": "email",
    "Netflix": "netflix",
}


def _time(number: str, demographic: str, qdisc: str, *, rates: bool = False) -> Figure:
    absent = "cloud upload" if demographic == NO_UPLOAD else ""
    apps = {shown: name for shown, name in _APPS.items() if shown != absent}
    form = OverTime(rate_over_time(apps | {"game": "game ↓"}), _RATE)
    if not rates:
        form = OverTime(rtt_over_time(apps | _GAME), _RTT, marks="points")
    what = "Throughput" if rates else "RTT"
    condition = f"12/1 Mbit/s, {qdisc}; {_LAST}, {_QUEUES[qdisc]}"
    title = f"{what} over time of demographic {demographic}"
    return Figure(number, title, condition, over_time(demographic, qdisc), form)


# --- Boxes of the game's round-trip times ------------------------------------------------------


def _boxes(by: str = "", groups: tuple[str, ...] = ("rate",), *, bound: bool = True) -> Form:
    rows = flow_quantiles("rtt", "ms", _GAME, by)
    return BoxPlots(rows, _RTT, groups, _NAMES, log=False, bound=_TOLERANCE if bound else None)


def _game(number: str, what: str, needs: Trials, *, demographic: str, queue: str = FIFO) -> Figure:
    title = f"RTT of the game, demographic {demographic}"
    condition = f"{queue}, {what}; {_LAST}, {_QUEUES[queue]}"
    return Figure(number, title, condition, needs, _boxes(bound=queue == FIFO))


def _sweep(number: str, qdisc: str) -> Figure:
    """A sweep over rates with one discipline, as in Appendix A."""
    needs = Trials("sweep", {"qdisc": qdisc, "rate": UPLOADS})
    if qdisc == FQ:
        needs = home("1", FQ, rate=UPLOADS)
    return _game(number, "25 Mbit/s down, more and more up", needs, demographic="1", queue=qdisc)


def _compared(number: str, rates: Wanted, form: Form, where: str) -> Figure:
    """A comparison of FIFO, FQ-CoDel, PIE and CoDel."""
    needs = (home("1", (FIFO, FQ), rate=rates), Trials("sweep", {"rate": rates}))
    title = "RTT of the game, demographic 1, by queue"
    return Figure(
        number, title, f"{where}; {_LAST}, 500 packets under FIFO, else 1000", needs, form
    )


def _beside(number: str, rates: Wanted, where: str) -> Figure:
    """A comparison of FIFO and FQ-CoDel."""
    title = "RTT of the game, demographic 1, by queue"
    condition = f"{where}; {_LAST}, {_QUEUES[FIFO]}, {_QUEUES[FQ]}"
    return Figure(number, title, condition, home("1", (FIFO, FQ), rate=rates), _boxes("qdisc"))


def _medians(number: str, qdisc: str) -> Figure:
    rows = flow_quantiles("rtt", "ms", _GAME, by="demographic")
    named = {one: f"demographic {one}" for one in HOUSEHOLDS}
    bound = _TOLERANCE if qdisc == FIFO else (26.0, "26 ms")
    form = Lines(rows, _RTT, "rate", _NAMES | named, log=False, bound=bound)
    condition = f"{qdisc}, all rates; {_LAST}, {_QUEUES[qdisc]}"
    title = "Medians of the game's RTT, demographics 1 to 6"
    return Figure(number, title, condition, home(HOUSEHOLDS, qdisc), form)


def _movie(number: str, demographic: str, qdisc: str) -> Figure:
    form = OverTime(rate_over_time({"HD movie": "movie"}, by="rtt"), _RATE,
                    names={rtt: f"RTT_base {rtt}" for rtt in RTTS})  # fmt: skip
    condition = f"12/1 Mbit/s, {qdisc}; {_QUEUES[qdisc]}"
    title = f"Throughput of the movie, demographic {demographic}"
    return Figure(number, title, condition, over_time(demographic, qdisc, RTTS), form)


_ALL = "all rates"
_MORE_DOWN, _MORE_UP = "1 Mbit/s up, more and more down", "25 Mbit/s down, more and more up"
_FAST = mbit("65/1", "65/4", "70/1", "70/4", "75/1", "75/4")

_EVERYWHERE = tuple(
    _game(str(number), _ALL, home(one, queue), demographic=one, queue=queue)
    for number, (one, queue) in enumerate(
        ((one, queue) for one in HOUSEHOLDS for queue in (FIFO, FQ)), start=40
    )
)
_NOT_IN_THE_PAPER = tuple(
    _game(f"{number}-0.5", f"{_ALL} (not in the paper)", home(NO_UPLOAD, queue),
          demographic=NO_UPLOAD, queue=queue)
    for number, queue in ((40, FIFO), (41, FQ))
)  # fmt: skip

FIGURES = (
    *_alone(5, "download", "a single download", {"download": "movie"}),
    *_alone(7, "upload", "a single upload", {"upload": "cloud"}),
    *_alone(9, "DASH", "a single DASH stream", {"DASH": "netflix"}),
    *_alone(11, "game", "a single game", _both_ways("game", "game")),
    *_alone(13, "VoIP", "a single VoIP call", _both_ways("VoIP", "voip")),
    _time("15", NO_UPLOAD, FIFO),
    _time("16", NO_UPLOAD, FIFO, rates=True),
    _game("17", _MORE_DOWN, home(NO_UPLOAD, rate=NARROW), demographic=NO_UPLOAD),
    _game("18", "65/1 to 75/4 Mbit/s", home(NO_UPLOAD, rate=_FAST), demographic=NO_UPLOAD),
    _time("19", "1", FIFO),
    _time("20", "1", FIFO, rates=True),
    _game("21", _MORE_DOWN, home("1", rate=NARROW), demographic="1"),
    _game("22", f"45 to 60 s, {_MORE_DOWN}", Trials("late"), demographic="1"),
    _game("23", _MORE_UP, home("1", rate=UPLOADS), demographic="1"),
    _time("24", "1", PIE),
    _time("25", "1", CODEL),
    _time("26", "1", FQ),
    _compared("27", LOWEST_TIER, _boxes(groups=("qdisc",)), "12/1 Mbit/s"),
    _compared("28", OTHER_TIERS, _boxes("qdisc"), "25/5 to 100/40 Mbit/s"),
    _beside("29", NARROW, _MORE_DOWN),
    _beside("30", UPLOADS, _MORE_UP),
    _medians("31", FIFO),
    _medians("32", FQ),
    _movie("33", NO_UPLOAD, FIFO),
    _movie("34", NO_UPLOAD, FQ),
    _movie("35", "1", FIFO),
    _movie("36", "1", FQ),
    _sweep("37", PIE),
    _sweep("38", CODEL),
    _sweep("39", FQ),
    *_EVERYWHERE,
    *_NOT_IN_THE_PAPER,
)
