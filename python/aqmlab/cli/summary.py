"""A campaign's results in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aqmlab.cli import console
from aqmlab.labels import Label
from aqmlab.verdict import BAD, GOOD, NO_LIMIT, TOLERABLE, UNJUDGED, UNKNOWN

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from aqmlab.campaign import Report
    from aqmlab.overview import Line
    from aqmlab.results import Results
    from aqmlab.verdict import Verdict

MOST_ROWS = 80
"""Rows that are shown before a note says where the others are."""

_ROOM = (0, 0, 0, 100, 0, 0, 90, 0, 110)
"""Columns of a terminal from which on each part of a row is shown; names always are."""

_JUDGED = (GOOD, TOLERABLE, BAD)
_STYLES = {GOOD: "green", TOLERABLE: "yellow", BAD: "bold red", UNKNOWN: "dim", NO_LIMIT: "dim"}


def show(results: Results, most: int | None = MOST_ROWS, *, brief: bool = False) -> None:
    """Prints what each application experienced in each condition, and how many of them got what
    they need; with `brief` the latter alone.
    """
    target = console.stdout()
    if not brief:
        _show_flows(results, target, most)
    if brief or len({verdict.label for verdict in results.verdicts}) > 1:
        if not brief:
            target.print()
        target.print(_tally(results.verdicts, target.width))


def _show_flows(results: Results, target: Console, most: int | None) -> None:
    """A row for each application and direction."""
    from rich.markup import escape

    from aqmlab.overview import lines, sparse

    rows = list(lines(results))
    verdicts = {(verdict.label, verdict.app): verdict for verdict in results.verdicts}
    width = target.width
    table = _table(rows, width)
    before: Label | None = None
    shown: list[Line] = rows[:most]
    for line in shown:
        if before not in (None, line.label):
            table.add_section()
        condition = escape(line.label.brief) if line.label != before else ""
        before = line.label
        cells = (*_cells(line), *_verdict(verdicts.get((line.label, line.app))))
        table.add_row(
            condition, *(cell for cell, room in zip(cells, _ROOM, strict=True) if width >= room)
        )
    target.print(table)
    if len(shown) < len(rows):
        left = len(rows) - len(shown)
        console.talk(f"{left} more rows: aqmlab show {results.path} --all")
    few = sparse(results)
    if few:
        console.talk(f"note: {few}; their numbers say little")


def _tally(verdicts: Sequence[Verdict], width: int) -> Table:
    """How many applications get what they need in each condition, and who does not.

    What cannot be judged is counted too, lest a few that are good pass for all.
    """
    from rich.markup import escape

    said = {verdict.word for verdict in verdicts}
    columns = [*_JUDGED, *(word for word in UNJUDGED if word in said)]
    table = _plain()
    table.add_column("condition", overflow="fold", no_wrap=width >= _ROOM[3])
    for word in columns:
        table.add_column(word, justify="right")
    table.add_column("not good", overflow="fold")
    by_label: dict[Label, list[Verdict]] = {}
    for verdict in verdicts:
        by_label.setdefault(verdict.label, []).append(verdict)
    for label, own in by_label.items():
        words = [verdict.word for verdict in own]
        counts = (str(words.count(word)) for word in columns)
        missed = (one for one in own if one.word not in (GOOD, NO_LIMIT))
        named = (_styled(one.word, escape(one.app)) for one in missed)
        table.add_row(escape(label.brief), *counts, ", ".join(named))
    return table


def close(results: Results, report: Report | None = None) -> None:
    """Prints where the results are and what stands for them."""
    trials = results.manifest["trials"]
    seeds = len({trial["seed"] for trial in trials})
    console.talk(f"folder: {results.path}")
    if results.engine != "sim":
        console.talk(f"engine: {results.made_by}")
    console.talk(f"trials: {len(trials)} ({seeds} seed{'s' * (seeds != 1)})")
    if report is not None and report.run:
        console.talk(f"time: {report.seconds:.1f} s for {report.run} trials")
    console.talk(f"digest: {results.digest or 'none yet: trials are missing'}")
    if seeds > 1:
        console.talk("numbers: median over seeds, and below it the least and the most")
    if seeds == 1:
        console.talk("note: one seed is not a result; --seeds 5 says how much it varies")


def _plain() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)


def _table(rows: Sequence[Line], width: int) -> Table:
    words = {word for line in rows for word in line.label.brief.split()}
    table = _plain()
    # A word is broken only if it would leave the numbers no room.
    longest = min(max(map(len, words), default=0), width // 7)
    table.add_column("condition", overflow="fold", min_width=max(longest, 8))
    table.add_column("application", overflow="fold", min_width=12)
    table.add_column("", width=4)
    names = ("Mbit/s", "p5…p95", "RTT p50", "p95 ms", "loss %", "verdict")
    for name, room in zip(names, _ROOM[2:], strict=False):
        if width >= room:
            table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    if width >= _ROOM[-1]:
        table.add_column("because", overflow="fold")
    return table


def _cells(line: Line) -> Iterator[str]:
    from rich.markup import escape

    yield escape(line.app)
    yield line.direction
    yield _with_range(line, "throughput_mbit")
    yield f"{number(line.throughput_p5_mbit)}…{number(line.throughput_p95_mbit)}"
    yield _with_range(line, "rtt_p50_ms")
    yield _with_range(line, "rtt_p95_ms")
    yield _with_range(line, "loss_percent")


def _with_range(line: Line, name: str) -> str:
    """The median, and below it the range over seeds unless all gave what prints alike."""
    median = number(getattr(line, name))
    if name not in line.ranges:
        return median
    least, most = map(number, line.ranges[name])
    return median if least == most == median else f"{median}\n[dim]{least}…{most}[/]"


def _verdict(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return "", ""
    return _styled(verdict.word, verdict.word), verdict.because


def _styled(word: str, text: str) -> str:
    """`text` as verdicts of that word are shown."""
    style = _STYLES.get(word)
    return f"[{style}]{text}[/]" if style else text


def number(value: float | None) -> str:
    """A number with three digits that count.

    >>> number(0.1234), number(12.34), number(2710.0), number(0.0), number(None)
    ('0.123', '12.3', '2710', '0', '-')
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) >= 0.001 else "<0.001"
