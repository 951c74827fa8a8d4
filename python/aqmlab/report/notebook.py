"""The display of results in notebooks: the conclusion, and the numbers of each application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.base.numerals import number
from aqmlab.report.page import tables
from aqmlab.report.page.templates import environment
from aqmlab.results.summary import lines

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults

_MOST_ROWS = 60


def html_of(results: CampaignResults) -> str:
    """The results as HTML without scripts, in which all text of the scenario is escaped."""
    rows = list(lines(results))
    made = environment("aqmlab.report").get_template("notebook.html.j2")
    return made.render(
        manifest=results.manifest,
        finished=results.table("trials").height,
        digest=results.digest,
        path=str(results.path),
        sentences=tables.conclusion(results),
        rows=rows[:_MOST_ROWS],
        left=max(0, len(rows) - _MOST_ROWS),
        number=number,
    )
