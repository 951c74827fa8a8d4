"""Keeps what matplotlib finds out about texts, for all figures.

matplotlib measures the texts of a figure for the layout, for the PNG and for the SVG. The figures
of a study have most of their texts in common: numbers at ticks, and names of applications and
conditions. Nine of ten measurements are therefore repetitions. All figures have one style, so the
size of a text depends only on the text, its font, the format and the resolution. The same holds for
the places of glyphs in a text, and for the pixels of texts that begin at the same place within a
pixel.

matplotlib itself calls `_get_font_height_metrics`, and reads `_renderer` and `_text2path`. A
version of matplotlib without these names draws the same figures more slowly.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.font_manager import FontProperties

SVG_DPI = 72
"""The resolution in which matplotlib states the coordinates of an SVG."""

_MOST_KEPT = 10_000
"""The maximum number of texts whose sizes are kept for a format and a resolution."""

_MOST_DRAWN = 2_000
"""The maximum number of texts whose pixels are kept, some 3 kB each on average."""

_IsMath = bool | Literal["TeX"]
_Size = tuple[float, float, float]
_Heights = tuple[float | None, float | None, float | None]


class _KnownSizes:
    """A mix-in for matplotlib's renderers, which keeps the sizes of texts and fonts."""

    dpi: float = SVG_DPI

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: _IsMath) -> _Size:
        """The width, height and descent of a text in pixels."""
        kept = _sizes(type(self).__name__, self.dpi)
        found = kept.get((s, prop, ismath))
        if found is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            base: Any = super()
            found = base.get_text_width_height_descent(s, prop, ismath)
            kept[s, prop.copy(), ismath] = found  # The caller may change its font later.
        return found

    def _get_font_height_metrics(self, prop: FontProperties) -> _Heights:
        """The ascent, descent and gap between lines of a font in pixels.

        Without this method, matplotlib 3.11 reads them from the font for each layout of a text.
        """
        kept = _heights(self.dpi)
        found = kept.get(prop)
        if found is None:
            found = kept[prop.copy()] = _heights_of(prop, self.dpi)
        return found


@cache
def _sizes(renderer: str, dpi: float) -> dict[tuple[str, FontProperties, _IsMath], _Size]:
    """The known sizes of texts for a renderer and a resolution."""
    return {}


@cache
def _heights(dpi: float) -> dict[FontProperties, _Heights]:
    """The known heights of fonts for a resolution."""
    return {}


def _heights_of(prop: FontProperties, dpi: float) -> _Heights:
    """The heights of a font, with the arithmetic of `Text._get_layout` of matplotlib 3.11.

    All are `None` if the font does not state them. matplotlib then measures a text.
    """
    from matplotlib.font_manager import findfont, get_font

    font: Any = get_font(findfont(prop))
    for table, ascent, descent, gap in (
        ("OS/2", "sTypoAscender", "sTypoDescender", "sTypoLineGap"),
        ("hhea", "ascent", "descent", "lineGap"),
    ):
        stated = font.get_sfnt_table(table)
        if stated is not None:
            units = font.get_sfnt_table("head")["unitsPerEm"]
            scale = 1 / units * prop.get_size_in_points() * dpi / 72
            return stated[ascent] * scale, -stated[descent] * scale, stated[gap] * scale
    return None, None, None


_Piece = tuple[Any, int, int, float]
"""The pixels of a glyph, their place relative to the text's, and the angle of the glyph."""


class _Recorder:
    """Stands for the core of `RendererAgg` while it draws a text, and records the pixels."""

    def __init__(self, left: int, top: int) -> None:
        self._left, self._top = left, top
        self.pieces: list[_Piece] = []

    def draw_text_image(self, pixels: Any, x: int, y: int, angle: float, gc: Any) -> None:
        """Records the pixels of a glyph, with their place relative to the text's."""
        import numpy as np

        self.pieces.append((np.array(pixels), x - self._left, y - self._top, angle))


@cache
def _pixels() -> dict[object, list[_Piece]]:
    """The known pixels of texts, by the text, its font, its angle, its place within a pixel, the
    resolution, antialiasing, and the settings of `_settings_of`.
    """
    return {}


