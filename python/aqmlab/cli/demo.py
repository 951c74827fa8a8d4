"""`aqmlab demo`: key experiments of two papers in seconds, each with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli import options

DEMONSTRATIONS = ("kua2017-demo", "cumaranayagam2016")
"""Built-in scenarios with the most informative results in the least time."""


def command(
    configs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="More scenarios, such as a TEACUP config."),
    ] = None,
    out: Annotated[
        Path, typer.Option(parser=options.place, metavar="DIR", help="Where results go.")
    ] = Path("demo"),
    jobs: options.Jobs = None,
) -> int:
    """Run the built-in demonstrations and print the paths of their reports."""
    from aqmlab.api import Request, complete
    from aqmlab.cli import console, run, summary
    from aqmlab.report.page import write

    reports = []
    for name in (*DEMONSTRATIONS, *(configs or ())):
        campaign, _ = run.prepare(Request(name))
        console.talk(f"\n{campaign.about.title}\n")
        # The name includes the key, so a newer build does not find an older build's results.
        folder = out / f"{campaign.about.name}-{campaign.key[:8]}"
        report, results = run.execute(campaign, folder, jobs)
        summary.show(results)
        summary.close(results, report)
        complete(report)
        reports.append(write(results, folder / "report.html"))
    console.talk("\nreports:")
    print("\n".join(map(str, reports)))
    return 0
