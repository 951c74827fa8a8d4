"""Forms with lines: over the values of a condition, over time, and as distributions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import canvas, grid, log_axis, name_axes, plain_text
from aqmlab.report.figures.series import MOST_POINTS_AS_LINES, with_gaps
from aqmlab.studies.draw.figure import Form
from aqmlab.studies.draw.looks import SeriesLook, series_looks
from aqmlab.studies.draw.rows import Rows, measured
from aqmlab.studies.draw.words import Bound, finish, label_rotation, short

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import CampaignResults

_COLUMNS = 2


@dataclass(frozen=True)
class Lines(Form):
    """The median of each series over the values of the condition `over`, such as speed tiers.

    `axis` is the label of the y axis, which is logarithmic with `log`. `names` maps conditions and
    values to the figure's names. `bound` draws a dashed line.
    """

    rows: Rows
    axis: str
    over: str
    names: Mapping[str, str] = field(default_factory=dict)
    log: bool = True
    height_inch: float = 3.6
    bound: Bound | None = None

    @property
    def legend(self) -> str:
        """The meaning of the marks, for the caption."""
        return "Markers are medians"

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas."""
        import polars as pl

        rows = measured(self.rows(results))
        middle = rows.group_by("series", self.over, maintain_order=True).agg(
            pl.col("middle").median()
        )
        places = {value: number for number, value in enumerate(data.ordered(rows, self.over))}
        made = canvas(self.height_inch)
        axes = made.subplots()
        series = series_looks(rows, results)
        for name, look in series.items():
            own = middle.filter(pl.col("series") == name)
            points = sorted((places[x], y) for x, y in own.select(self.over, "middle").iter_rows())
            axes.plot(*zip(*points, strict=True), look.line, color=look.colour,
                      marker=look.marker, markersize=3.6)  # fmt: skip
        self._axes(axes, list(places))
        handles = [look.handle(marked=True) for look in series.values()]
        finish(made, axes, handles, _called(series, self.names), self.bound)
        return [made]

    def _axes(self, axes: Axes, values: Sequence[str]) -> None:
        axes.set_ylabel(self.axis)
        axes.set_xlabel(self.names.get(self.over, self.over))
        if self.log:
            log_axis(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        labels = [short(text) for text in _called(values, self.names)]
        axes.set_xticks(range(len(labels)), labels, rotation=label_rotation(labels))
        axes.set_xlim(-0.6, len(labels) - 0.4)


@dataclass(frozen=True)
class Panelled(Form):
    """The base class of forms with a panel for each value of the condition `panels`.

    Without `panels`, a figure has a single panel. `axis` is the label of the axis of values, which
    is logarithmic with `log`. `names` maps values to the figure's names.
    """

    rows: Rows
    axis: str
    panels: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    log: bool = False
    height_inch: float = 2.6
    """The height of a panel."""

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas."""
        import polars as pl

        rows = measured(self._shown(self.rows(results)))
        series = series_looks(rows, results)
        values = data.ordered(rows, self.panels) if self.panels else [""]
        made, panels = grid(len(values), _COLUMNS, self.height_inch)
        for axes, value in zip(panels, values, strict=True):
            if self.panels:
                axes.set_title(plain_text(self.names.get(value, value)))
            own = rows.filter(pl.col(self.panels) == value) if self.panels else rows
            for name, look in series.items():
                self._lines(axes, own.filter(pl.col("series") == name), look)
            self._scale(axes)
        self._name_axes(panels)
        handles = [self._handle(look) for look in series.values()]
        finish(made, panels[0], handles, _called(series, self.names))
        return [made]

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The part of the rows that is drawn."""
        return rows

    @abstractmethod
    def _lines(self, axes: Axes, rows: pl.DataFrame, look: SeriesLook) -> None:
        """Draws a series onto axes."""

    def _handle(self, look: SeriesLook) -> Artist:
        """The legend's mark for a series."""
        return look.handle()

    @abstractmethod
    def _scale(self, axes: Axes) -> None:
        """Scales the axes of a panel."""

    @abstractmethod
    def _name_axes(self, panels: Sequence[Axes]) -> None:
        """Names the axes of all panels."""


@dataclass(frozen=True)
class OverTime(Panelled):
    """The series over time. Only the first seed is drawn.

    Lines break at gaps in the data. With "steps", a value holds until the next value, as the rate
    of a stream does.
    """

    marks: Literal["lines", "points", "steps"] = "lines"
    span_s: tuple[float, float] | None = None
    """The drawn part of the trial; the whole trial if absent."""

    @property
    def over_seeds(self) -> str:  # type: ignore[override]
        """The treatment of several seeds, for the caption."""
        return "the first is shown"

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.filter(rows["seed"] == rows["seed"].min())
        return rows if self.span_s is None else rows.filter(rows["t_s"].is_between(*self.span_s))

    def _lines(self, axes: Axes, rows: pl.DataFrame, look: SeriesLook) -> None:
        rasterized = rows.height > MOST_POINTS_AS_LINES
        style = look.point if self.marks == "points" else look.line
        for line in _by_flow(rows):
            shown = with_gaps(line) if self.marks == "lines" else line
            axes.plot(
                shown["t_s"].to_numpy(),
                shown["value"].to_numpy(),
                style,
                color=look.colour,
                linewidth=1.0,
                markersize=2.0,
                drawstyle="steps-post" if self.marks == "steps" else "default",
                rasterized=rasterized,
            )

    def _handle(self, look: SeriesLook) -> Artist:
        from matplotlib.lines import Line2D

        if self.marks != "points":
            return look.handle()
        return Line2D([], [], color=look.colour, marker=look.point, linewidth=0, markersize=5)

    def _scale(self, axes: Axes) -> None:
        if self.log:
            log_axis(axes.yaxis)
        else:
            # Keeps the highest line visibly below the upper edge of the frame.
            axes.set_ylim(0, max(axes.get_ylim()[1], 1.05 * axes.dataLim.ymax))
        if self.span_s is not None:
            axes.set_xlim(*self.span_s)
        else:
            axes.set_xlim(left=0)

    def _name_axes(self, panels: Sequence[Axes]) -> None:
        name_axes(panels, _COLUMNS, "time (s)", self.axis)


@dataclass(frozen=True)
class Shares(Panelled):
    """Cumulative distributions: for each share, the median over seeds of the value."""

    log: bool = True

    @property
    def over_seeds(self) -> str:  # type: ignore[override]
        """The treatment of several seeds, for the caption."""
        return "medians of each share over them"

    def _lines(self, axes: Axes, rows: pl.DataFrame, look: SeriesLook) -> None:
        import polars as pl

        line = rows.group_by("share").agg(pl.col("value").median()).sort("share")
        axes.plot(
            line["value"].to_numpy(),
            line["share"].to_numpy() * 100,
            look.line,
            color=look.colour,
        )

    def _scale(self, axes: Axes) -> None:
        if self.log:
            log_axis(axes.xaxis)
        else:
            axes.set_xlim(left=0)
        axes.set_ylim(0, 100)

    def _name_axes(self, panels: Sequence[Axes]) -> None:
        name_axes(panels, _COLUMNS, self.axis, "share (%)")


def _by_flow(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields the rows of each trial, flow and direction, ordered by time."""
    keys = [name for name in ("trial", "flow", "direction") if name in rows.columns]
    for _, line in rows.group_by(keys, maintain_order=True):
        yield line.sort("t_s")


def _called(values: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [plain_text(names.get(str(value), str(value))) for value in values]
