"""A campaign's results on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from aqmlab.base.errors import printable
from aqmlab.base.numerals import number
from aqmlab.cli import console
from aqmlab.results.labels import Label
from aqmlab.results.summary import lines, sparse
from aqmlab.results.verdicts.verdict import BAD, GOOD, NO_LIMIT, TOLERABLE, UNJUDGED, UNKNOWN
from aqmlab.results.verdicts.wording import unbroken

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.table import Table

    from aqmlab.campaign.runner import RunReport
    from aqmlab.results.results import CampaignResults
    from aqmlab.results.summary import FlowSummary
    from aqmlab.results.verdicts.verdict import Verdict

MOST_ROWS = 80
"""The maximum number of rows in a table; a note refers to `aqmlab show --all` for the others."""

_COLUMNS = ("condition", "application", "", "Mbit/s", "p5…p95", "RTT p50", "p95 ms", "loss %")
_VERDICT, _BECAUSE = "verdict", "because"
_EXPENDABLE = (_BECAUSE, "p5…p95", "loss %", "RTT p50", "Mbit/s")
"""Columns that are omitted, in this order, until the remaining ones fit."""

_NAME = 12
"""The number of characters of an application's name that are never broken across lines."""

_JUDGED = (GOOD, TOLERABLE, BAD)
_STYLES = {GOOD: "green", TOLERABLE: "yellow", BAD: "bold red", UNKNOWN: "dim", NO_LIMIT: "dim"}


def show(results: CampaignResults, most: int | None = MOST_ROWS, *, brief: bool = False) -> None:
    """Prints the numbers of each application and condition, and the tally of verdicts.

    With `brief`, prints the tally only.
    """
    target = console.stdout()
    if not brief:
        _show_flows(results, target, most)
    if brief or len({verdict.label for verdict in results.verdicts}) > 1:
        if not brief:
            target.print()
        target.print(_tally(results.verdicts, target.width))


def _show_flows(results: CampaignResults, target: Console, most: int | None) -> None:
    """Prints a row for each application and direction."""
    from rich.measure import Measurement

    rows = list(lines(results))
    shown: list[FlowSummary] = rows[:most]
    verdicts = {(verdict.label, verdict.app): verdict for verdict in results.verdicts}
    # Otherwise a table never reports more than the available width.
    unlimited = target.options.update(width=1_000_000)
    names = [*_COLUMNS, _VERDICT, _BECAUSE]
    table = _table(shown, verdicts, names, target.width)
    for name in _EXPENDABLE:
        if Measurement.get(target, unlimited, table).minimum <= target.width:
            break
        names.remove(name)
        table = _table(shown, verdicts, names, target.width)
    target.print(table)
    if len(shown) < len(rows):
        left = len(rows) - len(shown)
        console.talk(f"{left} more rows: aqmlab show {results.path} --all")
    few = sparse(results)
    if few:
        console.talk(f"note: {few}; their numbers say little")


def _tally(verdicts: Sequence[Verdict], width: int) -> Table:
    """A table with the number of applications for each verdict in each condition.

    It also names the applications without a good verdict.

    The tally includes applications that cannot be judged, so that good verdicts on a few
    applications do not seem to cover all.
    """
    from rich.markup import escape

    said = {verdict.word for verdict in verdicts}
    columns = [*_JUDGED, *(word for word in UNJUDGED if word in said)]
    table = _plain()
    table.add_column("condition", overflow="fold", no_wrap=width >= 100)
    for word in columns:
        table.add_column(word, no_wrap=True, min_width=len(word), justify="right")
    table.add_column("not good", overflow="fold")
    by_label: dict[Label, list[Verdict]] = {}
    for verdict in verdicts:
        by_label.setdefault(verdict.label, []).append(verdict)
    for label, own in by_label.items():
        words = [verdict.word for verdict in own]
        counts = (str(words.count(word)) for word in columns)
        missed = (one for one in own if one.word not in (GOOD, NO_LIMIT))
        named = (_styled(one.word, escape(printable(one.app))) for one in missed)
        table.add_row(console.Whole(unbroken(label.brief)), *counts, ", ".join(named))
    return table


def close(results: CampaignResults, report: RunReport | None = None) -> None:
    """Prints the folder and the digest of the results."""
    trials, seeds = results.manifest.trials, len(results.manifest.seeds())
    console.talk(f"folder: {results.path}")
    if results.engine != "sim":
        console.talk(f"engine: {results.made_by}")
    console.talk(f"trials: {len(trials)} ({seeds} seed{'s' * (seeds != 1)})")
    if report is not None and report.run:
        console.talk(f"time: {report.seconds:.1f} s for {report.run} trials")
    console.talk(f"digest: {results.digest or 'none yet: trials are missing'}")
    if seeds > 1:
        console.talk("numbers: median over seeds, and below it the least and the greatest")
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
) -> Table:
    """A table of the rows with the columns `names`."""
    table = _plain()
    short = width >= 4 * _NAME and all(len(line.app) <= _NAME for line in rows)
    for name in names:
        if name in ("condition", "application", _BECAUSE):
            table.add_column(name, overflow="fold", no_wrap=short and name == "application")
        else:
            justify: JustifyMethod = "left" if name in ("", _VERDICT) else "right"
            table.add_column(name, no_wrap=True, min_width=len(name) or 4, justify=justify)
    before: Label | None = None
    for line in rows:
        if before not in (None, line.label):
            table.add_section()
        cells = _cells(line, verdicts.get((line.label, line.app)))
        if line.label == before:
            cells["condition"] = ""
        before = line.label
        table.add_row(*(cells[name] for name in names))
    return table


def _cells(line: FlowSummary, verdict: Verdict | None) -> dict[str, RenderableType]:
    """The cell of each column for one row."""
    word, because = (verdict.word, verdict.because) if verdict else ("", "")
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
        _BECAUSE: console.Whole(unbroken(because), 18),
    }


def _with_range(line: FlowSummary, name: str) -> str:
    """The median as text, with the range on the next line if there are several seeds."""
    median = number(getattr(line, name))
    if name not in line.ranges:
        return median
    least, most = map(number, line.ranges[name])
    return f"{median}\n[dim]{least if least == most else f'{least}…{most}'}[/]"


def _styled(word: str, text: str) -> str:
    """`text` in the style of verdicts with this word."""
    style = _STYLES.get(word)
    return f"[{style}]{text}[/]" if style else text
