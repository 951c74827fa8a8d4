"""`aqmlab demo`: key experiments of two papers in seconds, each with a report."""

from __future__ import annotations

from aqmlab.api import Request, complete
from aqmlab.cli import console, run, summary
from aqmlab.cli.parameters.demo import DemoParameters
from aqmlab.report.page import write

DEMONSTRATIONS = ("kua2017-demo", "cumaranayagam2016")
"""Built-in scenarios that show the main results of two papers within seconds."""


def command(given: DemoParameters) -> int:
    """Runs `aqmlab demo`; returns the exit status."""
    reports = []
    names = (*DEMONSTRATIONS, *(given.configs or ()))
    # A wrong name is refused before anything runs.
    for campaign, _ in [run.prepare(Request(name)) for name in names]:
        console.talk(f"\n{campaign.about.title}\n")
        # The name includes the key, so a newer build does not find an older build's results.
        folder = given.out / f"{campaign.about.name}-{campaign.key[:8]}"
        report, results = run.execute(campaign, folder, given.jobs)
        summary.show(results)
        summary.close(results, report)
        complete(report)
        reports.append(write(results, folder / "report.html"))
    console.talk("\nreports:")
    print("\n".join(map(str, reports)))
    return 0
