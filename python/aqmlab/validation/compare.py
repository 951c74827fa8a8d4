"""The comparison of an engine with the reference set, by metric and cell.

A cell meets the error limit of a metric (`Rule`) if each of its cases is within the limit or within
the kernel's own spread (`Case.within`, in `cases`).
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import LabError, RequestError
from aqmlab.campaign.runner import cores
from aqmlab.engines.engine import Runner
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import earlier, engines, metrics, testbed, trial_record
from aqmlab.validation.cases import Case, Records, cases_of
from aqmlab.validation.grid import Cell
from aqmlab.validation.metrics import BY_NAME, Metric
from aqmlab.validation.reference import Reference, machine_of
from aqmlab.validation.trial_record import TrialRecord


@dataclass(frozen=True, slots=True)
class Rule:
    """The requirement on a metric, for at least `share` of the cells.

    The errors of such a cell are at most `within`, or within the kernel's own spread.
    """

    within: float
    share: float


RULES = {
    "throughput": Rule(0.05, 0.85),
    "rtt_p50": Rule(0.05, 0.85),
    "rtt_p95": Rule(0.10, 0.80),
    "loss": Rule(0.10, 0.80),
}
"""The rule of acceptance of each metric that has one."""


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """The comparison of a metric over all cells."""

    metric: Metric
    cells: int
    cases: int
    error_p50: float
    error_p90: float
    spread_p50: float | None
    spread_p90: float | None
    in_spread: float
    """The share of cells in which all errors are within the kernel's spread."""
    in_5: float
    in_10: float
    rule: Rule | None
    meets: float | None
    """The share of cells in which all errors are within the rule's limit or the kernel's spread.

    It is `None` without a rule.
    """

    @property
    def accepted(self) -> bool:
        """Whether the rule is met; true without a rule."""
        return self.rule is None or (self.meets is not None and self.meets >= self.rule.share)

    def to_json(self) -> dict[str, Any]:
        """The summary in JSON's types; a number that is not finite becomes `None`."""
        numbers = {
            name: getattr(self, name)
            for name in ("error_p50", "error_p90", "spread_p50", "spread_p90", "in_spread",
                         "in_5", "in_10", "meets")
        }  # fmt: skip
        return {
            "metric": self.metric.name,
            "cells": self.cells,
            "cases": self.cases,
            **{
                name: value if value is not None and math.isfinite(value) else None
                for name, value in numbers.items()
            },
            "rule": {"within": self.rule.within, "share": self.rule.share} if self.rule else None,
            "accepted": self.accepted,
        }


def _meets(case: Case, rule: Rule | None) -> bool | None:
    """Whether a case is within `rule`'s limit or the kernel's spread; `None` without a rule."""
    return None if rule is None else case.within(rule.within)


@dataclass(frozen=True)
class Comparison:
    """The comparison of one engine with the kernel."""

    engine: str
    cases: tuple[Case, ...]
    refused: Mapping[str, str]
    """The cells that the engine refused or did not finish, each with the reason."""

    @cached_property
    def lines(self) -> tuple[MetricSummary, ...]:
        """The summary of each metric that has a case."""
        found: dict[str, list[Case]] = defaultdict(list)
        for case in self.cases:
            found[case.metric.name].append(case)
        return tuple(_line(BY_NAME[name], found[name]) for name in BY_NAME if name in found)

    @property
    def accepted(self) -> bool:
        """Whether every rule is met and no cell was omitted."""
        return not self.refused and all(line.accepted for line in self.lines)

    @property
    def worst(self) -> list[Case]:
        """The worst case of each cell and metric that falls short, worst first.

        Only metrics with a rule count. If no metric with a rule was compared, all metrics count,
        and a case falls short if its error exceeds 10 % and the kernel's own spread.
        """
        ruled = any(line.rule for line in self.lines)
        worst: dict[tuple[str, str], Case] = {}
        for case in self.cases:
            rule = RULES.get(case.metric.name, None if ruled else Rule(0.10, 0))
            if _meets(case, rule) is not False:
                continue
            key = (case.cell.name, case.metric.name)
            if key not in worst or case.excess > worst[key].excess:
                worst[key] = case
        return sorted(worst.values(), key=lambda case: (-case.excess, case.cell.name))


@dataclass(frozen=True)
class Validation:
    """The comparisons of a validation, and their data."""

    cells: tuple[Cell, ...]
    there: int
    wanted: int
    comparisons: tuple[Comparison, ...]
    recipes: tuple[Mapping[str, str], ...]
    series: Mapping[str, Records] = field(repr=False)
    """Records by engine, and by cell and seed, for drawing."""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the simulator's comparison is accepted; results of peers are informative only."""
        return self.comparisons[0].accepted

    def to_json(self) -> dict[str, Any]:
        """The validation in JSON's types, without the series for drawing."""
        return {
            "cells": [cell.name for cell in self.cells],
            "trials": self.there,
            "trials_wanted": self.wanted,
            "recipes": [dict(recipe) for recipe in self.recipes],
            "accepted": self.accepted,
            "seconds": self.seconds,
            "engines": {
                one.engine: {
                    "metrics": [line.to_json() for line in one.lines],
                    "refused": dict(one.refused),
                    "cases": [
                        case.to_json() | {"meets": _meets(case, RULES.get(case.metric.name))}
                        for case in one.cases
                    ],
                }
                for one in self.comparisons
            },
        }


