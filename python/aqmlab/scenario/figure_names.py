"""The figures that a scenario may ask for. The room `report` draws them.

The names stand here because a scenario is checked before anything is run or drawn.
"""

from __future__ import annotations

FIGURES = (
    "throughput",
    "induced_rtt",
    "rates",
    "bulk_download",
    "dash",
    "rtt_quantiles",
    "rtt_time",
    "throughput_time",
    "queue_time",
    "cwnd_time",
)
"""Every figure, in the order of the report; each is a module of `report.figures`."""
