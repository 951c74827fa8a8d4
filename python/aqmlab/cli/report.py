"""`aqmlab report`: writes a campaign's report again."""

from __future__ import annotations

from aqmlab.cli.parameters.report import ReportParameters
from aqmlab.cli.progress import drawn
from aqmlab.report import figures, page
from aqmlab.results.results import load


def command(given: ReportParameters) -> int:
    """Runs `aqmlab report`; returns the exit status."""
    results = load(given.folder)
    names = figures.applicable(results) if given.every else None
    print(page.write(results, given.out or results.path / "report.html", names, drawn))
    return 0
