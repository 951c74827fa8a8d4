"""The result of a validation on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.base.numerals import count_text, percent
from aqmlab.cli import console
from aqmlab.validation.wording import amount, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from aqmlab.validation.cases import Case
    from aqmlab.validation.compare import Comparison, MetricSummary, Validation

_MOST_WORST = 20


def show(made: Validation, comparison: Comparison) -> None:
    """Prints an engine's errors by metric, the worst cases, refused cells, and the verdict."""
    target = console.stdout()
    target.print(_lines(comparison))
    worst = comparison.worst
    if worst:
        target.print()
        target.print(_worst(worst[:_MOST_WORST]))
    if len(worst) > _MOST_WORST:
        console.talk(f"{len(worst) - _MOST_WORST} more fall short: in --json, `meets` is false")
    for cell, why in comparison.refused.items():
        console.talk(f"{comparison.engine} cannot run {cell}: {why}")
    console.talk(
        f"{comparison.engine} against {_kernels(made)}: {count_text(len(made.cells), 'cell')}, "
        f"{made.there} of {count_text(made.wanted, 'trial')}, {made.seconds:.0f} s"
    )
    unmet = [line.metric.name for line in comparison.lines if not line.accepted]
    if any(line.rule for line in comparison.lines):
        console.talk(f"rule: {'not met in ' + ', '.join(unmet) if unmet else 'met'}")


def _kernels(made: Validation) -> str:
    return ", ".join(sorted({f"Linux {recipe.get('kernel', '?')}" for recipe in made.recipes}))


def _lines(comparison: Comparison) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    # Otherwise rich shrinks this column.
    table.add_column(f"{comparison.engine} −\nkernel", no_wrap=True)
    for name in (
        "cells", "error\np50", "\np90", "spread\np50", "\np90", "in\nspread", "≤ 5 %", "≤ 10 %"
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("rule")
    for line in comparison.lines:
        table.add_row(*_cells(line))
    return table


def _cells(line: MetricSummary) -> Sequence[str]:
    return (
        line.metric.name,
        str(line.cells),
        percent(line.error_p50),
        percent(line.error_p90),
        percent(line.spread_p50),
        percent(line.spread_p90),
        percent(line.in_spread),
        percent(line.in_5),
        percent(line.in_10),
        rule(line),
    )


def _worst(cases: Sequence[Case]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("worst first", overflow="fold")
    table.add_column("metric")
    table.add_column("of")
    for name in ("kernel", "ours", "error", "spread"):
        table.add_column(name, justify="right", no_wrap=True)
    for case in cases:
        table.add_row(
            escape(case.cell.name),
            case.metric.name,
            escape(case.item),
            amount(case.kernel, case.metric.unit),
            amount(case.ours, case.metric.unit),
            percent(case.error),
            percent(case.spread),
        )
    return table
