"""`aqmlab show`: the results in a campaign's folder."""

from __future__ import annotations

from typing import Annotated

import typer

from aqmlab.cli import options


def command(
    folder: options.FolderArg,
    as_json: options.AsJson = False,
    everything: Annotated[bool, typer.Option("--all", help="Show every row.")] = False,
    brief: options.Brief = False,
) -> int:
    """Show the results in a campaign's folder, finished or not."""
    from aqmlab.cli import console, summary
    from aqmlab.results.results import load

    results = load(folder)
    for warning in results.warnings:
        console.talk(f"warning: {warning}")
    if not results.complete:
        done, trials = results.table("trials").height, len(results.manifest.trials)
        console.talk(f"warning: {done} of {trials} trials are finished")
    if as_json:
        console.print_json(results.to_json())
    else:
        summary.show(results, None if everything else summary.MOST_ROWS, brief=brief)
        summary.close(results)
    return 0
