"""Renderings with kept sizes, outlines and pixels of texts equal those of matplotlib."""

import io

import numpy as np
import pytest
from aqmlab.report.figures import known_texts, rendering
from aqmlab.report.figures.drawing import Drawing, canvas, styled
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas
from PIL import Image


def figure(height_inch=2.5):
    """A figure with texts of several sizes and weights, a formula, and rasterized points."""
    with styled():
        made = canvas(height_inch)
        axes = made.subplots()
        axes.plot([1, 20], [3, 1e4], label="game ↑")
        axes.plot(np.arange(50), np.arange(50), ".", rasterized=True)
        axes.set(yscale="log", xlabel="time (s)", ylabel="throughput\nin Mbit/s")
        axes.set_title("uplink: $x^2$", fontweight="bold")
        axes.annotate("per trial", (0.5, 0.5), rotation=30, fontfamily="DejaVu Serif")
        axes.legend()
    return made


def of_matplotlib(made, kind):
    """The figure as matplotlib's own renderers draw it."""
    with styled():
        FigureCanvasAgg(made)
        made.get_layout_engine().execute(made)
        made.set_layout_engine("none")
        made.set_dpi(rendering.PNG_DPI)
        file = io.BytesIO()
        if kind == "svg":
            FigureCanvasSVG(made).print_svg(file, metadata={"Date": None})
        else:
            FigureCanvasAgg(made).print_png(file, metadata={"Software": None})
    return file.getvalue()


@pytest.mark.parametrize("height_inch", [2.5, 3.25])
def test_an_svg_equals_that_of_matplotlib(height_inch):
    expected = of_matplotlib(figure(height_inch), "svg")
    for _ in range(2):  # the second has only known texts
        assert Drawing("", figure(height_inch), "").rendered("svg") == expected


@pytest.mark.parametrize("height_inch", [2.5, 3.25])
def test_a_png_has_the_pixels_of_that_of_matplotlib(height_inch):
    expected = Image.open(io.BytesIO(of_matplotlib(figure(height_inch), "png")))
    assert expected.getextrema()[3] == (255, 255)  # it is opaque
    for _ in range(2):
        found = Image.open(io.BytesIO(Drawing("", figure(height_inch), "").rendered("png")))
        assert found.mode == "RGB" and found.info == expected.info
        assert np.array_equal(np.asarray(found), np.asarray(expected)[..., :3])


def test_a_text_with_known_pixels_is_drawn_at_each_place_and_in_each_colour():
    known_texts._pixels.cache_clear()
    drawn = []
    for known in (True, False):
        made = canvas(2) if known else Canvas(figsize=(9, 2))
        for x, y, colour in [(18, 18, "black"), (118.5, 36, "red"), (318, 54, "blue")]:
            made.text(x / 648, y / 144, "40 ms", color=colour)
        made.set_dpi(72)
        agg = made.canvas if known else FigureCanvasAgg(made)
        agg.draw()
        drawn.append(np.array(agg.buffer_rgba()))
    assert len(known_texts._pixels()) == 2  # Two of the places are the same within a pixel.
    assert np.array_equal(*drawn)


def test_at_most_some_pixels_of_texts_are_kept(monkeypatch):
    monkeypatch.setattr(known_texts, "_MOST_DRAWN", 5)
    known_texts._pixels.cache_clear()
    expected = Image.open(io.BytesIO(of_matplotlib(figure(), "png"))).convert("RGB")
    found = Image.open(io.BytesIO(Drawing("", figure(), "").rendered("png")))
    assert np.array_equal(np.asarray(found), np.asarray(expected))
    assert 0 < len(known_texts._pixels()) <= 5


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_text_with_other_features_of_its_font_is_another_text(kind):
    seen = []
    for features in (None, ("-kern",), None):
        made = canvas(2)
        text = made.text(0.1, 0.5, "AVAVAV To")
        if not hasattr(text, "set_fontfeatures"):
            pytest.skip("this version of matplotlib has no features of fonts")
        text.set_fontfeatures(features)
        seen.append(Drawing("", made, "").rendered(kind))
    assert seen[0] == seen[2] != seen[1]


def test_pixels_of_texts_are_not_kept_if_matplotlib_draws_texts_by_other_means(monkeypatch):
    known_texts._pixels.cache_clear()
    monkeypatch.delattr(known_texts._Recorder, "draw_text_image")
    expected = Image.open(io.BytesIO(of_matplotlib(figure(), "png"))).convert("RGB")
    found = Image.open(io.BytesIO(Drawing("", figure(), "").rendered("png")))
    assert np.array_equal(np.asarray(found), np.asarray(expected))
    assert not known_texts._pixels()


def test_at_most_some_sizes_of_texts_are_kept(monkeypatch):
    known_texts._sizes.cache_clear()
    one = Drawing("", figure(), "")
    assert one.rendered("svg") and one.rendered("png")
    for key in [("KnownSvg", 72), ("KnownAgg", 200)]:
        assert len(known_texts._sizes(*key)) > 10
    monkeypatch.setattr(known_texts, "_MOST_KEPT", 5)
    known_texts._sizes.cache_clear()
    other = Drawing("", figure(3.25), "")
    assert other.rendered("svg") == of_matplotlib(figure(3.25), "svg")
    assert len(known_texts._sizes("KnownSvg", 72)) <= 5


def test_the_places_of_glyphs_in_a_known_text_are_not_computed_again(monkeypatch):
    expected = of_matplotlib(figure(), "svg")
    assert Drawing("", figure(), "").rendered("svg") == expected
    monkeypatch.setattr("matplotlib._text_helpers.layout", None)
    assert Drawing("", figure(), "").rendered("svg") == expected


@pytest.mark.parametrize("family", ["DejaVu Sans", "DejaVu Serif"])
@pytest.mark.parametrize("text", ["one line", "two\nlines"])
def test_a_layout_with_known_heights_of_fonts_equals_that_of_matplotlib(family, text):
    places = []
    for known in (True, False):
        made = canvas(2) if known else Canvas(figsize=(9, 2))
        written = made.text(0.5, 0.5, text, fontfamily=family, fontsize=7, linespacing=1.3)
        places.append(written.get_window_extent().get_points().tolist())
    assert places[0] == places[1]
