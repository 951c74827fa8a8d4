"""The order of a panel's lines, and rims around lines that other lines cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    Points = NDArray[np.float64]

_NEAR = 0.006
"""The distance, as a share of the panel, within which points are indistinguishable."""
_MOSTLY = 0.95
"""The default of `least_share`."""
_RIM, _RIMS = 1.2, 3.0
"""The extra width of a covered line, and the largest sum of such widths, in points."""


def calmest_above(axes: Axes) -> None:
    """Draws the lines that fluctuate least on top; call it when the axes are final.

    A line that fluctuates hides the lines behind it; a steady line hides little.
    """
    import numpy as np

    def moves(line: Line2D) -> float:
        return float(np.abs(np.diff(_points(axes, line)[:, 1])).sum())

    for order, line in enumerate(sorted(axes.lines, key=moves, reverse=True)):
        line.set_zorder(2 + order / (len(axes.lines) + 1))  # By default, lines have 2 and texts 3.


def rim_covered(
    panels: Sequence[Axes], along: Literal["x", "y"] = "x", least_share: float = _MOSTLY
) -> list[str]:
    """Widens each line that a line of another colour covers, so that its rim is visible.

    The points of each line are in order `along` an axis. A line counts as covered if at least
    `least_share` of its points are under the other line. Returns a note if there are rims.
    """
    rims = [_rimmed(axes, along, least_share) for axes in panels]
    return ["a rim is a line that lies behind another"] if any(rims) else []


def _rimmed(axes: Axes, along: Literal["x", "y"], least_share: float) -> bool:
    from_top = sorted(enumerate(axes.lines), key=lambda one: (-one[1].get_zorder(), -one[0]))
    lines = [line for _, line in from_top]
    points = [_points(axes, line)[:, :: 1 if along == "x" else -1] for line in lines]
    colours = len({str(line.get_color()) for line in lines})
    found = False
    step = min(_RIM, _RIMS / max(colours - 1, 1))
    for number, line in enumerate(lines):
        above = [
            float(other.get_linewidth())
            for other, shown in zip(lines[:number], points, strict=False)
            if other.get_color() != line.get_color()
            and _share_covered(shown, points[number]) >= least_share
        ]
        if above:
            wider = max(above) + step - float(line.get_linewidth())
            line.set_linewidth(line.get_linewidth() + wider)
            line.set_markersize(line.get_markersize() + wider)
            found = True
    return found


def _points(axes: Axes, line: Line2D) -> Points:
    """The points of a line, as shares of the panel."""
    import numpy as np

    both = np.column_stack([np.asarray(part, dtype=float) for part in line.get_data()])
    placed = (axes.transData - axes.transAxes).transform(both[np.isfinite(both).all(axis=1)])
    return np.asarray(placed, dtype=float)


def _share_covered(above: Points, below: Points) -> float:
    import numpy as np

    if not len(above) or not len(below):
        return 0.0
    apart = np.abs(np.interp(below[:, 0], above[:, 0], above[:, 1]) - below[:, 1])
    return float(np.mean(apart <= _NEAR))