def _keep_pixels(key: object, pieces: list[_Piece] | None) -> None:
    """Keeps the pixels of a text, and no others if there are too many."""
    if pieces is None:
        return
    kept = _pixels()
    if len(kept) >= _MOST_DRAWN:
        kept.clear()
    kept[key] = pieces


def _settings_of(mtext: Any) -> str:
    """The language and the font's features that the user of a figure has set for a text."""
    members = ("get_language", "get_fontfeatures")
    return repr([getattr(mtext, name)() for name in members if hasattr(mtext, name)])


@cache
def agg_renderer() -> type[RendererAgg]:
    """The renderer for PNG, which keeps the sizes and the pixels of texts."""
    from matplotlib.backends.backend_agg import RendererAgg

    class KnownAgg(_KnownSizes, RendererAgg):
        _renderer: Any

        def draw_text(
            self,
            gc: Any,
            x: float,
            y: float,
            s: str,
            prop: FontProperties,
            angle: float,
            ismath: _IsMath = False,
            mtext: Any = None,
        ) -> None:
            """Draws a text, with known pixels if it has begun at this place within a pixel."""
            pieces = None
            if not ismath:
                within = x - math.floor(x), y - math.floor(y)
                key = s, prop, angle, within, self.dpi, gc.get_antialiased(), _settings_of(mtext)
                pieces = _pixels().get(key)
                if pieces is None:
                    pieces = self._recorded(gc, x, y, s, prop, angle, mtext)
                    _keep_pixels((s, prop.copy(), *key[2:]), pieces)
            if pieces is None:
                base: Any = super()
                base.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
                return
            for pixels, right, down, slope in pieces:
                place = math.floor(x) + right, math.floor(y) + down
                self._renderer.draw_text_image(pixels, *place, slope, gc)

        def _recorded(
            self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, mtext: Any
        ) -> list[_Piece] | None:
            """The pixels of a text, or `None` if matplotlib draws texts by other means."""
            base: Any = super()
            core, recorder = self._renderer, _Recorder(math.floor(x), math.floor(y))
            self._renderer = recorder
            try:
                base.draw_text(gc, x, y, s, prop, angle, False, mtext)
            except AttributeError:  # The recorder lacks a method that this version calls.
                return None
            finally:
                self._renderer = core
            return recorder.pieces

    return KnownAgg


@cache
def _places() -> dict[tuple[object, str, str], Any]:
    """The known places of glyphs, by the font, the text and matplotlib's options, for SVG."""
    return {}


@cache
def _outlines() -> dict[str, Any]:
    """The known outlines of glyphs, by the names that SVGs give them."""
    return {}


@cache
def svg_renderer() -> type[RendererSVG]:
    """The renderer for SVG, which keeps the sizes and the outlines of texts."""
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.textpath import TextToPath

    base: Any = TextToPath  # It has no types.

    class KnownOutlines(base):  # type: ignore[misc]
        """Keeps the places of glyphs in texts, and the outlines of glyphs."""

        def get_glyphs_with_font(self, font: Any, s: str, *how: Any, **options: Any) -> Any:
            """The places of a text's glyphs, and the outlines of those not in `glyph_map`."""
            if how or not options.pop("return_new_glyphs_only", False):
                return super().get_glyphs_with_font(font, s, *how, **options)
            drawn = options.pop("glyph_map")
            kept, key = _places(), (font, s, repr(options))
            if key not in kept:
                if len(kept) >= _MOST_KEPT:
                    kept.clear()
                    _outlines().clear()
                kept[key] = super().get_glyphs_with_font(font, s, _outlines(), **options)
            places, outlines, boxes = kept[key]
            new = {name: outlines[name] for name, *_ in places if name not in drawn}
            return places, new, boxes

    outlines = KnownOutlines()

    class KnownSvg(_KnownSizes, RendererSVG):
        def __init__(self, *args: Any, **options: Any) -> None:
            initial: Any = super()
            initial.__init__(*args, **options)
            self._text2path = outlines

    return KnownSvg
