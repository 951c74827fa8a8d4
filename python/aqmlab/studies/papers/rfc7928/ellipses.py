"""The figure of section 2.7 of RFC 7928: ellipses of throughput and delay.

A point is one second of a trial: the total throughput of some flows, and their queueing delay,
which is the induced round-trip time. The ellipse shows one standard deviation of all points around
their mean. Its tilt shows the correlation. A flat ellipse means a steady throughput; a narrow
ellipse means a steady delay. The axis of delay is reversed, so better is up and to the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import grid, legend_below, name_axes, plain_text
from aqmlab.report.figures.looks import Look, condition_looks
from aqmlab.studies import chunks
from aqmlab.studies.draw import Form

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import CampaignResults

_COLUMNS = 3
_SIGMAS = 1.0


@dataclass(frozen=True)
class Ellipses(Form):
    """An ellipse for each discipline, in a panel for each value of the condition `panels`."""

    apps: Sequence[str]
    """The applications whose throughputs are summed and whose delays are averaged."""
    panels: str = ""
    height_inch: float = 3.2

    over_seeds = "their points count together"

    @property
    def legend(self) -> str:
        """The meaning of the marks, for the caption."""
        return (
            "Markers are means over the seconds of the measured time, ellipses one standard"
            " deviation of throughput and delay and their correlation; better is up and right"
        )

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas."""
        import polars as pl

        points = seconds(results, self.apps)
        values = data.ordered(points, self.panels) if self.panels else [""]
        series = condition_looks(data.ordered(points, "qdisc"))
        made, panels = grid(len(values), min(_COLUMNS, len(values)), self.height_inch)
        for axes, value in zip(panels, values, strict=True):
            own = points.filter(pl.col(self.panels) == value) if self.panels else points
            axes.set_title(plain_text(value))
            for name, look in series.items():
                _ellipse(axes, own.filter(pl.col("qdisc") == name), look)
        panels[0].set_xlim(panels[0].get_xlim()[::-1])
        name_axes(panels, _COLUMNS, "induced RTT (ms), reversed", "throughput (Mbit/s)")
        handles = [look.handle(marked=True) for look in series.values()]
        legend_below(made, handles, [plain_text(name) for name in series])
        return [made]


def seconds(results: CampaignResults, apps: Sequence[str]) -> pl.DataFrame:
    """A row per second of measured time: conditions, `throughput_mbit` and `delay_ms`."""
    import polars as pl

    keys = ["trial", *results.manifest.conditions, "second"]
    windows = _of(results, "windows", apps).filter((pl.col("t_s") - 0.5) % 1.0 == 0)
    together = windows.group_by(keys, maintain_order=True).agg(pl.col("throughput_mbit").sum())
    flow = ["trial", "flow", "direction"]
    bases = results.table("flows").select(*flow, "rtt_base_ms")
    waits = _of(results, "rtt", apps).join(bases, on=flow, maintain_order="left")
    delay = (pl.col("rtt_mean_ms") - pl.col("rtt_base_ms")) * pl.col("n")
    delays = waits.group_by("trial", "second").agg(
        (delay.sum() / pl.col("n").sum()).alias("delay_ms")
    )
    both = together.join(delays, on=["trial", "second"], maintain_order="left")
    return chunks.measured(results, both, pl.col("second"), pl.col("second") + 1)


def _of(results: CampaignResults, table: str, apps: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    rows = data.carrying(results, table).filter(pl.col("app").is_in(list(apps)))
    return rows.with_columns(pl.col("t_s").floor().alias("second"))


def _ellipse(axes: Axes, points: pl.DataFrame, look: Look) -> None:
    import numpy as np
    from matplotlib.patches import Ellipse

    values = points.select("delay_ms", "throughput_mbit").to_numpy()
    middle = values.mean(axis=0)
    sizes, ways = np.linalg.eigh(np.cov(values, rowvar=False))
    width, height = 2 * _SIGMAS * np.sqrt(np.maximum(sizes, 0.0))
    angle = np.degrees(np.arctan2(ways[1, 0], ways[0, 0]))
    face = Ellipse(middle, width, height, angle=angle, color=look.colour, alpha=0.25, lw=0)
    edge = Ellipse(middle, width, height, angle=angle, fill=False, color=look.colour, lw=1.2)
    for patch in (face, edge):
        axes.add_patch(patch)
    axes.plot(*middle, look.marker, color=look.colour, markersize=5)
    axes.autoscale_view()
