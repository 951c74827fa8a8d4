"""Throughput of every flow over time."""

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import Figure
from aqmlab.report.figures.series import Series

_SERIES = Series(
    name="throughput_time",
    column="throughput_mbit",
    axis="throughput (Mbit/s)",
    caption="Throughput of each flow over time; the axis is logarithmic from 0.001 on,",
    frame=lambda results: data.carrying(results, "windows"),
    floor=1e-3,
    from_zero=True,
)

FIGURE = Figure("Throughput over time", ("flows", "windows"), _SERIES.draw)
