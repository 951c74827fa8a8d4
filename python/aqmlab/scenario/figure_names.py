"""Names of the figures that a scenario can request. The package `report` draws them.

This package defines the names because a scenario is checked before any trial runs or any figure is
drawn.
"""

from __future__ import annotations

FIGURES = (
    "throughput",
    "induced_rtt",
    "varied",
    "rates",
    "bulk_download",
    "dash",
    "rtt_quantiles",
    "rtt_time",
    "throughput_time",
    "queue_time",
    "cwnd_time",
)
"""All figures in the order of the report. Each is a module of `report.figures`."""
