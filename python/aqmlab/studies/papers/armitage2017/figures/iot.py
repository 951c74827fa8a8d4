"""Figures 22 to 39, of Appendix D: each scenario at each rate, and the losses of its video call."""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.studies.draw import Bars, BoxPlots, Figure, Stacked, flow_numbers, flow_quantiles
from aqmlab.studies.trials import Trials

FLOWS = {
    "IoT_low": "iot_low",
    "IoT_high": "iot_high",
    "VideoCall ↑": "video_call ↑",
    "VideoCall ↓": "video_call ↓",
    "BulkUpload": "bulk_upload",
    "DASH": "dash",
    "BulkDownload": "bulk_download",
}
_AXES = {"qdisc": "queue", "rtt": "RTT_base of the other flows (ms)"}
_GROUPS = ("qdisc", "rtt")
_RATES = ("1.5/0.5 Mbit/s", "12/1 Mbit/s", "25/5 Mbit/s")
_SPANS = {2: "70 to 120 s", 3: "120 to 180 s", 4: "180 to 250 s"}
_LOSSES = Bars(
    flow_numbers("loss_percent", {name: FLOWS[name] for name in ("VideoCall ↑", "VideoCall ↓")}),
    "packets lost (%)",
    _GROUPS,
    _AXES,
)


def _all(scenario: int) -> Stacked:
    """The throughput and the RTT of all flows of a scenario."""
    flows = dict(list(FLOWS.items())[: scenario + 3])
    return Stacked(
        (
            BoxPlots(
                flow_quantiles("throughput", "mbit", flows), "throughput (Mbit/s)", _GROUPS, _AXES
            ),
            BoxPlots(flow_quantiles("rtt", "ms", flows), "RTT (ms)", _GROUPS, _AXES),
        )
    )


def _figures() -> Iterator[Figure]:
    number = 22
    for scenario, span in _SPANS.items():
        for rate in _RATES:
            needs = Trials(f"iot{scenario}", {"rate": rate})
            where = f"scenario {scenario} at {rate} (down/up); {span}, RTT_base 40 ms of IoT"
            yield Figure(
                str(number), "Throughput and RTT of all flows", where, needs, _all(scenario)
            )
            yield Figure(str(number + 1), "Losses of the video call", where, needs, _LOSSES)
            number += 2


FIGURES = tuple(_figures())
