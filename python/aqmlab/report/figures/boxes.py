"""Grouped boxes: a marker at the median, a bar from the 25th to the 75th percentile.

The form follows Kua, Nguyen, Armitage and Branch (2017), Figs 2 and 3. Applications are side by
side, each with a box for each queue. Markers distinguish round-trip times. Difference: a thin line
can extend to the percentile that verdicts use.

A logarithmic axis cannot show zero. If there are zeros, a short section below the least decade
extends to zero. Zeros appear there as open triangles, and missing values as crosses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import (
    MARKERS,
    Drawing,
    head,
    legend_below,
    name_ticks,
    panel_title,
    plain_text,
    show_range,
    stacked,
)
from aqmlab.report.figures.looks import Look

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from aqmlab.results.results import CampaignResults

ZERO, NO_DATA = "zero", "no data"
"""The meanings of marks at the zero of an axis. A legend lists the marks that occur."""

_KEYS = ("rate_label", "app", "queue_label", "rtt_label")


@dataclass(frozen=True, slots=True)
class BoxFigure:
    """The quantity that the boxes show, and its style."""

    name: str
    title: str
    columns: tuple[str, str, str]
    """The columns of the 25th, 50th and 75th percentile."""
    axis: str
    tail: str | None = None
    """The column of a further percentile, to which a thin line extends."""
    least_floor: float = 0.0
    """The lower bound of the axis's least decade."""
    zero: str = ZERO
    """The meaning of a median of zero, in the legend."""

    def draw(self, results: CampaignResults) -> Iterator[Drawing]:
        """Yields one drawing with a panel for each rate."""
        import polars as pl

        frame = data.carrying(results, "flows")
        choice = ShownPart.of(frame, data.conditions(results))
        rows = data.medians(frame, self._columns, *_KEYS)
        made, panels = stacked(len(choice.rates), 2.3, sharey=True)
        head(made, self.title)
        for axes, rate in zip(panels, choice.rates, strict=True):
            panel_title(axes, f"{rate} Mbit/s (down/up)" if rate else "")
            self._panel(axes, _lookup(rows, rate, self._columns), choice)
        self._scale(panels, rows, choice)
        _legend(made, choice, panels, self.zero)
        caption = (
            f"{self.title} of each application by {choice.compared}{data.place_note(choice.rtts)}. "
            f"Markers are medians, bars reach from the 25th to the 75th percentile"
            f"{', thin lines to the 95th, by which delays are judged' if self.tail else ''}; "
            f"{data.span_note(results)}, {data.seeds_note(results)}."
        )
        shown = frame.filter(pl.col("app").is_in(choice.apps))
        yield Drawing(self.name, made, caption, [*choice.notes, *data.copies_note(shown)])

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.columns if self.tail is None else (*self.columns, self.tail)

    def _scale(self, panels: Sequence[Axes], rows: pl.DataFrame, choice: ShownPart) -> None:
        """Gives all panels an axis on which every box is visible."""
        import polars as pl

        wanted = rows.filter(*(pl.col(key).is_in(list(one)) for key, one in choice.members.items()))
        found = [value for column in self.columns for value in wanted[column]]
        known = [value for value in found if value is not None]
        sizes = [max(value, self.least_floor) for value in known if value > 0]
        floor = min(sizes, default=0.0)
        show_range(panels, sizes, zeros=len(known) < len(found) or min(known, default=0) < floor)

    def _panel(self, axes: Axes, found: Found, choice: ShownPart) -> None:
        width = 0.84 / max(1, len(choice.queues) * len(choice.rtts))
        for number, (queue, look) in enumerate(choice.queues.items()):
            for step, rtt in enumerate(choice.rtts):
                offset = width * (number * len(choice.rtts) + step + 0.5) - 0.42
                boxes = [
                    (x + offset, found[app, queue, rtt])
                    for x, app in enumerate(choice.apps)
                    if (app, queue, rtt) in found
                ]
                marker = look.marker if len(choice.rtts) == 1 else MARKERS[step % len(MARKERS)]
                draw_boxes(axes, boxes, look.colour, marker)
        axes.set_ylabel(self.axis)
        name_ticks(axes, choice.apps)
        axes.grid(visible=False, axis="x")
        for x in range(1, len(choice.apps)):
            axes.axvline(x - 0.5, color="#BBBBBB", linewidth=0.5)
        axes.set_xlim(-0.5, len(choice.apps) - 0.5)


