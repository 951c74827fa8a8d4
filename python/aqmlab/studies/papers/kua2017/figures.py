"""Figures 2 to 5 of the paper."""

from aqmlab.studies.draw import Boxes, Figure, chunk_medians, flow_quantiles
from aqmlab.studies.trials import Trials

SHOWN = ("40 ms", "140 ms", "240 ms")
"""Section IV-A: the round-trip times that the paper shows, of the twelve that its authors ran."""

_FLOWS = {
    "IoT_low": "iot_low",
    "IoT_high": "iot_high",
    "VideoCall ↑": "video_call ↑",
    "VideoCall ↓": "video_call ↓",
    "BulkUpload": "bulk_upload",
    "BulkDownload": "bulk_download",
}
_WITH_DASH = {**_FLOWS, "DASH": "dash"}
_AXES = {"qdisc": "queue", "rtt": "RTT_base of the competing flows (ms)"}
_GROUPS = ("qdisc", "rtt")

_THROUGHPUT = Boxes(
    flow_quantiles("throughput", "mbit", _FLOWS), "throughput (Mbit/s)", _GROUPS, _AXES
)
_INDUCED = Boxes(flow_quantiles("induced", "ms", _WITH_DASH), "induced RTT (ms)", _GROUPS, _AXES)
_BULK = Boxes(
    flow_quantiles("throughput", "mbit", {"BulkDownload": "bulk_download"}),
    "throughput (Mbit/s)",
    _GROUPS,
    _AXES,
    log=False,
)
_DASH = Boxes(
    chunk_medians("dash", {"achieved rate (AR)": "ar_mbit", "representation rate (RR)": "rr_mbit"}),
    "rate (Mbit/s)",
    _GROUPS,
    _AXES,
    bars=False,
)


def _figure(number: str, title: str, rate: str, form: Boxes) -> Figure:
    condition = f"{rate} line (down/up); all applications at once, 30 to 200 s"
    return Figure(number, title, condition, Trials("home", {"rate": rate, "rtt": SHOWN}), form)


_RATES = {"a": "25/5 Mbit/s", "b": "12/1 Mbit/s", "c": "1.5/0.5 Mbit/s"}
_RATES_OF_DASH = {"a": "25/5 Mbit/s", "b": "12/1 Mbit/s", "c": "4/1 Mbit/s", "d": "1.5/0.5 Mbit/s"}

FIGURES = (
    *(_figure(f"2{part}", "Throughput per application", rate, _THROUGHPUT)
      for part, rate in _RATES.items()),
    *(_figure(f"3{part}", "Induced RTT per application", rate, _INDUCED)
      for part, rate in _RATES.items()),
    _figure("4", "Throughput of the bulk download", "12/1 Mbit/s", _BULK),
    *(_figure(f"5{part}", "Median AR and RR of the DASH stream", rate, _DASH)
      for part, rate in _RATES_OF_DASH.items()),
)  # fmt: skip
