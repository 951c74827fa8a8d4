"""`aqmlab validate`: how far the simulator is from the kernel, and the kernel from itself."""

from __future__ import annotations

from aqmlab.validation.grid import Cell, Grid, load
from aqmlab.validation.reference import Reference

__all__ = ["Cell", "Grid", "Reference", "load"]
