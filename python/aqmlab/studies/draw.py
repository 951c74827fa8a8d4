"""Figures of papers as declarations: which trials, which numbers, what form.

A figure is a `Figure`; its form says how it is drawn. `Boxes` is the form of boxes and points in
groups; `Lab` is any figure of the laboratory itself, such as those over time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aqmlab.figures import data
from aqmlab.figures.drawing import MARKERS, canvas, colour, legend_below, log_axis, plain_text
from aqmlab.studies import chunks
from aqmlab.studies.trials import Trials

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results import Results

Rows = Callable[["Results"], "pl.DataFrame"]
"""From results to rows with `series`, `low`, `middle`, `high`, `seed` and the conditions."""


class Form(Protocol):
    """How a figure is drawn."""

    def draw(self, results: Results) -> Sequence[Canvas]:
        """One drawing, or several."""

    @property
    def legend(self) -> str:
        """What its marks mean, as a sentence of the caption."""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: its number there, what it shows, what it needs, and its form."""

    number: str
    title: str
    condition: str
    """Under which conditions, as the caption says it."""
    needs: Trials
    form: Form


# --- Numbers -----------------------------------------------------------------------------------


def flow_quantiles(quantity: str, unit: str, apps: Mapping[str, str]) -> Rows:
    """The quartiles of a quantity of `flows` ("throughput", "mbit") for some applications.

    `apps` are the applications by what the figure calls them, such as {"IoT_low": "iot_low"}; one
    that carries data both ways is "video_call ↑" or "video_call ↓".
    """

    def rows(results: Results) -> pl.DataFrame:
        import polars as pl

        low, middle, high = (f"{quantity}_p{part}_{unit}" for part in (25, 50, 75))
        names = {app: shown for shown, app in apps.items()}
        frame = data.carrying(results, "flows").filter(pl.col("app").is_in(list(names)))
        order = {app: number for number, app in enumerate(names)}
        return frame.sort(pl.col("app").replace_strict(order), maintain_order=True).with_columns(
            pl.col("app").replace(names).alias("series"),
            pl.col(low).alias("low"),
            pl.col(middle).alias("middle"),
            pl.col(high).alias("high"),
        )

    return rows


def chunk_medians(flow: str, columns: Mapping[str, str]) -> Rows:
    """The medians over a stream's chunks, such as {"AR": "ar_mbit", "RR": "rr_mbit"}."""

    def rows(results: Results) -> pl.DataFrame:
        import polars as pl

        frame = chunks.of(results).filter(pl.col("flow") == flow)
        keys = ["trial", *results.manifest["conditions"], "seed"]
        parts = [
            frame.group_by(keys, maintain_order=True)
            .agg(pl.col(column).median().alias("middle"))
            .with_columns(pl.lit(shown).alias("series"))
            for shown, column in columns.items()
        ]
        return pl.concat(parts).with_columns(
            pl.col("middle").alias("low"), pl.col("middle").alias("high")
        )

    return rows


# --- Forms -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boxes:
    """A marker at each median and a bar between the quartiles, in groups along the x axis.

    `groups` are one or two conditions, the outer first: ("qdisc", "rtt"). `names` says what the
    axis calls a condition.
    """

    rows: Rows
    axis: str
    groups: Sequence[str]
    names: Mapping[str, str]
    log: bool = True
    bars: bool = True
    height_inch: float = 3.4

    @property
    def legend(self) -> str:
        """What its marks mean."""
        if not self.bars:
            return "Markers are medians"
        return "Markers are medians, bars reach from the 25th to the 75th percentile"

    def draw(self, results: Results) -> Sequence[Canvas]:
        """One drawing."""
        import polars as pl

        rows = self.rows(results)
        keys = ["series", *self.groups]
        middle = rows.group_by(keys, maintain_order=True).agg(
            pl.col("low", "middle", "high").median()
        )
        made = canvas(self.height_inch)
        axes = made.subplots()
        places = _places(rows, self.groups)
        series = data.ordered(rows, "series")
        for number, name in enumerate(series):
            own = middle.filter(pl.col("series") == name)
            shift = (number + 0.5) / len(series) * 0.8 - 0.4
            self._series(axes, own, places, shift, number)
        self._axes(axes, places)
        _legend(made, series, bars=self.bars)
        return [made]

    def _series(
        self,
        axes: Axes,
        rows: pl.DataFrame,
        places: Mapping[tuple[str, ...], float],
        shift: float,
        number: int,
    ) -> None:
        x = [places[key] + shift for key in rows.select(self.groups).iter_rows()]
        low, middle, high = (rows[name].to_list() for name in ("low", "middle", "high"))
        if self.bars:
            axes.vlines(x, low, high, color=colour(number), linewidth=2.0, alpha=0.6)
        marker = MARKERS[number % len(MARKERS)]
        axes.plot(x, middle, marker, color=colour(number), markersize=4.2, markeredgewidth=0)

    def _axes(self, axes: Axes, places: Mapping[tuple[str, ...], float]) -> None:
        axes.set_ylabel(self.axis)
        if self.log:
            log_axis(axes.yaxis)
        else:
            axes.set_ylim(bottom=0)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(list(places.values()), [plain_text(_short(key[-1])) for key in places])
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.6, max(places.values()) + 0.6)
        inner = self.names.get(self.groups[-1], self.groups[-1])
        if len(self.groups) == 1:
            axes.set_xlabel(inner)
            return
        self._outer(axes, places)
        axes.set_xlabel(f"{inner}, and {self.names.get(self.groups[0], self.groups[0])} below")

    def _outer(self, axes: Axes, places: Mapping[tuple[str, ...], float]) -> None:
        """Names the outer groups below the inner, and parts them with lines."""
        spans: dict[str, list[float]] = {}
        for (outer, *_), x in places.items():
            spans.setdefault(outer, []).append(x)
        axes.xaxis.remove_overlapping_locs = False
        middles = [(xs[0] + xs[-1]) / 2 for xs in spans.values()]
        axes.set_xticks(middles, [f"\n{plain_text(name)}" for name in spans], minor=True)
        axes.tick_params(axis="x", which="minor", length=0, labelsize=9)
        ends = [xs[-1] for xs in spans.values()]
        starts = [xs[0] for xs in spans.values()]
        for end, start in zip(ends, starts[1:], strict=False):
            axes.axvline((end + start) / 2, color="#999999", linewidth=0.8)


@dataclass(frozen=True)
class Lab:
    """A figure of the laboratory, such as "rtt_time", of these trials alone."""

    name: str
    legend: str = ""

    def draw(self, results: Results) -> Sequence[Canvas]:
        """As many drawings as that figure makes."""
        from aqmlab import figures

        return [drawing.canvas for drawing in figures.draw(results, self.name)]


def _places(rows: pl.DataFrame, groups: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Where each group stands: one apart, and more between outer groups."""
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


def _short(value: object) -> str:
    """A tick's label: the unit stands in the axis' name."""
    text = str(value)
    number, space, unit = text.partition(" ")
    return number if space and unit in ("ms", "s", "Mbit/s") else text


def _legend(made: Canvas, series: Sequence[str], *, bars: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=colour(number),
            marker=MARKERS[number % len(MARKERS)],
            linestyle="-" if bars else "",
            markersize=5,
        )
        for number in range(len(series))
    ]
    legend_below(made, handles, [plain_text(name) for name in series])