_MOST_BOXES = 130
"""The maximum number of boxes in a panel that remain distinct."""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """The part of a campaign that is shown, and notes on the hidden part."""

    rates: list[str]
    apps: list[str]
    queues: dict[str, Look]
    rtts: list[str]
    notes: list[str]

    @classmethod
    def of(
        cls, frame: pl.DataFrame, looks: Mapping[str, Look], most_rtts: int = data.MOST_RTTS
    ) -> ShownPart:
        """The part of `frame` that stays readable. `looks` holds the look of each queue."""
        rates, note_rates = data.chosen(frame, "rate_label", data.MOST_RATES, "rates")
        apps, note_apps = data.chosen(frame, "app", data.MOST_APPS, "applications")
        queues, note_queues = data.chosen_queues(frame, looks)
        room = max(2, _MOST_BOXES // max(1, len(apps) * len(queues)))
        rtts, note_rtts = data.chosen(frame, "rtt_label", min(most_rtts, room), "round-trip times")
        notes = [*note_rates, *note_apps, *note_queues, *note_rtts]
        return cls(rates, apps, {one: looks[one] for one in queues}, rtts, notes)

    @property
    def members(self) -> dict[str, Collection[str]]:
        """The shown values by column of labels."""
        return {
            "rate_label": self.rates,
            "app": self.apps,
            "queue_label": self.queues,
            "rtt_label": self.rtts,
        }

    @property
    def compared(self) -> str:
        """The word in a caption for the things that are compared."""
        return "queue" if self.rates != [""] or self.rtts != [""] else "condition"


Box = tuple[float | None, ...]
"""The 25th, 50th and 75th percentile, and the 95th if the figure shows a tail."""
Found = dict[tuple[str, str, str], Box]
"""Boxes by application, queue and round-trip time."""


def _lookup(rows: pl.DataFrame, rate: str, columns: Sequence[str]) -> Found:
    import polars as pl

    return {
        (row["app"], row["queue_label"], row["rtt_label"]): tuple(row[name] for name in columns)
        for row in rows.filter(pl.col("rate_label") == rate).iter_rows(named=True)
    }


def draw_boxes(axes: Axes, boxes: Sequence[tuple[float, Box]], colour: str, marker: str) -> None:
    """Draws boxes at their positions; zeros and missing values are marked at zero."""
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
        axes.plot(*zip(*shown, strict=True), marker, color=colour, markersize=4)
    if zero:
        axes.plot(zero, [0] * len(zero), "v", color=colour, markersize=4.5, clip_on=False,
                  markerfacecolor="white", label=ZERO)  # fmt: skip
    if missing:
        axes.plot(missing, [0] * len(missing), "x", color="#888888", markersize=4.5, clip_on=False,
                  label=NO_DATA)  # fmt: skip


def _legend(made: Any, choice: ShownPart, panels: Sequence[Axes], zero: str) -> None:
    from matplotlib.lines import Line2D

    marked = len(choice.rtts) == 1
    handles = [look.handle(marked=marked) for look in choice.queues.values()]
    labels = [plain_text(queue) for queue in choice.queues]
    if not marked:
        for marker, rtt in zip(MARKERS, choice.rtts, strict=False):
            handles.append(Line2D([], [], color="#555555", marker=marker, linestyle=""))
            labels.append(f"RTT {rtt}")
    drawn = {line.get_label() for axes in panels for line in axes.lines}
    for marker, label, text in (("v", ZERO, zero), ("x", NO_DATA, NO_DATA)):
        if label not in drawn:
            continue
        face = "white" if marker == "v" else "#555555"
        handles.append(
            Line2D([], [], color="#555555", marker=marker, linestyle="", markerfacecolor=face)
        )
        labels.append(text)
    legend_below(made, handles, labels)
