"""Figures 2 to 7, of sections III and V."""

from __future__ import annotations

from collections.abc import Mapping

from aqmlab.studies.draw import BoxPlots, Figure, flow_quantiles
from aqmlab.studies.papers.armitage2017.figures.bulk import DOWNLOADS, MIXED, shown
from aqmlab.studies.papers.armitage2017.figures.iot import FLOWS
from aqmlab.studies.trials import Trials, Wanted

_CALL = flow_quantiles("rtt", "ms", {"VoIP": "call ↑"})
_AXES = {
    "down.rate": "downstream rate",
    "up.rate": "upstream rate (Mbit/s)",
    "upload.rtt": "RTT_base of the upload (ms)",
    "qdisc": "queue",
    "rtt": "RTT_base (ms)",
}
_WHOLE = ("1 Mbit/s", "2 Mbit/s", "3 Mbit/s", "4 Mbit/s", "5 Mbit/s")
"""The upstream rates of Figures 3 and 4."""


def _call(
    number: str, title: str, condition: str, where: Mapping[str, Wanted], form: BoxPlots
) -> Figure:
    words = f"{condition}; a call, a stream and an upload, 65 to 115 s"
    return Figure(number, title, words, Trials("call", where), form)


def _inflation(number: str, down: str) -> Figure:
    where = {"down.rate": down, "qdisc": "FIFO 180", "upload.rtt": "40 ms"}
    form = BoxPlots(_CALL, "RTT of the call (ms)", ("up.rate",), _AXES)
    condition = f"{down} down, FIFO of 180 packets"
    return _call(number, "RTT of a call beside an upload", condition, where, form)


def _compete(
    number: str, title: str, scenario: str, rate: str, quantity: tuple[str, str, str]
) -> Figure:
    name, unit, axis = quantity
    flows = DOWNLOADS if scenario == "downloads4" else MIXED
    form = BoxPlots(flow_quantiles(name, unit, flows), axis, ("qdisc", "rtt"), _AXES)
    needs = shown(scenario, rate, ("40 ms", "240 ms"))
    return Figure(number, title, f"{rate} line (down/up); NewReno, 90 s", needs, form)


def _iot(number: str, title: str, quantity: tuple[str, str, str]) -> Figure:
    name, unit, axis = quantity
    flows = {
        name: FLOWS[name]
        for name in ("IoT_low", "IoT_high", "VideoCall ↑", "VideoCall ↓", "BulkUpload")
    }
    form = BoxPlots(flow_quantiles(name, unit, flows), axis, ("qdisc", "rtt"), _AXES)
    condition = (
        "12/1 Mbit/s line (down/up); RTT_base 40 ms of IoT, as shown of the others; 70 to 120 s"
    )
    return Figure(number, title, condition, Trials("iot2", {"rate": "12/1 Mbit/s"}), form)


_RATES = ("throughput", "mbit", "throughput (Mbit/s)")
_DELAYS = ("rtt", "ms", "RTT (ms)")

FIGURES = (
    _inflation("2a", "12 Mbit/s"),
    _inflation("2b", "25 Mbit/s"),
    _call(
        "3",
        "RTT of a call beside an upload",
        "12 and 25 Mbit/s down",
        {"up.rate": _WHOLE, "qdisc": ("FIFO 180", "FQ-CoDel"), "upload.rtt": "40 ms"},
        BoxPlots(
            flow_quantiles("rtt", "ms", {"VoIP": "call ↑"}, by="qdisc"),
            "RTT of the call (ms)",
            ("down.rate", "up.rate"),
            _AXES,
        ),
    ),
    _call(
        "4",
        "Throughput of the upload",
        "25 Mbit/s down",
        {
            "down.rate": "25 Mbit/s",
            "up.rate": _WHOLE,
            "qdisc": ("FIFO 180", "FQ-CoDel"),
            "upload.rtt": ("40 ms", "80 ms", "120 ms"),
        },
        BoxPlots(
            flow_quantiles("throughput", "mbit", {"upload": "upload"}, by="qdisc"),
            "throughput (Mbit/s)",
            ("up.rate", "upload.rtt"),
            _AXES,
            log=False,
        ),
    ),
    _compete("5a", "Throughput of four downloads", "downloads4", "12/1 Mbit/s", _RATES),
    _compete("5b", "RTT of four downloads", "downloads4", "12/1 Mbit/s", _DELAYS),
    _compete(
        "6a",
        "Throughput of three downloads and an upload",
        "downloads3_upload1",
        "25/5 Mbit/s",
        _RATES,
    ),
    _compete(
        "6b", "RTT of three downloads and an upload", "downloads3_upload1", "25/5 Mbit/s", _DELAYS
    ),
    _iot("7a", "Throughput of IoT, a call and an upload", _RATES),
    _iot("7b", "RTT of IoT, a call and an upload", _DELAYS),
)
