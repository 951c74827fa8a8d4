"""Throughput of every flow over time."""

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import FigureDefinition
from aqmlab.report.figures.series import SeriesFigure

_SERIES = SeriesFigure(
    name="throughput_time",
    column="throughput_mbit",
    axis="throughput (Mbit/s)",
    caption="Throughput of each flow over time; the axis is logarithmic from 0.001 on,",
    frame=lambda results: data.carrying(results, "windows"),
    floor=1e-3,
    from_zero=True,
)

FIGURE = FigureDefinition("Throughput over time", ("flows", "windows"), _SERIES.draw)
