"""What forms share: names of ticks, and lines that are to be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aqmlab.report.figures.drawing import legend_below, plain_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Bound = tuple[float, str]
"""Where a dashed line is drawn across a figure, and what it is: (200, "tolerable")."""


def finish(
    made: Canvas,
    axes: Axes,
    handles: Sequence[Artist],
    labels: Sequence[str],
    bound: Bound | None = None,
) -> None:
    """Draws the bound and the legend, if there is something to tell apart."""
    handles, labels = list(handles), list(labels)
    if len(labels) == 1:  # the title says what it is
        handles, labels = [], []
    if bound is not None:
        value, text = bound
        handles.append(axes.axhline(value, color="#555555", linestyle="--", linewidth=0.9))
        labels.append(plain_text(text))
    if labels:
        legend_below(made, handles, labels)


def short(text: str) -> str:
    """A tick's label: the unit stands in the axis' name."""
    number, space, unit = text.partition(" ")
    return number if space and unit in ("ms", "s", "Mbit/s") else text
