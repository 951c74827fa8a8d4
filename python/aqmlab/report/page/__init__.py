"""The report of a campaign: one self-contained HTML page, and its figures as files.

Every name comes from a user's file. Templates therefore escape all text, and figures are images,
which cannot run scripts.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.files import refuse_special, write_atomically
from aqmlab.campaign.store import own_files
from aqmlab.campaign.store.layout import FIGURES
from aqmlab.campaign.store.manifest import CampaignFacts
from aqmlab.report import drawing_time, figures
from aqmlab.report.drawing_time import Wanted
from aqmlab.report.page import tables
from aqmlab.report.page.templates import environment
from aqmlab.results.verdicts.comparison import Baseline, BaselineComparison
from aqmlab.results.verdicts.wording import INTERVAL

if TYPE_CHECKING:
    from aqmlab.report.figures.drawing import Drawing
    from aqmlab.results.results import CampaignResults

_LARGEST_SVG = 1_500_000
"""The size in bytes above which a drawing is shown as PNG."""


@dataclass(frozen=True, slots=True)
class PageImage:
    """A drawing as the page embeds it."""

    source: str
    """The drawing as a data URL."""
    caption: str
    name: str


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure as the page embeds it: a title and one or more drawings."""

    title: str
    drawings: Sequence[PageImage]


def write(
    results: CampaignResults,
    path: Path,
    names: Sequence[str] | None = None,
    watched: Callable[[Sequence[str]], Iterable[str]] = iter,
    baseline: Baseline | None = None,
) -> Path:
    """Writes the report to `path`, and its figures into the folder `figures` beside it.

    `names` selects the figures; by default the report has the applicable figures that the scenario
    selects, or else all. `watched` receives the names, yields them again and can show the progress.
    Differences are from `baseline`; `None` stands for the default of `BaselineComparison`.
    Before it draws or writes anything, raises `RequestError` if a file of the results has changed
    since it was written, and `DiskError` if `path` is a folder, a pipe or a device.
    """
    own_files.refuse(path)
    refuse_special(path)
    started = time.monotonic()
    results.verify()
    shown = []
    for name in watched(names if names is not None else figures.wanted(results)):
        drawings = figures.draw(results, name)
        figures.save(drawings, path.parent / FIGURES)
        shown.append(PageFigure(figures.figure(name).title, [image(one) for one in drawings]))
    write_atomically(path, page(results, shown, baseline).encode())
    if names is None:
        drawing_time.note("report", to_draw(results.manifest), time.monotonic() - started)
    return path


def to_draw(facts: CampaignFacts) -> Wanted:
    """The report of a campaign, for a prediction of the time to draw the report."""
    lengths_s = (one.duration_s for one in facts.trials)
    own_s = (facts.duration_s if one is None else one for one in lengths_s)
    return Wanted(f"{facts.name}: {facts.title}", sum(own_s))


def page(results: CampaignResults, shown: Sequence[PageFigure], baseline: Baseline | None) -> str:
    """The report of `results` as HTML, with the figures `shown`."""
    manifest = results.manifest
    comparison = BaselineComparison(results.judged, baseline)
    matrices = tables.matrices(results, comparison)
    return (
        environment("aqmlab.report.page")
        .get_template("page.html.j2")
        .render(
            results=results,
            manifest=manifest,
            seeds=manifest.seeds(),
            finished=results.table("trials").height,
            notes=tables.notes(results),
            matrices=matrices,
            conclusion=tables.conclusion(results),
            tally_words=tables.tally_words(results),
            tallies=tables.tallies(results),
            baseline=tables.baseline(comparison),
            has_quality=tables.has_quality(matrices),
            interval=INTERVAL,
            lines=tables.numbers(results),
            figures=shown,
            made=tables.how_made(results),
        )
    )


def image(drawing: Drawing) -> PageImage:
    """The drawing as SVG in a data URL, or as PNG if the SVG is too large."""
    kind, mime = "svg", "image/svg+xml"
    if len(drawing.rendered("svg")) > _LARGEST_SVG:
        kind, mime = "png", "image/png"
    data = base64.b64encode(drawing.rendered(kind)).decode()
    return PageImage(f"data:{mime};base64,{data}", drawing.text, drawing.name)
