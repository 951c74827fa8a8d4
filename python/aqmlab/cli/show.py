"""`aqmlab show`: the results in a campaign's folder."""

from __future__ import annotations

from aqmlab.cli import console, summary
from aqmlab.cli.parameters.show import ShowParameters
from aqmlab.results.results import load


def command(given: ShowParameters) -> int:
    """Runs `aqmlab show`."""
    results = load(given.folder)
    for warning in results.warnings:
        console.talk(f"warning: {warning}")
    if not results.complete:
        done, trials = results.table("trials").height, len(results.manifest.trials)
        console.talk(f"warning: {done} of {trials} trials are finished")
    if given.as_json:
        console.print_json(results.to_json())
    else:
        baseline = summary.baseline_called(results.manifest.trials, given.baseline)
        most = None if given.everything else summary.MOST_ROWS
        summary.show(results, most, brief=given.brief, baseline=baseline)
        summary.close(results)
    return 0
