"""`aqmlab report`: writes a campaign's report again, or draws some of its figures."""

from __future__ import annotations

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.layout import FIGURES
from aqmlab.cli.parameters.report import ReportParameters
from aqmlab.cli.progress import drawn
from aqmlab.report import figures, page
from aqmlab.results.results import CampaignResults, load


def command(given: ReportParameters) -> int:
    """Runs `aqmlab report`; returns the exit status."""
    if given.figure:
        _refuse_report_options(given)
        for name in given.figure:
            figures.figure(name)
        _draw(load(given.folder), list(dict.fromkeys(given.figure)))
        return 0
    results = load(given.folder)
    names = figures.applicable(results) if given.every else None
    print(page.write(results, given.out or results.path / "report.html", names, drawn))
    return 0


def _refuse_report_options(given: ReportParameters) -> None:
    wrong = "--out" if given.out else "--all-figures" if given.every else None
    if wrong is not None:
        problem = f"--figure: no report is written, so `{wrong}` has no effect"
        raise RequestError(problem, "leave one of the two out")


def _draw(results: CampaignResults, names: list[str]) -> None:
    """Writes the drawings of the figures into the folder's `figures`, and prints their paths."""
    results.verify()
    for name in drawn(names):
        for path in figures.save(figures.draw(results, name), results.path / FIGURES):
            print(path)
