"""Validation: the differences between simulator and kernel, and between seeds of the kernel."""

from __future__ import annotations

from aqmlab.validation.grid import Cell, Grid, load
from aqmlab.validation.reference import Reference

__all__ = ["Cell", "Grid", "Reference", "load"]
