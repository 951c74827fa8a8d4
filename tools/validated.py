"""Makes the tables of the simulator's differences from the packaged results of the kernel."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from aqmlab.base.numerals import percent
from aqmlab.validation import compare, grid
from aqmlab.validation.cases import Case, cases_of_halves
from aqmlab.validation.compare import Comparison, MetricSummary, Validation
from aqmlab.validation.metrics import BY_NAME
from aqmlab.validation.reference import Reference


@cache
def validation() -> Validation | None:
    """The comparison of the simulator with the reference set; `None` if the set has no trial."""
    cells, reference = grid.load().cells, Reference()
    if not reference.complete(cells)[0]:
        return None
    return compare.run(cells, reference)


def table(which: str = "") -> str:
    """The differences from the kernel.

    `which` is empty for the metrics with a rule, "all" for every metric, "short" for the cells that
    do not meet the rule, or "sets" for the numbers of cells that meet the rule, by set of cells.
    """
    made = validation()
    if made is None:
        return "The reference set has no trial yet.\n"
    comparison = made.comparisons[0]
    if which == "short":
        return _short(comparison)
    if which == "sets":
        return _sets(made, comparison)
    lines = [line for line in comparison.lines if which == "all" or line.rule is not None]
    head = (
        "| Metric | Cells | Error, median | 90th percentile | Kernel's own spread, median "
        "| Within it | ≤ 5 % | ≤ 10 % | Rule | Met in |\n|---|" + "--:|" * 9 + "\n"
    )
    rows = (_row(line, _within_spread(comparison, line), made) for line in lines)
    return "".join([_basis(made), "\n", head, *rows])


def _sets(made: Validation, comparison: Comparison) -> str:
    """The shares of cells that meet the rule, by set of cells, and for Linux's own results."""
    metrics = [BY_NAME[name] for name in compare.RULES]
    cake = {cell.name for cell in made.cells if cell.group.startswith("cake")}
    cells = {cell.name: cell for cell in made.cells}
    itself = tuple(cases_of_halves(cells, made.series["kernel"], metrics))
    sets = {
        "Simulator, cells with `cake` or `pfifo_fast`": [
            case for case in comparison.cases if case.cell.name in cake
        ],
        "Simulator, other cells": [case for case in comparison.cases if case.cell.name not in cake],
        "Linux, the first half of the seeds against the second half": itself,
    }
    heads = ["Set", "Cells", *(f"`{name}`" for name in compare.RULES)]
    head = f"| {' | '.join(heads)} |\n|---|--:|{'--:|' * len(metrics)}\n"
    rows = (f"| {name} | {' | '.join(_met(cases))} |\n" for name, cases in sets.items())
    return "".join([head, *rows])


def _met(cases: Sequence[Case]) -> Iterator[str]:
    """Yields the number of cells, and the cells that meet the rule of each metric."""
    yield str(len({case.cell.name for case in cases}))
    lines = {line.metric.name: line for line in Comparison("", tuple(cases), {}).lines}
    for name in compare.RULES:
        line = lines.get(name)
        if line is None or line.meets is None:
            yield "-"
        else:
            yield f"{round(line.meets * line.cells)} ({100 * line.meets:.1f} %)"


def _short(comparison: Comparison) -> str:
    """A row with the worst flow for each cell and metric with which the rule is not met."""
    head = (
        "| Cell | Metric | Flow | Kernel | Simulator | Error | Kernel's spread |\n|---|---|---|"
        + "--:|" * 4
        + "\n"
    )
    rows = (
        f"| `{case.cell.name}` | `{case.metric.name}` | {case.item} | {_range(case.kernel, case)} "
        f"| {_range(case.ours, case)} | {_percent(case.error)} | {_percent(case.spread)} |\n"
        for case in sorted(comparison.worst, key=_place)
    )
    return "".join([head, *rows])


def _place(case: Case) -> tuple[int, str]:
    """The sort key of a case: the cell in the grid's order, then the metric."""
    names = [cell.name for cell in grid.load().cells]
    return names.index(case.cell.name), case.metric.name


def _range(values: Sequence[float], case: Case) -> str:
    """The smallest and the largest value over the seeds, with the unit."""
    least, most = (f"{value:.3g}" for value in (min(values), max(values)))
    shown = least if least == most else f"{least} to {most}"
    return f"{shown} {case.metric.unit}"


def _percent(share: float | None) -> str:
    """A share in per cent; infinite if only one side has a value."""
    if share is None:
        return "not known"
    return percent(share) if math.isfinite(share) else "∞"


def _basis(made: Validation) -> str:
    """A sentence on the basis of the table: kernels, cells, seeds and trials."""
    kernels = " and ".join(sorted({f"Linux {recipe['kernel']}" for recipe in made.recipes}))
    seeds = Counter(cell for cell, _ in made.series["kernel"]).values()
    few, many = min(seeds), max(seeds)
    counted = f"{few} to {many} seeds" if few < many else f"{few} seed{'s' if few > 1 else ''}"
    text = (
        f"The simulator against {kernels}: {len(made.cells)} of {len(grid.load().cells)} cells, "
        f"{counted} of each ({made.there} of {made.wanted} trials)."
    )
    if made.there < made.wanted:
        text += (
            " The kernel's own spread is known only for cells with three seeds or more. In other"
            " cells only the error can meet the rule."
        )
    return text + "\n"


def _within_spread(comparison: Comparison, line: MetricSummary) -> float | None:
    """The share of the cells with a known spread that are within it; `None` if none is known."""
    cells: dict[str, list[Case]] = {}
    for case in comparison.cases:
        if case.metric.name == line.metric.name:
            cells.setdefault(case.cell.name, []).append(case)
    known = [own for own in cells.values() if all(case.spread is not None for case in own)]
    if not known:
        return None
    return sum(all(case.in_spread for case in own) for own in known) / len(known)


def _row(line: MetricSummary, within: float | None, made: Validation) -> str:
    shares = (line.error_p50, line.error_p90, line.spread_p50, within, line.in_5, line.in_10)
    words = [f"`{line.metric.name}`", str(line.cells), *map(percent, shares)]
    if line.rule is None:
        words += ["", ""]
    elif made.there < made.wanted:
        words += [_rule(line), f"at least {percent(line.meets)}"]
    else:
        words += [_rule(line), f"{percent(line.meets)} {'✓' if line.accepted else '✗'}"]
    return f"| {' | '.join(words)} |\n"


def _rule(line: MetricSummary) -> str:
    assert line.rule is not None
    return f"{100 * line.rule.within:.0f} % or spread in {percent(line.rule.share)}"
