"""Throughput of every flow over time."""

from aqmlab.figures import data
from aqmlab.figures.drawing import Figure
from aqmlab.figures.series import Series

_SERIES = Series(
    name="throughput_time",
    column="throughput_mbit",
    axis="throughput (Mbit/s)",
    caption="Throughput of each flow over time (zero stands on the floor of the axis)",
    frame=lambda results: data.carrying(results, "windows"),
    floor=1e-3,
)

FIGURE = Figure("Throughput over time", ("flows", "windows"), _SERIES.draw)
