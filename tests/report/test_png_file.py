"""Files in PNG hold the pixels and the resolution that they were made of."""

import io

import numpy as np
import pytest
from aqmlab.report.figures.png_file import png_file
from PIL import Image


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (64, 300)])
def test_a_png_gives_its_pixels_back(height, width):
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    with Image.open(io.BytesIO(png_file(pixels, 200))) as found:
        assert found.mode == "RGB" and found.size == (width, height)
        assert found.info["dpi"] == pytest.approx((200, 200), abs=0.01)
        assert np.array_equal(np.asarray(found), pixels)


def test_a_png_of_a_part_of_each_pixel_has_this_part():
    pixels = np.arange(4 * 6 * 4, dtype=np.uint8).reshape(4, 6, 4)
    with Image.open(io.BytesIO(png_file(pixels[:, :, :3], 100))) as found:
        found.verify()
    with Image.open(io.BytesIO(png_file(pixels[:, :, :3], 100))) as found:
        assert np.array_equal(np.asarray(found), pixels[:, :, :3])
