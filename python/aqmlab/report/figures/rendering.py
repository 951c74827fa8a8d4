"""Renders figures as PNG and SVG, and keeps the sizes of texts for all figures.

matplotlib measures the texts of a figure for the layout, for the PNG and for the SVG. The figures
of a study have most of their texts in common: numbers at ticks, and names of applications and
conditions. Nine of ten measurements are therefore repetitions. All figures have one style, so the
size of a text depends only on the text, its font, the format and the resolution.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from aqmlab.report.figures.png_file import png_file

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.figure import Figure as Canvas
    from matplotlib.font_manager import FontProperties

PNG_DPI = 200

_SVG_DPI = 72
"""The resolution in which matplotlib states the coordinates of an SVG."""

_MOST_KEPT = 10_000
"""The maximum number of texts whose sizes are kept for a format and a resolution."""

_IsMath = bool | Literal["TeX"]
_Size = tuple[float, float, float]


def png(made: Canvas) -> bytes:
    """A figure as PNG."""
    import numpy as np

    made.set_dpi(PNG_DPI)
    agg: Any = agg_canvas(made)  # Its methods have no types.
    agg.draw()
    # The background is opaque, and the compression of its fourth channel would take longer.
    return png_file(np.asarray(agg.buffer_rgba())[:, :, :3], PNG_DPI)


def svg(made: Canvas) -> bytes:
    """A figure as SVG. Rasterized parts have the resolution of the PNG."""
    from matplotlib.backends.backend_mixed import MixedModeRenderer

    width, height = made.get_size_inches()
    made.set_dpi(_SVG_DPI)
    text = io.StringIO()  # An encoder for a file of bytes would be called for each piece of text.
    vector = _classes()[1](
        width * _SVG_DPI, height * _SVG_DPI, text, image_dpi=PNG_DPI, metadata={"Date": None}
    )
    mixed: Any = MixedModeRenderer  # It has no types.
    renderer = mixed(made, width, height, PNG_DPI, vector)
    made.draw(renderer)
    renderer.finalize()
    return text.getvalue().encode()


def agg_canvas(made: Canvas) -> FigureCanvasAgg:
    """Attaches a canvas without a window to a figure, and returns the canvas."""
    return _classes()[0](made)


class _KnownTexts:
    """A mix-in for matplotlib's renderers, which keeps the sizes of texts."""

    dpi: float = _SVG_DPI

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


@cache
def _sizes(renderer: str, dpi: float) -> dict[tuple[str, FontProperties, _IsMath], _Size]:
    """The known sizes of texts for a renderer and a resolution."""
    return {}


@cache
def _classes() -> tuple[type[FigureCanvasAgg], type[RendererSVG]]:
    """The canvas for PNG and the renderer for SVG, both with known sizes of texts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
    from matplotlib.backends.backend_svg import RendererSVG

    class MeasuredAgg(_KnownTexts, RendererAgg):
        pass

    class MeasuredSvg(_KnownTexts, RendererSVG):
        pass

    agg: Any = MeasuredAgg  # Its parameters have no types.

    class Canvas(FigureCanvasAgg):
        _made: tuple[Any, Any] | None = None

        def get_renderer(self) -> Any:
            """The renderer for the present size and resolution."""
            key = (*self.get_width_height(physical=True), self.figure.dpi)
            if self._made is None or self._made[0] != key:
                self._made = key, agg(*key)
            return self._made[1]

    return Canvas, MeasuredSvg
