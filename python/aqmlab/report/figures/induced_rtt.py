"""The delay that queues add to each application's round trips, by queue, rate and RTT."""

from aqmlab.report.figures.boxes import BoxFigure
from aqmlab.report.figures.drawing import FigureDefinition

_BOXES = BoxFigure(
    name="induced_rtt",
    title="Induced RTT (measured less RTT_base)",
    columns=("induced_p25_ms", "induced_p50_ms", "induced_p75_ms"),
    tail="induced_p95_ms",
    axis="induced RTT (ms)",
    least_floor=0.1,
)

FIGURE = FigureDefinition("Induced RTT per application", ("flows",), _BOXES.draw)
