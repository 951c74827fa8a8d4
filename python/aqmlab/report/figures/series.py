"""Time series of one trial per queue, in panels beside each other.

The form is that of the time plots of Cumaranayagam (2016) and of Boerlage and Collom (2016): the
values of every flow of one run, second by second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    COLOURS,
    Drawing,
    colour,
    grid,
    legend_below,
    line_style,
    log_axis,
    log_axis_from_zero,
    name_axes,
    plain_text,
)
from aqmlab.report.figures.overlap import calmest_above, rim_covered

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

MOST_PLACES = 2
MOST_POINTS_AS_LINES = 8_000
"""A panel with more points is drawn as an image within the SVG."""


@dataclass(frozen=True, slots=True)
class SeriesFigure:
    """The quantity that is drawn over time, and its look."""

    name: str
    column: str
    axis: str
    caption: str
    frame: Callable[[CampaignResults], pl.DataFrame]
    """Rows with labels, `seed`, `app`, `copy`, `t_s` and the column."""
    log: bool = True
    floor: float = 0.0
    """On a logarithmic axis, smaller values are drawn at this one."""
    from_zero: bool = False
    """Whether zeros occur; the axis is then logarithmic above the floor and linear below."""

    def draw(self, results: CampaignResults) -> Iterator[Drawing]:
        """One figure for each of a few conditions, with one panel for each queue."""
        import polars as pl

        shown, places, notes = data.examples(results, MOST_PLACES)
        frame, together = _apart_if_few(self.frame(shown))
        apps, more = data.chosen(frame, "app", data.MOST_APPS, "applications")
        for place in places:
            here = frame.filter(pl.col("place_label") == place)
            if here.is_empty():
                continue
            queues, rest = data.chosen(here, "queue_label", data.MOST_QUEUES, "queues")
            made, panels = grid(len(queues), 2, 2.2)
            for axes, queue in zip(panels, queues, strict=True):
                one = _first_trial(here.filter(pl.col("queue_label") == queue))
                axes.set_title(plain_text(queue))
                self._panel(axes, one, apps)
            name_axes(panels, 2, "time (s)", self.axis)
            rest = [*rest, *together, *rim_covered(panels)]
            handles = [_line(number) for number in range(len(apps))]
            legend_below(made, handles, [plain_text(app) for app in apps])
            seeds = data.seeds_of(here, queues)
            caption = f"{self.caption}{' at ' + place if place else ''}, {seeds}."
            yield Drawing(f"{self.name}-{data.slug(place)}", made, caption, [*notes, *more, *rest])

    def _panel(self, axes: Axes, frame: pl.DataFrame, apps: Sequence[str]) -> None:
        import polars as pl

        rasterized = frame.height > MOST_POINTS_AS_LINES
        for number, app in enumerate(apps):
            for _, line in _lines(frame.filter(pl.col("app") == app)):
                values = line[self.column]
                if self.log and not self.from_zero:
                    values = values.clip(lower_bound=self.floor)
                axes.plot(
                    line["t_s"].to_numpy(),
                    values.to_numpy(),
                    line_style(number),
                    color=colour(number),
                    linewidth=0.9,
                    rasterized=rasterized,
                )
        if self.from_zero:
            log_axis_from_zero(axes, self.floor)
        elif self.log:
            log_axis(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        calmest_above(axes)


def _apart_if_few(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Names copies of an application separately if the colours suffice; otherwise adds a note."""
    import polars as pl

    if frame["copy"].n_unique() <= COLOURS:
        return frame.with_columns(pl.col("copy").alias("app")), []
    copies = frame.group_by("app", maintain_order=True).agg(pl.col("copy").n_unique())
    shared = copies.filter(pl.col("copy") > 1)["app"]
    return frame, [f"copies have one colour: {', '.join(shared)}"] if len(shared) else []


def _first_trial(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.filter(frame["trial"] == frame["trial"][0]) if frame.height else frame


def _lines(frame: pl.DataFrame) -> Iterator[tuple[object, pl.DataFrame]]:
    """Each line by itself, with breaks in intervals without values."""
    keys = [name for name in ("flow", "direction", "side", "conn") if name in frame.columns]
    for key, line in frame.group_by(keys, maintain_order=True):
        yield key, with_gaps(line.sort("t_s"))


def with_gaps(line: pl.DataFrame) -> pl.DataFrame:
    """`line` with an empty row in every gap of several steps."""
    import polars as pl

    step = line["t_s"].diff().median()
    if line.height < 3 or not isinstance(step, float) or step <= 0:
        return line
    after = line.with_columns(pl.col("t_s").diff().alias("gap")).filter(pl.col("gap") > 4 * step)
    breaks = after.select((pl.col("t_s") - pl.col("gap") / 2).alias("t_s"))
    return pl.concat([line, breaks], how="diagonal").sort("t_s")


def _line(number: int) -> Artist:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour(number), linestyle=line_style(number))