def run(
    cells: Sequence[Cell],
    reference: Reference,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    peer: str | None = None,
    metrics: Sequence[str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Validation:
    """Compares the simulator, and the named peer if any, with `reference`.

    The simulator's trials take the testbed's times (`testbed`), but a peer's trials do not.
    Only trials in the set, up to the seed `seeds`, are compared. Raises `RequestError` if there are
    none, and for an unknown metric or peer.
    """
    started = time.monotonic()
    chosen = _metrics(metrics)
    held = {"sim": testbed.on_testbed(engines.simulator())}
    if peer:
        held[peer] = engines.peer(peer)
    kept = {
        (cell.name, seed): trial
        for cell in cells
        for seed, trial in reference.trials(cell).items()
        if seed in cell.seeds and seed <= (seeds or seed)
    }
    if not kept:
        hint = "`aqmlab validate --regenerate --missing` adds trials; it needs QEMU"
        raise RequestError("the reference set has no trial of these cells", hint)
    by_name = {cell.name: cell for cell in cells}
    known = {key: earlier.as_now(TrialSpec.read(one.spec), one.record) for key, one in kept.items()}
    series: dict[str, Records] = {"kernel": known}
    comparisons = []
    for name, engine in held.items():
        records, refused = _run_all(engine, by_name, list(kept), jobs or cores())
        for cell, why in refused.items():
            if name == "sim":
                say(f"warning: the simulator refuses {cell}: {why}")
        series[name] = records
        cases = tuple(cases_of(by_name, series["kernel"], records, chosen))
        comparisons.append(Comparison(name, cases, refused))
    there, wanted = reference.complete(cells)
    made = [machine_of(trial.recipe) for trial in kept.values()]
    recipes = {json.dumps(recipe, sort_keys=True): recipe for recipe in made}
    compared = tuple(cell for cell in cells if any(cell.name == name for name, _ in kept))
    return Validation(
        compared, there, wanted, tuple(comparisons), tuple(recipes.values()), series,
        time.monotonic() - started,
    )  # fmt: skip


def _metrics(names: Sequence[str] | None) -> tuple[Metric, ...]:
    for name in names or ():
        if name not in BY_NAME:
            raise RequestError(f"--metric: there is no metric `{name}`", suggestion(name, BY_NAME))
    return tuple(metric for metric in metrics.METRICS if not names or metric.name in names)


def _run_all(
    run: Runner, cells: Mapping[str, Cell], keys: Sequence[tuple[str, int]], jobs: int
) -> tuple[Records, dict[str, str]]:
    """Runs the cells and seeds of `keys`; returns the records, and why a cell has none."""
    refused: dict[str, str] = {}

    def one(key: tuple[str, int]) -> TrialRecord | None:
        name, seed = key
        text = cells[name].spec_json(seed)
        try:
            outcome = run(text)
        except ValueError as error:
            refused[name] = str(error)
            return None
        except LabError as error:
            if error.status != 1:  # For example a program that all trials need is missing.
                raise
            refused[name] = error.problem
            return None
        return trial_record.record(TrialSpec.read(text), outcome)

    with ThreadPoolExecutor(jobs) as threads:
        found = dict(zip(keys, threads.map(one, keys), strict=True))
    records = {key: kept for key, kept in found.items() if kept is not None}
    return {key: kept for key, kept in records.items() if key[0] not in refused}, refused


# --- Over all cells ----------------------------------------------------------------------------


def _line(metric: Metric, cases: Sequence[Case]) -> MetricSummary:
    by_cell: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_cell[case.cell.name].append(case)

    def share(holds: Callable[[Case], bool]) -> float:
        return sum(all(map(holds, own)) for own in by_cell.values()) / len(by_cell)

    errors = sorted(case.error for case in cases)
    spreads = sorted(case.spread for case in cases if case.spread is not None)
    rule = RULES.get(metric.name)
    return MetricSummary(
        metric,
        len(by_cell),
        len(cases),
        quantile(errors, 0.5),
        quantile(errors, 0.9),
        quantile(spreads, 0.5) if spreads else None,
        quantile(spreads, 0.9) if spreads else None,
        share(lambda case: case.in_spread),
        share(lambda case: case.error <= 0.05),
        share(lambda case: case.error <= 0.10),
        rule,
        share(lambda case: case.within(rule.within)) if rule is not None else None,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest of `ordered` that at least `share` of the values do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
