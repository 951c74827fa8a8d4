"""Grouped boxes: a marker at the median, a bar from the 25th to the 75th percentile.

The form is that of Kua, Nguyen, Armitage and Branch (2017), Figs 2 and 3. Applications are side by
side, and each has its queues; markers distinguish round-trip times. Difference: a thin line can
extend to the percentile that verdicts judge.

A logarithmic axis cannot show zero. If there are zeros, a short section below its least decade
leads down to zero. Zeros appear there as open triangles, and missing values as crosses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    MARKERS,
    Drawing,
    colour,
    legend_below,
    log_axis,
    log_axis_from_zero,
    plain_text,
    stacked,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

ZERO, NO_DATA = "zero", "no data"
"""The meanings of marks at the zero of an axis; a legend lists those in use."""

_KEYS = ("rate_label", "app", "queue_label", "rtt_label")


@dataclass(frozen=True, slots=True)
class BoxFigure:
    """The quantity that the boxes show, and its look."""

    name: str
    title: str
    columns: tuple[str, str, str]
    """The columns of the 25th, 50th and 75th percentile."""
    axis: str
    tail: str | None = None
    """The column of a further percentile, to which a thin line extends."""
    least_floor: float = 0.0
    """The lower bound of the axis's least decade."""

    def draw(self, results: CampaignResults) -> Iterator[Drawing]:
        """One figure with a panel for each rate."""
        frame = data.carrying(results, "flows")
        choice = ShownPart.of(frame)
        rows = data.medians(frame, self._columns, *_KEYS)
        floor = self._floor(rows)
        made, panels = stacked(len(choice.rates), 2.3)
        for axes, rate in zip(panels, choice.rates, strict=True):
            axes.set_title(f"{rate} Mbit/s (down/up)" if rate else "")
            self._panel(axes, _lookup(rows, rate, self._columns), choice, floor)
        _legend(made, choice, panels)
        caption = (
            f"{self.title} of each application by queue{data.place_note(choice.rtts)}. Markers are "
            f"medians, bars reach from the 25th to the 75th percentile"
            f"{', thin lines to the 95th, by which delays are judged' if self.tail else ''}; "
            f"{data.span_note(results)}, {data.seeds_note(results)}."
        )
        yield Drawing(self.name, made, caption, choice.notes)

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.columns if self.tail is None else (*self.columns, self.tail)

    def _floor(self, rows: pl.DataFrame) -> float:
        """A power of ten below every positive value: the start of the logarithmic section."""
        found = [value for column in self.columns for value in rows[column] if value and value > 0]
        least = max(min(found, default=self.least_floor), self.least_floor)
        return float(10 ** math.floor(math.log10(least)))

    def _panel(self, axes: Axes, found: Found, choice: ShownPart, floor: float) -> None:
        from_zero = any(
            value is None or value < floor
            for (app, queue, rtt), box in found.items()
            if app in choice.apps and queue in choice.queues and rtt in choice.rtts
            for value in box
        )
        width = 0.84 / max(1, len(choice.queues) * len(choice.rtts))
        for number, queue in enumerate(choice.queues):
            for step, (marker, rtt) in enumerate(zip(MARKERS, choice.rtts, strict=False)):
                offset = width * (number * len(choice.rtts) + step + 0.5) - 0.42
                boxes = [
                    (x + offset, found[app, queue, rtt])
                    for x, app in enumerate(choice.apps)
                    if (app, queue, rtt) in found
                ]
                draw_boxes(axes, boxes, colour(number), marker)
        axes.set_ylim(floor * 0.8, max(axes.dataLim.ymax, floor) * 1.5)
        if from_zero:
            log_axis_from_zero(axes, floor)
        else:
            log_axis(axes.yaxis)
        axes.set_ylabel(self.axis)
        axes.set_xticks(range(len(choice.apps)), [plain_text(app) for app in choice.apps])
        axes.tick_params(axis="x", length=0, rotation=0 if len(choice.apps) <= 8 else 20)
        axes.grid(visible=False, axis="x")
        for x in range(1, len(choice.apps)):
            axes.axvline(x - 0.5, color="#BBBBBB", linewidth=0.5)
        axes.set_xlim(-0.5, len(choice.apps) - 0.5)


