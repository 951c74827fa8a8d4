"""A campaign's results on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from aqmlab.base.errors import printable
from aqmlab.base.failures import RequestError
from aqmlab.base.numerals import count_text, number
from aqmlab.cli import console
from aqmlab.results.grouping import labels_of
from aqmlab.results.labels import Label
from aqmlab.results.summary import lines, sparse
from aqmlab.results.verdicts.comparison import Baseline, BaselineComparison, baseline_called
from aqmlab.results.verdicts.tally import Tally, tallies
from aqmlab.results.verdicts.verdict import (
    BAD,
    GOOD,
    JUDGED,
    NO_DATA,
    NO_NEEDS,
    TOLERABLE,
    UNJUDGED,
)
from aqmlab.results.verdicts.wording import (
    INTERVAL,
    closest_text,
    quality_text,
    signed,
    unbroken,
)

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.table import Table

    from aqmlab.campaign.runner import RunReport
    from aqmlab.campaign.store.manifest import TrialEntry
    from aqmlab.results.results import CampaignResults
    from aqmlab.results.summary import FlowSummary
    from aqmlab.results.verdicts.verdict import Verdict

MOST_ROWS = 80
"""The maximum number of rows in a table; a note refers to `aqmlab show --all` for the other rows.
"""

_COLUMNS = ("condition", "application", "", "Mbit/s", "p5…p95", "RTT p50", "p95 ms", "loss %")
_VERDICT, _QUALITY, _BECAUSE, _DIFFERENCE = "verdict", "QoO", "because", "difference"
_EXPENDABLE = (_QUALITY, _DIFFERENCE, _BECAUSE, "p5…p95", "loss %", "RTT p50", "Mbit/s")
"""Columns that are omitted, in this order, until the remaining columns fit."""

_NAME = 12
"""The length in characters up to which an application's name is not broken across lines."""

_STYLES = {GOOD: "green", TOLERABLE: "yellow", BAD: "bold red", NO_DATA: "dim", NO_NEEDS: "dim"}


def show(
    results: CampaignResults,
    most: int | None = MOST_ROWS,
    *,
    brief: bool = False,
    baseline: Baseline | None = None,
) -> None:
    """Prints the numbers of each application and condition, and the tally of verdicts.

    With `brief`, prints the tally only. With a single condition, the tally is printed only with
    `brief`. The table of numbers has at most `most` rows. Differences are relative to `baseline`.
    `None` stands for the default of `BaselineComparison`.
    """
    target = console.stdout()
    comparison = BaselineComparison(results.judged, baseline)
    if not brief:
        kept = _DIFFERENCE if baseline else None
        _show_flows(results, target, most, comparison, kept)
    if brief or comparison.is_needed:
        if not brief:
            target.print()
        target.print(_tally_table(tallies(results.judged), target.width))


def baseline_asked(
    trials: Sequence[TrialEntry], text: str | None, *, brief: bool
) -> Baseline | None:
    """The baseline that `--baseline` names, if any.

    Raises `RequestError` for an unknown name, and with `--brief`, which shows no differences.
    """
    if text is None:
        return None
    if brief:
        raise RequestError("--baseline: `--brief` shows no differences", "leave one of the two out")
    return baseline_called(text, labels_of(trials).values())


def _show_flows(
    results: CampaignResults,
    target: Console,
    most: int | None,
    comparison: BaselineComparison,
    kept: str | None,
) -> None:
    """Prints a row for each condition, application and direction, up to `most` rows.

    The column `kept` is not omitted, because the user asked for it.
    """
    from rich.measure import Measurement

    rows = list(lines(results))
    shown: list[FlowSummary] = rows[:most]
    verdicts = {(verdict.label, verdict.app): verdict for verdict in results.judged}
    # The table never requests more width than the options allow, so the options allow any width.
    unlimited = target.options.update(width=1_000_000)
    has_quality = any(quality_text(one) for one in results.judged)
    names = [*_COLUMNS, _VERDICT, *[_QUALITY] * has_quality, _BECAUSE]
    names += [_DIFFERENCE] * comparison.is_needed
    table = _table(shown, verdicts, names, target.width, comparison)
    every = list(names)
    for name in (one for one in _EXPENDABLE if one != kept):
        if Measurement.get(target, unlimited, table).minimum <= target.width:
            break
        if name in names:
            names.remove(name)
            table = _table(shown, verdicts, names, target.width, comparison)
    target.print(table)
    if gone := [name for name in every if name not in names]:
        console.talk(
            f"columns that do not fit in {target.width} characters: {', '.join(gone)}; use a wider "
            "terminal, COLUMNS=200 or --json"
        )
    if len(shown) < len(rows):
        left = count_text(len(rows) - len(shown), "more row")
        console.talk(f"{left}: aqmlab show {results.path} --all")
    if _DIFFERENCE in names and comparison.baseline is not None:
        console.talk(f"difference: of what decides, from {comparison.baseline.brief}, seed by seed")
    few = sparse(results)
    if few:
        console.talk(f"note: {few}; their numbers say little")


