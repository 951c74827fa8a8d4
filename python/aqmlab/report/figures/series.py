"""Time series in panels beside each other.

Each panel shows one trial with one of the compared queue settings (`queue_label`). The form
follows the time plots of Cumaranayagam (2016) and of Boerlage and Collom (2016). Such a plot shows
the values of every flow of one run, second by second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    Drawing,
    grid,
    head,
    legend_below,
    name_axes,
    panel_title,
    plain_text,
    show_range,
)
from aqmlab.report.figures.looks import Look, app_looks, shows_copies
from aqmlab.report.figures.overlap import calmest_above, rim_covered

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

MOST_PLACES = 2
MOST_POINTS_AS_LINES = 8_000
"""The maximum number of points in a panel of lines; more points are an image within the SVG."""


@dataclass(frozen=True, slots=True)
class SeriesFigure:
    """The quantity that is drawn over time, and its look."""

    name: str
    column: str
    axis: str
    caption: str
    frame: Callable[[CampaignResults], pl.DataFrame]
    """Returns rows with labels, `seed`, `app`, `copy`, `t_s` and the column."""
    title: str
    zeros: bool = False
    """Whether zeros occur; a logarithmic axis then has a linear section below its least decade."""
    least: float = 0.0
    """The threshold below which values do not determine the axis."""

    def draw(self, results: CampaignResults) -> Iterator[Drawing]:
        """Yields one drawing for each of a few places, with one panel for each queue."""
        import polars as pl

        shown, places, notes = data.examples(results, MOST_PLACES)
        frame, together = _apart_if_few(results, self.frame(shown))
        looks = app_looks(results)
        apps, more = data.chosen(frame, "app", data.MOST_APPS, "applications")
        for place in places:
            here = frame.filter(pl.col("place_label") == place)
            if here.is_empty():
                continue
            queues, rest = data.chosen(here, "queue_label", data.MOST_QUEUES, "queues")
            made, panels = grid(len(queues), 2, 2.2)
            head(made, f"{self.title}{' at ' + place if place else ''}")
            sizes: list[float] = []
            for axes, queue in zip(panels, queues, strict=True):
                one = _first_trial(here.filter(pl.col("queue_label") == queue))
                panel_title(axes, queue, columns=2)
                sizes += self._panel(axes, one, {app: looks[app] for app in apps})
            show_range(panels, [max(size, self.least) for size in sizes], zeros=self.zeros)
            for axes in panels:
                calmest_above(axes)
            name_axes(panels, 2, "time (s)", self.axis)
            rest = [*rest, *together, *rim_covered(panels)]
            legend_below(made, [looks[app].handle() for app in apps], list(map(plain_text, apps)))
            seeds = data.seeds_of(here, queues)
            caption = f"{self.caption}{' at ' + place if place else ''}, {seeds}."
            name = data.file_name(self.name, place)
            yield Drawing(name, made, caption, [*notes, *more, *rest])

    def _panel(self, axes: Axes, frame: pl.DataFrame, looks: Mapping[str, Look]) -> list[float]:
        """Draws the lines of a panel; returns a typical positive value of each application."""
        import polars as pl

        rasterized = frame.height > MOST_POINTS_AS_LINES
        sizes = []
        for app, look in looks.items():
            own = frame.filter(pl.col("app") == app)
            for _, line in _lines(own):
                axes.plot(
                    line["t_s"].to_numpy(),
                    line[self.column].to_numpy(),
                    look.line,
                    color=look.colour,
                    linewidth=0.9,
                    rasterized=rasterized,
                )
            size = own[self.column].quantile(_TYPICAL if self.zeros else 1 - _TYPICAL)
            if size is not None and size > 0:
                sizes.append(float(size))
        return sizes


_TYPICAL = 0.9
"""The quantile over time that represents a line with zeros. Its complement represents others."""


def _apart_if_few(results: CampaignResults, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Names copies of an application separately if the colours suffice; otherwise adds a note."""
    import polars as pl

    if shows_copies(results):
        return frame.with_columns(pl.col("copy").alias("app")), []
    copies = frame.group_by("app", maintain_order=True).agg(pl.col("copy").n_unique())
    shared = copies.filter(pl.col("copy") > 1)["app"]
    return frame, [f"copies have one colour: {', '.join(shared)}"] if len(shared) else []


def _first_trial(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(frame["trial"] == frame["trial"][0]) if frame.height else frame


def _lines(frame: pl.DataFrame) -> Iterator[tuple[object, pl.DataFrame]]:
    """Yields the key and the points of each line, with breaks in intervals without values."""
    keys = [name for name in ("flow", "direction", "side", "conn") if name in frame.columns]
    for key, line in frame.group_by(keys, maintain_order=True):
        yield key, with_gaps(line.sort("t_s"))


def with_gaps(line: pl.DataFrame) -> pl.DataFrame:
    """`line` with an empty row in every gap of more than four median steps."""
    import polars as pl

    step = line["t_s"].diff().median()
    if line.height < 3 or not isinstance(step, float) or step <= 0:
        return line
    after = line.with_columns(pl.col("t_s").diff().alias("gap")).filter(pl.col("gap") > 4 * step)
    breaks = after.select((pl.col("t_s") - pl.col("gap") / 2).alias("t_s"))
    return pl.concat([line, breaks], how="diagonal").sort("t_s")
