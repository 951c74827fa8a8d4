"""`aqmlab demo`: the heart of a paper in seconds, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli import options


def command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path("demo"),
    jobs: options.Jobs = None,
) -> int:
    """Run every built-in demonstration and name its report."""
    from aqmlab import demonstrations
    from aqmlab.api import Request, complete
    from aqmlab.cli import console, run, summary

    for demonstration in demonstrations.ALL:
        console.talk(f"{demonstration.name}: {demonstration.what}")
        request = Request(demonstration.scenario)
        campaign, _ = run.prepare(request)
        report, results = run.execute(campaign, out / demonstration.name, jobs)
        summary.show(results)
        summary.close(results, report)
        complete(report)
        print(results.report())
    return 0
