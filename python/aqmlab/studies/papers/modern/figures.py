"""Figures of the home on five lines under nine gateways, and of senders of L4S and BBRv3."""

from collections.abc import Sequence

from aqmlab.studies.draw import (
    Bars,
    BoxPlots,
    Figure,
    Form,
    Rows,
    Stacked,
    flow_numbers,
    flow_quantiles,
)
from aqmlab.studies.papers.modern import rows
from aqmlab.studies.trials import Trials

_TITLES = {
    "adsl": "ADSL",
    "vdsl": "VDSL",
    "docsis": "cable",
    "ethernet": "Ethernet",
    "gpon": "fibre",
}
LINES = {
    line: f"{title} {rows.LINE_MBIT[line]['down']:g}/{rows.LINE_MBIT[line]['up']:g}"
    for line, title in _TITLES.items()
}
NAMES = {"scenario": "access line, Mbit/s", **LINES}
CAKES = ("CAKE", "CAKE, hosts", "CAKE, tins", "CAKE, tins, hosts")
CLASSIC = ("FIFO", "PIE", "FQ-CoDel")
_MOST = (*CLASSIC, *CAKES[:2], "DualPI2", "DualPI2, L4S")
"""All gateways except the two whose tins matter only to the call with a codepoint."""
_HOME = "a family of four in the evening; shapers at 95 % of the line's rate"
_GROUPS = ("scenario",)


def _home(gateways: Sequence[str]) -> list[Trials]:
    return [Trials(line, {"gateway": gateways}) for line in LINES]


def _figure(number: str, title: str, form: Form, gateways: Sequence[str] = _MOST) -> Figure:
    return Figure(number, title, _HOME, _home(gateways), form)


def _bars(numbers: Rows, axis: str, *, log: bool = False) -> Bars:
    return Bars(numbers, axis, _GROUPS, NAMES, log=log, height_inch=2.2)


def _boxes(app: str, axis: str) -> BoxPlots:
    delays = flow_quantiles("induced", "ms", {app: app}, rows.GATEWAY)
    return BoxPlots(delays, axis, _GROUPS, NAMES, height_inch=3.8)


FIGURES = (
    _figure(
        "1",
        "The video meeting: its sound's opinion score, its freezes, its frames' delay",
        Stacked([
            _bars(rows.worse("mother-meeting", "mos_{}", "min"), "opinion score"),
            _bars(rows.worse("mother-meeting", "frozen_{}_percent", "max"), "frozen (%)"),
            _bars(rows.worse("mother-meeting", "frame_delay_{}_p95_ms", "max"),
                  "frame delay, p95 (ms)", log=True),
        ]),
    ),
    _figure("2", "The game: delay that queues add to its round trips",
            _boxes("teenager-game ↑", "induced RTT (ms)")),
    _figure(
        "3",
        "Web pages: time until a page has loaded",
        BoxPlots(rows.sample_quantiles("child-web", "page_load_ms"), "page load time (ms)",
                 _GROUPS, NAMES, height_inch=3.8),
    ),
    _figure(
        "4",
        "The cost: goodput in per cent of the line's rate",
        Stacked([
            _bars(rows.line_share("down", rows.BULK), "bulk down (%)"),
            _bars(rows.line_share("up", rows.BULK), "bulk up (%)"),
            _bars(rows.line_share("down"), "all down (%)"),
        ]),
    ),
    _figure(
        "5",
        "Hosts: share of a device with one connection beside a device with twenty",
        Bars(rows.host_share("mother-update", "teenager-download"), "share (%)", _GROUPS, NAMES,
             bound=(50.0, "half")),
    ),
    _figure(
        "6a",
        "Codepoints: a call marked EF",
        _boxes("father-call ↓", "induced RTT (ms)"),
        (*CLASSIC, *CAKES),
    ),
    _figure(
        "6b",
        "Codepoints: the game without a codepoint, beside the call marked EF",
        _boxes("teenager-game ↓", "induced RTT (ms)"),
        (*CLASSIC, *CAKES),
    ),
    Figure(
        "7",
        "DualPI2's two queues on the downlink",
        f"{_HOME}; the pages, the film on the tablet and the game's download are L4S; an empty"
        " queue counts as 0.01 ms",
        _home(("DualPI2, L4S",)),
        BoxPlots(rows.gauge_quantiles("down", {"classic queue": "delay_c_ms",
                                               "L4S queue": "delay_l_ms"}, least=0.01),
                 "queueing delay (ms)", _GROUPS, NAMES),
    ),
    Figure(
        "8",
        "A scalable flow under DualPI2, and the same flow of CUBIC under classic AQMs",
        "RTT 25 ms; beside one long flow of CUBIC and web pages",
        Trials("l4s", {"load": "mixed", "rtt": "25 ms"}),
        BoxPlots(flow_quantiles("induced", "ms", {"scalable": "scalable"}, "queue"),
                 "induced RTT (ms)", ("down.rate",), {"down.rate": "rate of the line (Mbit/s)"}),
    ),
    Figure(
        "9",
        "One flow of BBRv3, CUBIC or Reno",
        "50 Mbit/s, RTT 40 ms",
        Trials("bbr"),
        Stacked([
            Bars(flow_numbers("goodput_mbit", {"flow": "flow"}, "sender"), "goodput (Mbit/s)",
                 ("line",), {"line": "path"}, height_inch=2.7),
            BoxPlots(flow_quantiles("induced", "ms", {"flow": "flow"}, "sender"),
                     "induced RTT (ms)", ("line",), {"line": "path"}, height_inch=2.7),
        ]),
    ),
)  # fmt: skip
