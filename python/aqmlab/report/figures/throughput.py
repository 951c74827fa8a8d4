"""Throughput of each application by queue, rate and round-trip time."""

from aqmlab.report.figures.boxes import BoxFigure
from aqmlab.report.figures.drawing import FigureDefinition

_BOXES = BoxFigure(
    name="throughput",
    title="Throughput",
    columns=("throughput_p25_mbit", "throughput_p50_mbit", "throughput_p75_mbit"),
    axis="throughput (Mbit/s)",
    least_floor=1e-3,
    zero="idle for half of the time or longer",
)

FIGURE = FigureDefinition("Throughput per application", ("flows",), _BOXES.draw)
