"""The looks of applications and of conditions, constant throughout a report.

An application has one colour in all figures, by its position among the applications of the
manifest. A condition, such as a queue discipline, has a colour of another palette and a marker. No
colour occurs in both palettes. Both palettes remain distinct for readers with protanopia and
deuteranopia. Dark and light alternate, so prints in grey are also readable.

The applications' colours come from Okabe and Ito (2008), without black and yellow, and with an
additional brown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.report.figures.drawing import LINES, MARKERS, Line

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

    from aqmlab.results.results import CampaignResults

APP_COLOURS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6B3E12")
CONDITION_COLOURS = (
    "#000000", "#AA3377", "#A6A63A", "#4B2E9B", "#8C8C8C", "#C9B3E6", "#661100", "#BDBDBD",
)  # fmt: skip

UP, DOWN = " ↑", " ↓"
"""The suffixes of an application's name for its directions, if it carries data in both."""


@dataclass(frozen=True, slots=True)
class Look:
    """The colour, the line style and the marker of a line in a figure."""

    colour: str
    line: Line = "-"
    marker: str = "o"

    def handle(self, *, marked: bool = False) -> Line2D:
        """The legend's line in this look, with the look's marker if `marked`."""
        from matplotlib.lines import Line2D

        marker = self.marker if marked else ""
        return Line2D([], [], color=self.colour, linestyle=self.line, marker=marker)


def shows_copies(results: CampaignResults) -> bool:
    """Returns whether there are enough colours for each copy of an application to have its own."""
    return len(results.manifest.apps) <= len(APP_COLOURS)


def app_looks(results: CampaignResults) -> dict[str, Look]:
    """The look of each application by its names in figures, with and without a direction.

    Copies of an application share its colour, unless each copy has its own colour. The line style
    distinguishes directions, and applications whose colours repeat.
    """
    manifest = results.manifest
    groups = {name: manifest.app_groups.get(name, name) for name in manifest.apps}
    names = groups if shows_copies(results) else groups.values()
    order = list(dict.fromkeys([*results.app_order, *names]))
    found: dict[str, Look] = {}
    for name, group in groups.items():
        number = order.index(name if shows_copies(results) else group)
        colour = APP_COLOURS[number % len(APP_COLOURS)]
        down, up = _lines(number // len(APP_COLOURS))
        for one in (name, group):
            for way, line in (("", down), (DOWN, down), (UP, up)):
                found.setdefault(f"{one}{way}", Look(colour, line))
    return found


def _lines(turn: int) -> tuple[Line, Line]:
    """The line styles of downlink and uplink, after the colours were used `turn` times."""
    pairs: Sequence[tuple[Line, Line]] = ((LINES[0], LINES[1]), (LINES[2], LINES[3]))
    return pairs[turn % len(pairs)]


def condition_looks(names: Sequence[str]) -> dict[str, Look]:
    """The look of each condition, by its position in `names`."""
    return {
        name: Look(
            CONDITION_COLOURS[number % len(CONDITION_COLOURS)],
            LINES[number // len(CONDITION_COLOURS) % len(LINES)],
            MARKERS[number % len(MARKERS)],
        )
        for number, name in enumerate(names)
    }
