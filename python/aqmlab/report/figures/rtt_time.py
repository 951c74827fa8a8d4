"""Round-trip times of every flow over time."""

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import FigureDefinition
from aqmlab.report.figures.series import SeriesFigure

_SERIES = SeriesFigure(
    name="rtt_time",
    column="rtt_mean_ms",
    axis="RTT (ms)",
    caption="Round-trip time of each flow over time, the mean of each step,",
    frame=lambda results: data.carrying(results, "rtt"),
    title="Round-trip times over time",
    least=0.1,
)

FIGURE = FigureDefinition(_SERIES.title, ("flows", "rtt"), _SERIES.draw)
