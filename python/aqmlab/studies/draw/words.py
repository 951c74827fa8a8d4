"""Common parts of forms: names of ticks, and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aqmlab.report.figures.drawing import legend_below, plain_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Bound = tuple[float, str]
"""The position of a dashed line across a figure, and its meaning: (200, "tolerable")."""

_CROWDED = 16
"""The largest number of ticks whose labels are written horizontally, whatever their length."""

_ABOVE = 1.04
"""The end of an axis that is extended to a bound, as a multiple of the bound."""

_NARROW = 3
"""The largest number of characters of labels that are written horizontally at any tick count."""


def label_rotation(labels: Sequence[str]) -> int:
    """The angle in degrees at which the labels of an axis fit next to each other."""
    return 90 if len(labels) > _CROWDED and max(map(len, labels)) > _NARROW else 0


def finish(
    made: Canvas,
    axes: Axes,
    handles: Sequence[Artist],
    labels: Sequence[str],
    bound: Bound | None = None,
) -> None:
    """Draws the bound, if any, and the legend. The legend omits a single series."""
    handles, labels = list(handles), list(labels)
    if len(labels) == 1:  # The title names the only entry.
        handles, labels = [], []
    if bound is not None:
        value, text = bound
        _show(axes, value)
        handles.append(axes.axhline(value, color="#555555", linestyle="--", linewidth=0.9))
        labels.append(plain_text(text))
    if labels:
        legend_below(made, handles, labels)


def _show(axes: Axes, value: float) -> None:
    """Extends the vertical axis beyond `value`, if its upper end is below `value`."""
    if axes.get_ylim()[1] < value:
        axes.set_ylim(top=value * _ABOVE)


def short(text: str) -> str:
    """The label of a tick without ms, s or Mbit/s, which the name of the axis states."""
    number, space, unit = text.partition(" ")
    return number if space and unit in ("ms", "s", "Mbit/s") else text