@dataclass(frozen=True, slots=True)
class ShownPart:
    """The part of a campaign that is shown, and notes on the rest."""

    rates: list[str]
    apps: list[str]
    queues: list[str]
    rtts: list[str]
    notes: list[str]

    @classmethod
    def of(cls, frame: pl.DataFrame, most_rates: int = data.MOST_RATES) -> ShownPart:
        """The part of `frame` that stays readable."""
        rates, note_rates = data.chosen(frame, "rate_label", most_rates, "rates")
        apps, note_apps = data.chosen(frame, "app", data.MOST_APPS, "applications")
        queues, note_queues = data.chosen(frame, "queue_label", data.MOST_QUEUES, "queues")
        rtts, note_rtts = data.chosen(frame, "rtt_label", data.MOST_RTTS, "round-trip times")
        notes = [*note_rates, *note_apps, *note_queues, *note_rtts]
        return cls(rates, apps, queues, rtts, notes)


Box = tuple[float | None, ...]
"""The 25th, 50th and 75th percentile, and the tail if there is one."""
Found = dict[tuple[str, str, str], Box]
"""Boxes by application, queue and round-trip time."""


def _lookup(rows: pl.DataFrame, rate: str, columns: Sequence[str]) -> Found:
    import polars as pl

    return {
        (row["app"], row["queue_label"], row["rtt_label"]): tuple(row[name] for name in columns)
        for row in rows.filter(pl.col("rate_label") == rate).iter_rows(named=True)
    }


def draw_boxes(axes: Axes, boxes: Sequence[tuple[float, Box]], colour: str, marker: str) -> None:
    """Draws boxes at their positions on an axis; the axis has a zero if any box needs it."""
    missing = [x for x, (_, middle, *_) in boxes if middle is None]
    known = [(x, low, middle, high) for x, (low, middle, high, *_) in boxes if middle is not None]
    bars = [(x, max(low or 0, 0), high) for x, low, _, high in known if (high or 0) > 0]
    shown = [(x, middle) for x, _, middle, _ in known if middle > 0]
    zero = [x for x, _, middle, _ in known if middle <= 0]
    tails = [
        (x, max(box[2] or 0, 0), box[3]) for x, box in boxes if len(box) > 3 and (box[3] or 0) > 0
    ]
    if tails:
        axes.vlines(*zip(*tails, strict=True), color=colour, linewidth=0.5)
    if bars:
        axes.vlines(*zip(*bars, strict=True), color=colour, linewidth=1.4)
    if shown:
        axes.plot(*zip(*shown, strict=True), marker, color=colour, markersize=3.6)
    if zero:
        axes.plot(zero, [0] * len(zero), "v", color=colour, markersize=4.5, clip_on=False,
                  markerfacecolor="white", label=ZERO)  # fmt: skip
    if missing:
        axes.plot(missing, [0] * len(missing), "x", color="#888888", markersize=4.5, clip_on=False,
                  label=NO_DATA)  # fmt: skip


def _legend(made: Any, choice: ShownPart, panels: Sequence[Axes]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour(n), linewidth=3) for n in range(len(choice.queues))]
    labels = [plain_text(queue) for queue in choice.queues]
    if len(choice.rtts) > 1:
        for marker, rtt in zip(MARKERS, choice.rtts, strict=False):
            handles.append(Line2D([], [], color="#555555", marker=marker, linestyle=""))
            labels.append(f"RTT {rtt}")
    drawn = {line.get_label() for axes in panels for line in axes.lines}
    for marker, text in (("v", ZERO), ("x", NO_DATA)):
        if text not in drawn:
            continue
        face = "white" if marker == "v" else "#555555"
        handles.append(
            Line2D([], [], color="#555555", marker=marker, linestyle="", markerfacecolor=face)
        )
        labels.append(text)
    legend_below(made, handles, labels)
