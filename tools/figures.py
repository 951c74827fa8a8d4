"""The table of the figures of a report, made from their definitions."""

from __future__ import annotations

from aqmlab.report import figures
from aqmlab.scenario.figure_names import FIGURES


def table(_: str) -> str:
    """The names of the figures, in the order of the report, and their titles."""
    rows = (f"| `{name}` | {figures.figure(name).title} |\n" for name in FIGURES)
    return "| Figure | Title |\n|---|---|\n" + "".join(rows)
