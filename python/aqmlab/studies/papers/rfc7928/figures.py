"""The figure of RFC 7928, section 2.7, for each scenario, and further figures of trade-offs."""

from aqmlab.studies.draw import (
    Bars,
    BoxPlots,
    Figure,
    Lines,
    OverTime,
    Rows,
    app_numbers,
    flow_numbers,
    flow_quantiles,
    rtt_over_time,
)
from aqmlab.studies.papers.rfc7928.ellipses import Ellipses
from aqmlab.studies.trials import Trials

_LINE = "10/10 Mbit/s, RTT 100 ms, buffer of 1 BDP"
_QUEUES = {"qdisc": "queue discipline"}
_MIX = {"VoIP": "voip ↓", "web": "web", "adaptive video": "video", "bulk": "bulk"}


def _single(number: str, sender: str) -> Figure:
    what = f"Throughput and delay of a {sender} flow"
    where = f"{_LINE}; of one flow FQ-CoDel and CoDel make the same"
    return Figure(number, what, where, Trials("single", {"sender": sender}), Ellipses(["flow"]))


def _bars(number: str, title: str, scenario: str, axis: str, rows: Rows) -> Figure:
    return Figure(number, title, _LINE, Trials(scenario), Bars(rows, axis, ("qdisc",), _QUEUES))


def _pair(number: str, flow: str) -> Figure:
    goodput = flow_numbers("goodput_mbit", {flow: flow}, "qdisc")
    names = {"rtt": "RTT of the second flow (ms)"}
    what = f"Goodput of the {flow} of two NewReno flows"
    where = f"{_LINE}; the first flow's RTT is 100 ms"
    form = Lines(goodput, "goodput (Mbit/s)", "rtt", names, log=False)
    return Figure(number, what, where, Trials("rtt"), form)


_SHORT = {f"{n}.": f"short-{n}" for n in (1, 2, 3, 4)}

FIGURES = (
    _single("5.1.1", "NewReno"),
    _bars("5.1.2", "Four transfers of 145 kB beside a long-lived flow", "windows",
          "flow completion time (s)", app_numbers("completion_time_s", _SHORT)),
    _single("5.2", "CUBIC"),
    _bars("5.3", "A NewReno flow beside datagrams of 8 Mbit/s", "beside", "goodput (Mbit/s)",
          flow_numbers("goodput_mbit", {"NewReno": "flow", "datagrams": "datagrams"})),
    _pair("6a", "first"),
    _pair("6b", "second"),
    _bars("7a", "Page load times beside a bulk transfer, a video and datagrams", "bursts",
          "page load time, median (ms)", app_numbers("page_load_p50_ms", {"page": "web"})),
    _bars("7b", "A video's frames of 60 kB in the same trials", "bursts",
          "completion time, median (ms)", app_numbers("completion_p50_ms", {"frame": "video"})),
    Figure(
        "8.2",
        "Throughput and delay as congestion grows",
        f"{_LINE}; 3, 7 and 9 NewReno flows",
        Trials("load"),
        Ellipses(["flow"], "congestion"),
    ),
    Figure(
        "8.2.5",
        "Delay as congestion varies",
        f"{_LINE}; mild, medium and heavy congestion in turns of 20 s",
        Trials("varying"),
        OverTime(rtt_over_time({"ping": "ping"}), "RTT of a ping (ms)", "qdisc"),
    ),
    Figure(
        "9.1",
        "Induced round-trip times in a mix of traffic",
        _LINE,
        Trials("mix"),
        BoxPlots(flow_quantiles("induced", "ms", _MIX), "induced RTT (ms)", ("qdisc",), _QUEUES),
    ),
    Figure(
        "9.2",
        "Throughput and delay with a flow each way",
        f"{_LINE}; the flow down",
        Trials("both"),
        Ellipses(["down"]),
    ),
)  # fmt: skip
