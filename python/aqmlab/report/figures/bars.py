"""Panels of bars: a group of bars for each round-trip time, and in each group a bar per queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from aqmlab.report.figures.boxes import ShownPart
from aqmlab.report.figures.drawing import head, name_ticks, panel_title, stacked
from aqmlab.report.figures.looks import Look

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


class BarPlace(NamedTuple):
    """The position and the look of a bar, and the row of numbers that the bar shows."""

    axes: Axes
    x: float
    width: float
    look: Look
    row: Mapping[str, Any]


def bar_panels(
    title: str, rows: pl.DataFrame, choice: ShownPart, height_inch: float
) -> tuple[Canvas, list[Axes], Iterator[BarPlace]]:
    """A drawing with a panel for each rate, and the positions of its bars.

    With one round-trip time, the rates are beside each other in one panel.
    """
    beside = choice.rates if len(choice.rtts) == 1 else choice.rtts
    panels_of = [""] if len(choice.rtts) == 1 else choice.rates
    made, panels = stacked(len(panels_of), height_inch)
    head(made, title)
    for axes, rate in zip(panels, panels_of, strict=True):
        panel_title(axes, f"{rate} Mbit/s (down/up)" if rate else "")
        _name_groups(axes, beside, "RTT {}" if panels_of != [""] else "{} Mbit/s")
    return made, panels, _places(panels, panels_of, beside, rows, choice)


def share_if_alike(panels: Sequence[Axes]) -> list[str]:
    """Gives panels a common y-range if their largest values are similar, or returns a note."""
    tops = [float(axes.get_ylim()[1]) for axes in panels]
    is_alike = max(tops) <= _ALIKE * min(tops)
    for axes, top in zip(panels, tops, strict=True):
        axes.set_ylim(0, max(tops) if is_alike else top)
    return [] if is_alike else ["each panel has an axis of its own"]


_ALIKE = 4


def _name_groups(axes: Axes, groups: Sequence[str], form: str) -> None:
    name_ticks(axes, [form.format(group) if group else "" for group in groups])
    axes.grid(visible=False, axis="x")
    room = max(0.0, 3 - len(groups)) * 0.4  # A bar as wide as the figure is hard to read.
    axes.set_xlim(-0.5 - room, len(groups) - 0.5 + room)


def _places(
    panels: Sequence[Axes],
    panels_of: Sequence[str],
    beside: Sequence[str],
    rows: pl.DataFrame,
    choice: ShownPart,
) -> Iterator[BarPlace]:
    across = "rate_label" if beside is choice.rates else "rtt_label"
    numbers = {queue: number for number, queue in enumerate(choice.queues)}
    width = 0.8 / max(1, len(numbers))
    for row in rows.iter_rows(named=True):
        if row["queue_label"] not in numbers or row[across] not in beside:
            continue
        panel = row["rate_label"] if panels_of != [""] else ""
        if panel in panels_of:
            x = beside.index(row[across]) - 0.4 + width * (numbers[row["queue_label"]] + 0.5)
            look = choice.queues[row["queue_label"]]
            yield BarPlace(panels[panels_of.index(panel)], x, width * 0.9, look, row)
