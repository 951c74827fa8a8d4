"""The page of a study: its figures, each with the origin of its data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically
from aqmlab.campaign.store.layout import FIGURES
from aqmlab.report import drawing_time
from aqmlab.report.drawing_time import Wanted
from aqmlab.report.figures import save
from aqmlab.report.figures.drawing import Drawing, plain_text, styled
from aqmlab.report.page import PageImage, image
from aqmlab.report.page.templates import environment
from aqmlab.scenario.seeds import numbers
from aqmlab.studies.draw import Figure
from aqmlab.studies.laboratory import Laboratory, seeds_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from aqmlab.results.results import CampaignResults


@dataclass(frozen=True)
class Shown:
    """A figure that has been drawn, and the paths of its images."""

    figure: Figure
    drawings: Sequence[Drawing]
    paths: Sequence[Path]


def draw(laboratory: Laboratory, figures: Sequence[Figure]) -> Iterator[Shown]:
    """Draws each figure after its trials have run, saves it as PNG and SVG, and yields it."""
    for figure in figures:
        started = time.monotonic()
        drawings = list(_drawings(laboratory, figure))
        paths = save(drawings, laboratory.folder / FIGURES)
        drawing_time.note("figure", to_draw(laboratory, figure), time.monotonic() - started)
        yield Shown(figure, drawings, paths)


def to_draw(laboratory: Laboratory, figure: Figure) -> Wanted:
    """The name and simulated time of a figure, from which its drawing time is estimated."""
    trials = [one for own in laboratory.planned(figure.trials).values() for one in own]
    simulated_s = sum(one.spec.duration_s for one in trials)
    return Wanted(f"{laboratory.study.name} {figure.number}", simulated_s)


def _drawings(laboratory: Laboratory, figure: Figure) -> Iterator[Drawing]:
    results = laboratory.results(*figure.trials)
    caption = _caption(laboratory, figure, results.made_by, results.digest)
    with styled():
        with laboratory.study.place_of_figure(figure).named():
            canvases = _canvases(figure, results)
        for canvas in canvases:
            _entitle(canvas, figure)
    for number, canvas in enumerate(canvases):
        part = f"-{number + 1}" if len(canvases) > 1 else ""
        yield Drawing(f"{laboratory.study.name}-{figure.number}{part}", canvas, caption)


def _canvases(figure: Figure, results: CampaignResults) -> Sequence[Canvas]:
    """The drawings of a figure's form; raises `RequestError` for an unknown column."""
    import polars as pl

    try:
        return figure.form.draw(results)
    except pl.exceptions.ColumnNotFoundError as error:
        column = str(error).partition(";")[0].strip().replace('"', "`")
        varied = ", ".join(results.manifest.conditions)
        raise RequestError(column, f"its conditions are {varied}") from error


def _entitle(canvas: Canvas, figure: Figure) -> None:
    """Adds the title to the canvas, so that the image can stand alone."""
    where = figure.condition.partition(";")[0]
    title = plain_text(f"Fig. {figure.number}: {figure.title}, {where}")
    shown = [axes for axes in canvas.axes if axes.get_visible()]
    if len(shown) == 1 and not shown[0].get_title(loc="left"):
        shown[0].set_title(title)
    else:
        canvas.suptitle(title, x=0.01, horizontalalignment="left", fontsize=9)


def _caption(laboratory: Laboratory, figure: Figure, made_by: str, digest: str | None) -> str:
    seeds = laboratory.asked.seeds
    over = f" ({figure.form.over_seeds})" if len(numbers(seeds)) > 1 else ""
    legend = f" {figure.form.legend}." if figure.form.legend else ""
    return (
        f"Fig. {figure.number}: {figure.title}. {figure.condition}.{legend} "
        f"{seeds_text(seeds).capitalize()}{over}; engine {made_by}; "
        f"digest {digest or 'none: trials are missing'}."
    )


def write(laboratory: Laboratory, shown: Sequence[Shown], command: str) -> Path:
    """Writes the page as `index.html` into the laboratory's folder; returns its path."""
    text = (
        environment("aqmlab.studies", "aqmlab.report.page")
        .get_template("study.html.j2")
        .render(
            study=laboratory.study,
            command=command,
            figures=[_entry(one) for one in shown],
            scenarios=list(_scenarios(laboratory, shown)),
        )
    )
    path = laboratory.folder / "index.html"
    write_atomically(path, text.encode())
    return path


@dataclass(frozen=True)
class _PageEntry:
    """A figure on the page, with its images."""

    number: str
    title: str
    images: Sequence[PageImage]


def _entry(shown: Shown) -> _PageEntry:
    figure, images = shown.figure, [image(drawing) for drawing in shown.drawings]
    return _PageEntry(figure.number, figure.title, images)


def _scenarios(laboratory: Laboratory, shown: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Yields the file name and the text of each scenario behind the figures."""
    for name in dict.fromkeys(need.scenario for one in shown for need in one.figure.trials):
        path = laboratory.study.scenario(name, laboratory.asked.engine)
        yield path.name, path.read_text(encoding="utf-8")
