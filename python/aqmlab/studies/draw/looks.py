"""The looks of series in the figures of studies, from the palettes of reports.

A series of an application has the application's colour, which is the same in all figures of a
study. A series of a condition, such as a queue discipline, has a colour of another palette.
Lines, points and hatches separate series of one colour: both directions of an application, or two
of its numbers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import LINES, MARKERS
from aqmlab.report.figures.looks import CONDITION_COLOURS, Look, app_looks

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_HATCHES = ("", "////", "....", "xxxx")
_POINTS = (".", "x", "+", "1")


@dataclass(frozen=True, slots=True)
class SeriesLook(Look):
    """A colour, a line, a marker, the mark of a point among many points, and the hatch of a bar."""

    point: str = "."
    hatch: str = ""

    @property
    def marker_face(self) -> str:
        """The fill colour of a marker.

        It is the colour of the series if its bars have no hatch, and otherwise white.
        """
        return "white" if self.hatch else self.colour

    @property
    def face(self) -> tuple[float, float, float]:
        """A lighter tone of the colour, as red, green and blue from 0 to 1."""
        from matplotlib.colors import to_rgb

        red, green, blue = (1 - 0.45 * (1 - part) for part in to_rgb(self.colour))
        return red, green, blue


def series_looks(rows: pl.DataFrame, results: CampaignResults) -> dict[str, SeriesLook]:
    """The look of each series of `rows`, in order."""
    found: dict[str, SeriesLook] = {}
    used: Counter[str] = Counter()
    conditions = iter(CONDITION_COLOURS * len(rows))
    shown = _app_colours(rows, results)
    for number, name in enumerate(data.ordered(rows, "series")):
        colour = shown.get(name) or next(conditions)
        turn = used[colour]
        used[colour] += 1
        found[name] = SeriesLook(
            colour,
            LINES[turn % len(LINES)],
            MARKERS[number % len(MARKERS)],
            _POINTS[turn % len(_POINTS)],
            _HATCHES[turn % len(_HATCHES)],
        )
    return found


def _app_colours(rows: pl.DataFrame, results: CampaignResults) -> dict[str, str]:
    """The colour of each series of an application, by the name of the series."""
    if "app" not in rows.columns:
        return {}
    looks = app_looks(results)
    pairs = rows.select("series", "app").unique(maintain_order=True).iter_rows()
    return {str(series): looks[app].colour for series, app in pairs if app in looks}
