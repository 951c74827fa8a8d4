"""Throughput of every flow over time."""

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import FigureDefinition
from aqmlab.report.figures.series import SeriesFigure

_SERIES = SeriesFigure(
    name="throughput_time",
    column="throughput_mbit",
    axis="throughput (Mbit/s)",
    caption="Throughput of each flow over time",
    frame=lambda results: data.carrying(results, "windows"),
    title="Throughput over time",
    zeros=True,
    least=1e-3,
)

FIGURE = FigureDefinition(_SERIES.title, ("flows", "windows"), _SERIES.draw)
