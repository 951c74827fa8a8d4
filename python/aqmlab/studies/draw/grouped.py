"""Forms with groups along the x axis, such as disciplines subdivided by round-trip time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import canvas, log_axis, plain_text
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

NUMBERS = ("least", "low", "middle", "high", "most")
"""The columns that are drawn as medians over seeds."""


@dataclass(frozen=True)
class Grouped(Form):
    """The base class of forms with groups along the x axis.

    `axis` is the label of the y axis, which is logarithmic with `log`. `groups` are one or
    two conditions, the outer first: ("qdisc", "rtt"). `names` maps conditions and values to the
    figure's names. `bound` draws a dashed line, such as a rate to reach: (0.15, "IoT_high's rate").
    """

    rows: Rows
    axis: str
    groups: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    log: bool = True
    height_inch: float = 3.4
    bound: Bound | None = None

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas."""
        made = canvas(self.height_inch)
        axes = made.subplots()
        finish(made, axes, *self.named(self.panel(axes, results)), self.bound)
        return [made]

    def named(self, series: Mapping[str, SeriesLook]) -> tuple[list[Artist], list[str]]:
        """The legend's entries for the series."""
        handles = [self._handle(look) for look in series.values()]
        return handles, [plain_text(self._called(name)) for name in series]

    def panel(self, axes: Axes, results: CampaignResults) -> dict[str, SeriesLook]:
        """Draws onto axes; returns the series with their looks, in order."""
        import polars as pl

        rows = measured(self.rows(results))
        known = [name for name in NUMBERS if name in rows.columns]
        middle = rows.group_by("series", *self.groups, maintain_order=True).agg(
            pl.col(known).median()
        )
        places = _places(rows, self.groups)
        series = series_looks(rows, results)
        width = 0.8 / len(series)
        for number, (name, look) in enumerate(series.items()):
            own = middle.filter(pl.col("series") == name)
            shift = (number + 0.5) * width - 0.4
            x = [places[key] + shift for key in own.select(self.groups).iter_rows()]
            self._series(axes, x, own, width, look)
        self._axes(axes, places)
        return series

    @abstractmethod
    def _series(
        self, axes: Axes, x: Sequence[float], rows: pl.DataFrame, width: float, look: SeriesLook
    ) -> None:
        """Draws a series. On the x axis, `width` is the space for each mark."""

    @abstractmethod
    def _handle(self, look: SeriesLook) -> Artist:
        """The legend's mark for a series."""

    def _called(self, value: object) -> str:
        return self.names.get(str(value), str(value))

    def _axes(self, axes: Axes, places: Mapping[tuple[str, ...], float]) -> None:
        axes.set_ylabel(self.axis)
        if self.log:
            log_axis(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        labels = [plain_text(short(self._called(key[-1]))) for key in places]
        axes.set_xticks(list(places.values()), labels, rotation=label_rotation(labels))
        axes.tick_params(axis="x", length=0, bottom=False)
        axes.set_xlim(-0.6, max(places.values()) + 0.6)
        inner = self._called(self.groups[-1])
        if len(self.groups) == 1:
            axes.set_xlabel(inner)
            return
        self._outer(axes, places)
        axes.set_xlabel(f"{inner}, and {self._called(self.groups[0])} below")

    def _outer(self, axes: Axes, places: Mapping[tuple[str, ...], float]) -> None:
        """Draws the outer groups' names below the inner groups' names, with separating lines."""
        spans: dict[str, list[float]] = {}
        for (outer, *_), x in places.items():
            spans.setdefault(outer, []).append(x)
        axes.xaxis.remove_overlapping_locs = False
        middles = [(xs[0] + xs[-1]) / 2 for xs in spans.values()]
        names = [f"\n{plain_text(self._called(name))}" for name in spans]
        axes.set_xticks(middles, names, minor=True)
        axes.tick_params(axis="x", which="minor", length=0, bottom=False, labelsize=9)
        ends = [xs[-1] for xs in spans.values()]
        starts = [xs[0] for xs in spans.values()]
        for end, start in zip(ends, starts[1:], strict=False):
            axes.axvline((end + start) / 2, color="#999999", linewidth=0.8)


@dataclass(frozen=True)
class Boxes(Grouped):
    """A marker at each median and, with `bars`, a bar between the quartiles."""

    bars: bool = True

    @property
    def legend(self) -> str:
        """The meaning of the marks, for the caption."""
        if not self.bars:
            return "Markers are medians"
        return "Markers are medians, bars reach from the 25th to the 75th percentile"

    def _series(
        self, axes: Axes, x: Sequence[float], rows: pl.DataFrame, width: float, look: SeriesLook
    ) -> None:
        if self.bars:
            low, high = rows["low"].to_list(), rows["high"].to_list()
            axes.vlines(x, low, high, color=look.colour, linewidth=2.0, alpha=0.6)
        middle = rows["middle"].to_list()
        axes.plot(
            x, middle, look.marker, color=look.colour, markersize=4.2,
            markerfacecolor=look.marker_face,
        )  # fmt: skip

    def _handle(self, look: SeriesLook) -> Artist:
        from matplotlib.lines import Line2D

        return Line2D(
            [], [], color=look.colour, marker=look.marker, markersize=5,
            markerfacecolor=look.marker_face, linewidth=1.1 if self.bars else 0.0,
        )  # fmt: skip


@dataclass(frozen=True)
class BoxPlots(Grouped):
    """Boxes between the quartiles with a line at the median, and whiskers to `least` and `most`."""

    @property
    def legend(self) -> str:
        """The meaning of the marks, for the caption."""
        return (
            "Boxes reach from the 25th to the 75th percentile with a line at the median, "
            "whiskers from the 5th to the 95th"
        )

    def _series(
        self, axes: Axes, x: Sequence[float], rows: pl.DataFrame, width: float, look: SeriesLook
    ) -> None:
        # Marks are drawn as collections, because matplotlib takes long for each single artist.
        import numpy as np
        from matplotlib.collections import PolyCollection

        places = np.array(x)
        least, low, middle, high, most = (rows[name].to_numpy() for name in NUMBERS)
        edge = look.colour
        left, right = places - 0.4 * width, places + 0.4 * width
        corners = [(left, low), (left, high), (right, high), (right, low)]
        boxes: Any = np.array(corners).transpose(2, 0, 1)  # The parameter's type lacks arrays.
        axes.add_collection(PolyCollection(boxes, facecolors=look.face, edgecolors=edge,
                                           linewidths=0.9, hatch=look.hatch))  # fmt: skip
        axes.vlines(np.concatenate([places, places]), np.concatenate([least, high]),
                    np.concatenate([low, most]), color=edge, linewidth=0.9)  # fmt: skip
        for value, reach, thickness in ((middle, 0.4, 1.8), (least, 0.2, 0.9), (most, 0.2, 0.9)):
            axes.hlines(value, places - reach * width, places + reach * width, color=edge,
                        linewidth=thickness)  # fmt: skip

    def _handle(self, look: SeriesLook) -> Artist:
        return _patch(look)


@dataclass(frozen=True)
class Bars(Grouped):
    """A bar for each number, from zero."""

    log: bool = False

    @property
    def legend(self) -> str:
        """An empty text, because bars need no explanation."""
        return ""

    def _series(
        self, axes: Axes, x: Sequence[float], rows: pl.DataFrame, width: float, look: SeriesLook
    ) -> None:
        axes.bar(x, rows["middle"].to_list(), width * 0.9, color=look.face,
                 edgecolor=look.colour, linewidth=0.6, hatch=look.hatch)  # fmt: skip

    def _handle(self, look: SeriesLook) -> Artist:
        return _patch(look)


@dataclass(frozen=True)
class Stacked(Form):
    """Several forms with groups, one below another.

    The forms show different quantities of the same groups.
    """

    parts: Sequence[Grouped]

    @property
    def legend(self) -> str:
        """The meaning of the first part's marks, for the caption."""
        return self.parts[0].legend

    def draw(self, results: CampaignResults) -> Sequence[Canvas]:
        """Draws the results on one canvas."""
        made = canvas(sum(part.height_inch for part in self.parts))
        panels = made.subplots(len(self.parts), 1, squeeze=False).ravel().tolist()
        series = [part.panel(axes, results) for part, axes in zip(self.parts, panels, strict=True)]
        for above in panels[:-1]:
            above.set_xlabel("")
        finish(made, panels[0], *self.parts[0].named(series[0]), None)
        return [made]


def _patch(look: SeriesLook) -> Artist:
    from matplotlib.patches import Patch

    return Patch(facecolor=look.face, edgecolor=look.colour, hatch=look.hatch)


def _places(rows: pl.DataFrame, groups: Sequence[str]) -> dict[tuple[str, ...], float]:
    """The position of each group on the x axis.

    Groups are one unit apart, with more space between outer groups.
    """
    orders = [data.ordered(rows, name) for name in groups]
    keys = sorted(
        set(rows.select(groups).iter_rows()),
        key=lambda key: [order.index(part) for order, part in zip(orders, key, strict=True)],
    )
    places: dict[tuple[str, ...], float] = {}
    at, before = -1.0, None
    for key in keys:
        at += 1.0 if before in (None, key[0]) or len(groups) == 1 else 1.4
        before = key[0]
        places[key] = at
    return places
