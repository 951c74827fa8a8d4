"""What forms write: names of ticks, and a line that is to be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.figures.drawing import plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def mark_bound(axes: Axes, bound: tuple[float, str] | None) -> None:
    """A dashed line with its name, such as a rate that is to be reached."""
    if bound is None:
        return
    value, text = bound
    axes.axhline(value, color="#555555", linestyle="--", linewidth=0.9)
    axes.annotate(plain_text(text), (1, value), xycoords=("axes fraction", "data"),
                  ha="right", va="bottom", fontsize=8, color="#555555")  # fmt: skip


def short(text: str) -> str:
    """A tick's label: the unit stands in the axis' name."""
    number, space, unit = text.partition(" ")
    return number if space and unit in ("ms", "s", "Mbit/s") else text
