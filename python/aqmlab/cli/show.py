"""`aqmlab show`: the results in a campaign's folder, or a list of campaigns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aqmlab.base.failures import size_text
from aqmlab.base.numerals import count_text
from aqmlab.cli import console, summary
from aqmlab.cli.parameters.show import ShowParameters
from aqmlab.results import campaign_list
from aqmlab.results.campaign_list import CampaignLine
from aqmlab.results.export.values import trials_as_json
from aqmlab.results.results import load

RESULTS = Path("results")
"""The folder of campaigns that were run without `--out`."""


def command(given: ShowParameters) -> int:
    """Runs `aqmlab show`; returns the exit status."""
    if given.folder is None:
        return _list(given.as_json)
    results = load(given.folder)
    for warning in results.warnings:
        console.talk(f"warning: {warning}")
    if not results.complete:
        done, planned = results.table("trials").height, len(results.manifest.trials)
        console.talk(f"warning: {done} of {count_text(planned, 'trial', 'are')} finished")
    trials = results.manifest.trials
    baseline = summary.baseline_asked(trials, given.baseline, brief=given.brief)
    if given.as_json:
        console.print_json(trials_as_json(results, baseline))
    else:
        most = None if given.everything else summary.MOST_ROWS
        summary.show(results, most, brief=given.brief, baseline=baseline)
        summary.close(results)
    return 0


def _list(as_json: bool) -> int:
    """Prints the campaigns below `results`."""
    found, is_cut = campaign_list.below(RESULTS)
    if is_cut:
        console.talk(f"warning: {RESULTS}: there are more campaigns than the {len(found)} listed")
    if as_json:
        console.print_json([one.to_json() for one in found])
    elif found:
        _print(found)
    else:
        console.talk(f"{RESULTS}: there are no campaigns")
        console.talk("hint: `aqmlab run SCENARIO` makes one; `aqmlab show DIR` shows any other")
    return 0


def _print(found: Sequence[CampaignLine]) -> None:
    """Prints a row for each campaign."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("name", "trials", "digest", "engine", "size", "changed (UTC)", "folder"):
        table.add_column(name, overflow="fold", justify="right" if name == "size" else "left")
    for one in found:
        done = "" if one.planned is None else f"{one.done} of {one.planned}"
        state = one.digest or one.problem or "incomplete"
        cells = (one.name or "", done, state, one.engine or "", size_text(one.size_bytes))
        table.add_row(*map(console.Whole, (*cells, one.modified, one.folder)))
    console.stdout().print(table)
