"""Common parts of all figures: the definition of a figure, which states its input
(`FigureDefinition`), the style, and the rendering."""

from __future__ import annotations

import base64
import html
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from aqmlab.base.failures import RequestError
from aqmlab.base.unique_names import Names
from aqmlab.report.figures.rendering import agg_canvas, png, svg

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import CampaignResults

WIDTH_INCH = 9.0

_STYLE = Path(__file__).with_name("aqmlab.mplstyle")
_STYLED = ContextVar("_STYLED", default=False)
"""Whether `styled` has applied the style in this context."""


@dataclass(slots=True)
class Drawing:
    """One drawing: its file name, caption, and notes on omitted data."""

    name: str
    canvas: Canvas
    caption: str
    notes: Sequence[str] = ()
    _rendered: dict[str, bytes] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The caption and the notes, as sentences."""
        notes = ". ".join(note[0].upper() + note[1:] for note in self.notes)
        return self.caption + (f" {notes}." if notes else "")

    def _repr_png_(self) -> bytes:
        """The drawing, for notebooks."""
        return self.rendered("png")

    def _repr_html_(self) -> str:
        """The drawing with its caption, for notebooks."""
        data = base64.b64encode(self.rendered("png")).decode()
        text = html.escape(self.text)
        return (
            f'<figure style="margin: 0 0 1em"><img src="data:image/png;base64,{data}" '
            f'alt="{html.escape(self.caption)}" style="max-width: 100%; width: {WIDTH_INCH:g}in">'
            f"<figcaption>{text}</figcaption></figure>"
        )

    def rendered(self, kind: str) -> bytes:
        """The drawing as `png` or `svg`; equal results give equal bytes."""
        if kind not in self._rendered:
            with styled():
                self._rendered[kind] = self._render(kind)
        return self._rendered[kind]

    def _render(self, kind: str) -> bytes:
        # `savefig` would lay out and draw everything twice for each format.
        layout = self.canvas.get_layout_engine()
        with warnings.catch_warnings():
            # A note states the characters that no font has.
            warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font")
            if layout is not None:
                layout.execute(self.canvas)
                self.canvas.set_layout_engine("none")
            return svg(self.canvas) if kind == "svg" else png(self.canvas)


class Drawings(list[Drawing]):
    """The drawings of a figure, which a notebook shows."""

    def _repr_html_(self) -> str:
        """The drawings one below another, for notebooks."""
        return "\n".join(one._repr_html_() for one in self)


def own_names(wanted: Sequence[str]) -> list[str]:
    """File names of drawings, unique even if case is ignored."""
    taken = Names()
    return [taken.free(name) for name in wanted]


def always(_: CampaignResults) -> bool:
    """Returns true, because the figure applies to every campaign that has the tables."""
    return True


@dataclass(frozen=True, slots=True)
class FigureDefinition:
    """A figure: its title, tables and drawing function, and the campaigns to which it applies."""

    title: str
    tables: Sequence[str]
    draw: Callable[[CampaignResults], Iterator[Drawing]]
    applies: Callable[[CampaignResults], bool] = always


@contextmanager
def styled() -> Iterator[None]:
    """Applies the style of all figures, independent of the user's settings.

    A context within another such context does nothing, because applying the style takes long.
    """
    if _STYLED.get():
        yield
        return
    try:
        import matplotlib
    except ImportError:
        raise RequestError("figures need matplotlib", "pip install matplotlib") from None
    from matplotlib.style import context

    with matplotlib.rc_context(), context(["default", str(_STYLE)]):
        token = _STYLED.set(True)
        try:
            yield
        finally:
            _STYLED.reset(token)


def canvas(height_inch: float, width_inch: float = WIDTH_INCH) -> Canvas:
    """An empty figure without a window."""
    from matplotlib.figure import Figure as Canvas

    made = Canvas(figsize=(width_inch, height_inch))
    agg_canvas(made)
    return made


def stacked(
    count: int, height_inch: float, *, sharex: bool = True, sharey: bool = False
) -> tuple[Canvas, list[Axes]]:
    """A canvas with `count` panels, one below another."""
    made = canvas(max(2.6, height_inch * count + 0.7))
    axes = made.subplots(count, 1, sharex=sharex, sharey=sharey, squeeze=False)
    return made, [row[0] for row in axes]


def head(made: Canvas, title: str) -> None:
    """Writes the title of a drawing above its panels, in a line of its own."""
    made.set_size_inches(made.get_figwidth(), made.get_figheight() + 0.25)
    words = plain_text(shortened(title, _TITLE))
    made.suptitle(words, x=0.008, ha="left", fontsize=10, fontweight="bold")


def panel_title(axes: Axes, text: str, columns: int = 1) -> None:
    """Writes the title of a panel, shortened to the panel's width among `columns` columns."""
    axes.set_title(plain_text(shortened(text, _TITLE // columns - 4)))


_TITLE = 104
"""The number of characters of a title that fit into the width of a drawing."""


def shortened(text: str, most: int) -> str:
    """`text` in at most `most` characters, without its middle if it is longer.

    >>> shortened("abcdefgh", 8), shortened("abcdefghi", 5)
    ('abcdefgh', 'ab…hi')
    """
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def name_ticks(axes: Axes, names: Sequence[str], width_share: float = 1.0) -> None:
    """Names the ticks 0, 1, 2, … of the x-axis; slants names that do not fit side by side."""
    room = int(_TICKS * width_share / max(1, len(names)))
    fits = all(len(name) <= room for name in names)
    words = [plain_text(shortened(name, _LONGEST_TICK)) for name in names]
    axes.set_xticks(range(len(names)), words)
    axes.tick_params(axis="x", length=0, rotation=0 if fits else 30)
    for label in () if fits else axes.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")


_TICKS, _LONGEST_TICK = 118, 40
"""The maximum number of characters of all names along an axis, and of one slanted name."""


def grid(count: int, columns: int, height_inch: float) -> tuple[Canvas, list[Axes]]:
    """A canvas with panels in rows of at most `columns`, with common axes."""
    columns = min(columns, count)
    rows = -(-count // columns)
    made = canvas(max(2.6, height_inch * rows + 0.7))
    axes = made.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel().tolist()
    for surplus in axes[count:]:
        surplus.set_visible(False)
    for above in axes[max(0, count - columns) : count]:
        above.tick_params(labelbottom=True)
    return made, axes[:count]


def name_axes(panels: Sequence[Axes], columns: int, x: str, y: str) -> None:
    """Names the axes of a `grid`: below the lowest panels and beside the leftmost."""
    columns = min(columns, len(panels))
    for number, axes in enumerate(panels):
        if number + columns >= len(panels):
            axes.set_xlabel(x)
        if number % columns == 0:
            axes.set_ylabel(y)


_DECADE = 10.0


def show_range(panels: Sequence[Axes], sizes: Sequence[float], *, zeros: bool) -> None:
    """Gives panels with a common y-axis a scale on which all `sizes` are visible.

    `sizes` are positive and typical of each part of the data. If the data span less than a decade,
    the axis is linear from zero, or from just below zero if there are `zeros`. Otherwise it is
    logarithmic, with a linear section below its least decade if there are `zeros`.
    """
    known = [size for size in sizes if math.isfinite(size) and size > 0]
    tops = [float(axes.dataLim.ymax) for axes in panels if axes.has_data()]
    most = max((top for top in tops if math.isfinite(top)), default=0.0)
    if not known or max(most, *known) < _DECADE * min(known):
        for axes in panels:
            top = most * 1.08 if most > 0 else 1.0
            axes.set_ylim(-top / 25 if zeros else 0, top)
        return
    floor = 10.0 ** math.floor(math.log10(min(known)))
    for axes in panels:
        axes.set_ylim(floor * 0.8, most * 1.5)
        if zeros:
            log_axis_from_zero(axes, floor)
        else:
            log_axis(axes.yaxis)


def log_axis(axis: XAxis | YAxis) -> None:
    """Makes an axis logarithmic with plain numbers: 0.1, 1, 10, 1000.

    If a panel spans less than two decades, its axis also has the numbers 2 and 5 of each decade.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    if axis.axis_name == "x":
        axis.axes.set_xscale("log")
    else:
        axis.axes.set_yscale("log")
    low, high = axis.get_view_interval()
    narrow = 0 < low < high < low * 100
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator() if narrow else LogLocator(subs=(2.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())


def log_axis_from_zero(axes: Axes, least: float, decades: float = 0.4) -> None:
    """Makes the y-axis logarithmic from `least` up, and linear from zero to `least`.

    The linear section is as high as `decades` decades.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter, SymmetricalLogLocator

    axes.set_yscale("symlog", linthresh=least, linscale=decades)
    # The axis must not hide a line at zero, and needs a number besides zero.
    axes.set_ylim(-least / 8, max(axes.get_ylim()[1], 1.25 * least))
    axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=least))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    between = SymmetricalLogLocator(subs=(2.0, 5.0), base=10, linthresh=least)
    axes.yaxis.set_minor_locator(between)
    axes.yaxis.set_minor_formatter(NullFormatter())


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
Line = Literal["-", "--", "-.", ":"]
LINES: tuple[Line, ...] = ("-", "--", "-.", ":")


def legend_below(made: Canvas, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Draws one legend for all panels below them, in one row if it fits, or else in columns."""
    labels = [textwrap.fill(label, _LONGEST) for label in labels]
    columns = len(labels)
    if sum(len(label) + _HANDLE for label in labels) > _ROW:
        columns = max(1, int(_ROW / (max(map(len, labels)) + _HANDLE)))
    made.legend(list(handles), labels, loc="outside lower center", ncols=columns)


_ROW, _HANDLE, _LONGEST = 110, 6, 76
"""Numbers of characters: a legend's row, the sample beside a label, and a label's longest line."""


def plain_text(text: str) -> str:
    """`text` with dollar signs escaped, which would otherwise start a formula."""
    return text.replace("$", r"\$")
