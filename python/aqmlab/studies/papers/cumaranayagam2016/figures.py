"""Figures 2 to 11 of the paper; figure 1 shows its testbed."""

from aqmlab.studies.draw import Figure, OverTime, Rows, rate_over_time, rtt_over_time
from aqmlab.studies.trials import Trials

_UPLOADS = {f"Flow {number}": f"flow{number}" for number in (1, 2, 3)}
_WITH_UDP = {**_UPLOADS, "UDP ↑": "iot ↑", "UDP ↓": "iot ↓"}

_THROUGHPUT = OverTime(rate_over_time(_UPLOADS), "throughput (Mbit/s)", height_inch=3.6)


def _rtt(rows: Rows) -> OverTime:
    return OverTime(rows, "RTT (ms)", height_inch=3.6)


_RTT = _rtt(rtt_over_time(_UPLOADS))
_RTT_WITH_UDP = _rtt(rtt_over_time(_WITH_UDP))


def _uploads(number: str, rate: str, queue: str, form: OverTime) -> Figure:
    what = "Throughput" if form is _THROUGHPUT else "RTT"
    rest = "uploads of 60 s from 0, 20 and 40 s; RTT_base 40 ms; buffer of 90 packets"
    needs = Trials("uploads", {"rate": f"{rate} Mbit/s", "qdisc": queue})
    return Figure(number, f"{what} over time", f"{rate} Mbit/s, {queue}; {rest}", needs, form)


def _iot(number: str, queue: str) -> Figure:
    rest = "a call each way beside the uploads; RTT_base 20 ms; buffer of 90 packets"
    needs = Trials("iot", {"qdisc": queue})
    return Figure(number, "RTT over time", f"4/1 Mbit/s, UDP flow, {queue}; {rest}", needs,
                  _RTT_WITH_UDP)  # fmt: skip


FIGURES = (
    _uploads("2", "50/20", "pfifo", _THROUGHPUT),
    _uploads("3", "4/1", "pfifo", _THROUGHPUT),
    _uploads("4", "50/20", "pfifo", _RTT),
    _uploads("5", "4/1", "pfifo", _RTT),
    _uploads("6", "50/20", "fq_codel", _THROUGHPUT),
    _uploads("7", "4/1", "fq_codel", _THROUGHPUT),
    _uploads("8", "50/20", "fq_codel", _RTT),
    _uploads("9", "4/1", "fq_codel", _RTT),
    _iot("10", "pfifo"),
    _iot("11", "fq_codel"),
)