def _tally_table(found: Sequence[Tally], width: int) -> Table:
    """A table of the number of applications with each verdict in each condition.

    The table also shows the worst verdict with its deciding need, and the applications whose
    verdicts are not good.

    The counts include applications that cannot be judged, so that a few good verdicts do not seem
    to cover all applications.
    """
    from rich.markup import escape

    said = {word for one in found for word in one.counts}
    columns = [*JUDGED, *(word for word in UNJUDGED if word in said)]
    table = _plain()
    table.add_column("condition", overflow="fold", no_wrap=width >= 100)
    for word in columns:
        table.add_column(word, no_wrap=True, min_width=len(word), justify="right")
    table.add_column("closest", overflow="fold")
    unsure = any(not each.is_sure for one in found for each in one.missed)
    table.add_column("not good (?: seeds differ)" if unsure else "not good", overflow="fold")
    for one in found:
        counts = (str(one.counts[word]) for word in columns)
        named = (_styled(each.word, escape(_missed_name(each))) for each in one.missed)
        closest = closest_text(one.closest) if one.closest else ""
        table.add_row(
            console.Whole(unbroken(one.label.brief)),
            *counts,
            console.Whole(unbroken(closest), 18),
            ", ".join(named),
        )
    return table


def _missed_name(verdict: Verdict) -> str:
    """The name of an application without a good verdict, with a mark if the verdict is not sure."""
    return printable(verdict.app) + ("" if verdict.is_sure else "?")


def close(results: CampaignResults, report: RunReport | None = None) -> None:
    """Prints the folder, engine, trials, run time and digest, and notes on the numbers."""
    trials, seeds = results.manifest.trials, len(results.manifest.seeds())
    console.talk(f"folder: {results.path}")
    if results.engine != "sim":
        console.talk(f"engine: {results.made_by}")
    console.talk(f"trials: {len(trials)} ({count_text(seeds, 'seed')})")
    if report is not None and report.run:
        console.talk(f"time: {report.seconds:.1f} s for {count_text(report.run, 'trial')}")
    console.talk(f"digest: {results.digest or 'none yet: trials are missing'}")
    if seeds > 1:
        console.talk("numbers: median over seeds, and below it the least and the greatest")
        console.talk(f"intervals: {INTERVAL}")
    if seeds == 1:
        console.talk("note: one seed is not a result; --seeds 5 shows how much it varies")


def _plain() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _table(
    rows: Sequence[FlowSummary],
    verdicts: Mapping[tuple[Label, str], Verdict],
    names: Sequence[str],
    width: int,
    comparison: BaselineComparison,
) -> Table:
    """A table of the rows with the columns `names`."""
    table = _plain()
    short = width >= 4 * _NAME and all(len(line.app) <= _NAME for line in rows)
    for name in names:
        if name in ("condition", "application", _BECAUSE, _DIFFERENCE):
            table.add_column(name, overflow="fold", no_wrap=short and name == "application")
        else:
            justify: JustifyMethod = "left" if name in ("", _VERDICT) else "right"
            table.add_column(name, no_wrap=True, min_width=len(name) or 4, justify=justify)
    before: Label | None = None
    for line in rows:
        if before not in (None, line.label):
            table.add_section()
        cells = _cells(line, verdicts.get((line.label, line.app)), comparison)
        if line.label == before:
            cells["condition"] = ""
        before = line.label
        table.add_row(*(cells[name] for name in names))
    return table


def _cells(
    line: FlowSummary, verdict: Verdict | None, comparison: BaselineComparison
) -> dict[str, RenderableType]:
    """The cell of each column for one row."""
    word, because = (verdict.word, verdict.because) if verdict else ("", "")
    if verdict is not None and not verdict.is_sure:
        because += ", seeds differ"
    return {
        "condition": console.Whole(unbroken(line.label.brief)),
        "application": console.Whole(line.app, _NAME),
        "": line.direction,
        "Mbit/s": _with_range(line, "throughput_mbit"),
        "p5…p95": f"{number(line.throughput_p5_mbit)}…{number(line.throughput_p95_mbit)}",
        "RTT p50": _with_range(line, "rtt_p50_ms"),
        "p95 ms": _with_range(line, "rtt_p95_ms"),
        "loss %": _with_range(line, "loss_percent"),
        _VERDICT: _styled(word, word),
        _QUALITY: quality_text(verdict) if verdict else "",
        _BECAUSE: console.Whole(unbroken(because), 18),
        _DIFFERENCE: console.Whole(unbroken(_difference(verdict, comparison)), 18),
    }


def _difference(verdict: Verdict | None, comparison: BaselineComparison) -> str:
    """The deciding number's difference from the same number in the baseline; empty if unknown."""
    decided = verdict.deciding if verdict else None
    apart = comparison.of(verdict, decided) if verdict else None
    return "" if apart is None or decided is None else signed(apart, decided.unit)


def _with_range(line: FlowSummary, name: str) -> str:
    """The median over seeds as text.

    With several seeds, the next line has the minimum and the maximum.
    """
    median = number(getattr(line, name))
    if name not in line.ranges:
        return median
    least, most = map(number, line.ranges[name])
    return f"{median}\n[dim]{least if least == most else f'{least}…{most}'}[/]"


def _styled(word: str, text: str) -> str:
    """`text` in the style of verdicts with this word."""
    style = _STYLES.get(word)
    return f"[{style}]{text}[/]" if style else text
