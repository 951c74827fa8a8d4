"""Figures of a campaign: one file and one list entry per figure.

A figure declares the tables that it needs and the campaigns to which it applies. It makes one
drawing, or several if one could not show all conditions legibly. `drawing.FigureDefinition` has all
that a figure declares. A figure reads only `CampaignResults`, and neither files nor other figures.
The list of figures is `scenario.figure_names.FIGURES`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.files import write_atomically
from aqmlab.report.figures import fonts
from aqmlab.report.figures.drawing import Drawing, Drawings, FigureDefinition, own_names, styled
from aqmlab.results.summary import sparse
from aqmlab.scenario.figure_names import FIGURES

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults


def figure(name: str) -> FigureDefinition:
    """The figure called `name`; raises `RequestError` with a suggestion."""
    if name not in FIGURES:
        raise RequestError(f"unknown figure `{name}`", suggestion(name, FIGURES))
    found: FigureDefinition = import_module(f"aqmlab.report.figures.{name}").FIGURE
    return found


def applicable(results: CampaignResults) -> list[str]:
    """The figures that apply to a campaign."""
    return [name for name in FIGURES if _applies(figure(name), results)]


def wanted(results: CampaignResults) -> list[str]:
    """The applicable figures that the scenario selects, or else all applicable figures."""
    asked = [name for name in results.manifest.figures if name in FIGURES]
    return [name for name in asked if _applies(figure(name), results)] or applicable(results)


def draw(results: CampaignResults, name: str) -> Drawings:
    """The drawings of the figure `name`; raises `RequestError` if the figure does not apply."""
    chosen = figure(name)
    if not _applies(chosen, results):
        raise RequestError(f"the figure `{name}` has nothing to show in these results")
    with styled():
        drawings = Drawings(chosen.draw(results))
        boxed = [fonts.complete(drawing.canvas) for drawing in drawings]
    names = own_names([drawing.name for drawing in drawings])
    for drawing, own in zip(drawings, names, strict=True):
        drawing.name = own
    few = sparse(results) if "flows" in chosen.tables else ""
    for drawing, lost in zip(drawings, boxed, strict=True):
        drawing.notes = [*drawing.notes, *filter(None, (few, lost))]
    return drawings


def save(drawings: list[Drawing], folder: Path) -> list[Path]:
    """Writes each drawing as PNG and SVG; returns the paths."""
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError.of(error, folder) from error
    with styled():
        for drawing in drawings:
            for kind in ("png", "svg"):
                path = folder / f"{drawing.name}.{kind}"
                write_atomically(path, drawing.rendered(kind), synced=False)
                paths.append(path)
    return paths


def _applies(chosen: FigureDefinition, results: CampaignResults) -> bool:
    present = all(name in results.tables and results.height(name) for name in chosen.tables)
    return present and chosen.applies(results)
