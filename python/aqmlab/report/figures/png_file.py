"""Writes the pixels of figures as PNG (W3C, Portable Network Graphics, third edition).

Most of a figure is empty, and lines and texts are repeated. zlib therefore compresses the pixels
themselves better than the differences of neighbours that a PNG may hold instead (the filters of
section 9). Pillow always searches for the best filter of each row, which takes as long as the
compression itself.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BITS, _RGB, _PER_METRE = 8, 2, 1
_INCH_M = 0.0254
_LEVEL = 6
"""zlib's level. Level 4 takes about as long, and its files are 6 % larger."""


def png_file(pixels: npt.NDArray[np.uint8], dpi: float) -> bytes:
    """The pixels as PNG, where `pixels` has the axes row, column and colour (red, green, blue)."""
    import numpy as np

    height, width, colours = pixels.shape
    rows = np.zeros((height, 1 + width * colours), np.uint8)  # Each row begins with filter 0: none.
    rows[:, 1:] = pixels.reshape(height, width * colours)
    per_metre = round(dpi / _INCH_M)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, _EIGHT_BITS, _RGB, 0, 0, 0)),
            _chunk(b"pHYs", struct.pack(">IIB", per_metre, per_metre, _PER_METRE)),
            _chunk(b"IDAT", zlib.compress(rows.data, _LEVEL)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG: its length, kind, content and checksum."""
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return b"".join((struct.pack(">I", len(content)), kind, content, struct.pack(">I", checksum)))
