"""Validation: the differences of the simulator from the kernel, and among the kernel's seeds."""

from __future__ import annotations

from aqmlab.validation.grid import Cell, Grid, load
from aqmlab.validation.reference import Reference

__all__ = ["Cell", "Grid", "Reference", "load"]
