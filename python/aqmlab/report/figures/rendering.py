"""Renders figures as PNG and SVG."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

from aqmlab.report.figures.known_texts import SVG_DPI, agg_renderer, svg_renderer

if TYPE_CHECKING:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

PNG_DPI = 200
_PNG_LEVEL = 3
"""zlib's level. Its default, 6, takes a third more time and saves a tenth of the bytes."""


def png(made: Canvas) -> bytes:
    """A figure as PNG."""
    from PIL import Image

    made.set_dpi(PNG_DPI)
    agg: Any = agg_canvas(made)  # Its methods have no types.
    agg.draw()
    # The background is opaque, and the compression of its fourth channel would take longer.
    size = agg.get_width_height(physical=True)
    image = Image.frombuffer("RGBA", size, agg.buffer_rgba(), "raw", "RGBA", 0, 1)
    buffer = io.BytesIO()
    opaque = image.convert("RGB")
    opaque.save(buffer, "png", dpi=(PNG_DPI, PNG_DPI), compress_level=_PNG_LEVEL)
    return buffer.getvalue()


def svg(made: Canvas) -> bytes:
    """A figure as SVG. Rasterized parts have the resolution of the PNG."""
    from matplotlib.backends.backend_mixed import MixedModeRenderer

    width, height = made.get_size_inches()
    made.set_dpi(SVG_DPI)
    text = io.StringIO()  # An encoder for a file of bytes would be called for each piece of text.
    vector = svg_renderer()(
        width * SVG_DPI, height * SVG_DPI, text, image_dpi=PNG_DPI, metadata={"Date": None}
    )
    mixed: Any = MixedModeRenderer  # It has no types.
    renderer = mixed(made, width, height, PNG_DPI, vector)
    made.draw(renderer)
    renderer.finalize()
    return text.getvalue().encode()


def agg_canvas(made: Canvas) -> FigureCanvasAgg:
    """Attaches a canvas without a window to a figure, and returns the canvas."""
    return _canvas_class()(made)


@cache
def _canvas_class() -> type[FigureCanvasAgg]:
    """The canvas for PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer: Any = agg_renderer()  # Its parameters have no types.

    class KnownCanvas(FigureCanvasAgg):
        _made: tuple[Any, Any] | None = None

        def get_renderer(self) -> Any:
            """The renderer for the present size and resolution."""
            key = (*self.get_width_height(physical=True), self.figure.dpi)
            if self._made is None or self._made[0] != key:
                self._made = key, renderer(*key)
            return self._made[1]

    return KnownCanvas
