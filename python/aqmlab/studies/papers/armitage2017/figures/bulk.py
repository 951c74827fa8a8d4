"""Figures 9 to 21, of Appendix C."""

from __future__ import annotations

from collections.abc import Iterator

from aqmlab.studies.draw import BoxPlots, Figure, Stacked, flow_quantiles
from aqmlab.studies.trials import Trials

DOWNLOADS = {f"Flow{number}": f"down{number}" for number in range(1, 5)}
MIXED = {**{f"DownFlow{number}": f"down{number}" for number in range(1, 4)}, "UpFlow": "up"}

_AXES = {"qdisc": "queue", "rtt": "RTT_base (ms)"}
_EVERY_RTT = ("10 ms", "40 ms", "180 ms", "240 ms", "340 ms")
_RATES = ("1.5/0.5 Mbit/s", "12/1 Mbit/s", "25/5 Mbit/s")
_CASES = (
    ("downloads4", "Four downloads over equal paths", DOWNLOADS),
    ("downloads4_mixed", "Four downloads over unequal paths", DOWNLOADS),
    ("downloads3_upload1", "Three downloads and an upload over equal paths", MIXED),
    ("downloads3_upload1_mixed", "Three downloads and an upload over unequal paths", MIXED),
)
"""Cases 1 to 4 of C-D: Figures 9 to 11, 12 to 14, 15 to 17, 18 to 20."""


def shown(scenario: str, rate: str, rtts: tuple[str, ...] = ()) -> Trials:
    """The trials that the report shows of a scenario: the trials with NewReno."""
    where = {"rate": rate, "tcp": "NewReno"}
    return Trials(scenario, {**where, "rtt": rtts} if rtts else where)


def _cases() -> Iterator[Figure]:
    number = 9
    for scenario, title, flows in _CASES:
        mixed = scenario.endswith("_mixed")
        groups = ("qdisc",) if mixed else ("qdisc", "rtt")
        form = Stacked(
            (
                BoxPlots(
                    flow_quantiles("throughput", "mbit", flows),
                    "throughput (Mbit/s)",
                    groups,
                    _AXES,
                    log=False,
                ),
                BoxPlots(flow_quantiles("rtt", "ms", flows), "RTT (ms)", groups, _AXES),
            )
        )
        for rate in _RATES:
            needs = shown(scenario, rate, () if mixed else _EVERY_RTT)
            paths = ", RTT_base 240, 180, 40 and 10 ms in turn" if mixed else ""
            yield Figure(
                str(number), title, f"{rate} line (down/up); NewReno, 90 s{paths}", needs, form
            )
            number += 1


FIGURES = (
    *_cases(),
    Figure(
        "21",
        "Throughput of one download",
        "100/40 Mbit/s line (down/up); NewReno, 90 s",
        shown("download1", "100/40 Mbit/s", ("10 ms", "180 ms")),
        BoxPlots(
            flow_quantiles("throughput", "mbit", {"download": "down"}),
            "throughput (Mbit/s)",
            ("qdisc", "rtt"),
            _AXES,
            log=False,
        ),
    ),
)
