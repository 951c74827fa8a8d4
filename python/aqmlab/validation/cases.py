"""A case is one metric of one item in one cell. An item is a flow or a link.

A case holds the values of two sides, the kernel and the compared engine, and their difference.

The error of a case is the difference of the medians over seeds, relative to the kernel's median, or
to the metric's resolution if that is greater. It is zero if the difference is within the
resolution. `Case.within` judges the error; the limits are in `compare` (`RULES`).
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from aqmlab.validation import spread, trial_record
from aqmlab.validation.grid import Cell
from aqmlab.validation.metrics import BY_NAME, Metric, Scale
from aqmlab.validation.trial_record import Measured, TrialRecord

SHAPE = "cwnd_shape"

Records = Mapping[tuple[str, int], TrialRecord]
"""The records of trials, by cell and seed."""


Kin = Mapping[tuple[str, str], float]
"""The typical variance of each metric by kin, in `spread.Unit`. The kin "" stands for all cells."""


@dataclass(frozen=True, slots=True)
class Case:
    """A metric of an item in a cell: the values of both sides by seed, and their difference.

    The values of `cwnd_shape` are distances between curves: see `_shapes`.
    """

    cell: Cell
    metric: Metric
    item: str
    kernel: tuple[float, ...]
    ours: tuple[float, ...]
    error: float
    """The error relative to the kernel's median, or to the resolution if that is greater.

    It is 0 for a difference within the resolution. For a larger value that only one side has, it is
    infinite.
    """
    spread: float | None
    """The bound on differences by chance, relative to the same value as the error.

    It is `None` if the kernel has fewer than `spread.LEAST_SEEDS` values, or if the error is
    relative to zero.
    """

    def within(self, tolerance: float) -> bool:
        """Returns whether the error is within `tolerance` or the kernel's own spread."""
        return self.error <= tolerance or self.in_spread

    @property
    def in_spread(self) -> bool:
        """Whether the error is within the kernel's own spread."""
        return self.error == 0 or (self.spread is not None and self.error <= self.spread)

    @property
    def excess(self) -> float:
        """The error divided by the bound on chance, which counts as at least 2 %.

        Cases are sorted by this value, largest first.
        """
        return self.error / max(self.spread or 0.0, 0.02)

    def to_json(self) -> dict[str, Any]:
        """The case in JSON's types, with the values of both sides; `None` for an infinite error."""
        return {
            "cell": self.cell.name,
            "metric": self.metric.name,
            "item": self.item,
            "unit": self.metric.unit,
            "kernel": list(self.kernel),
            "ours": list(self.ours),
            "error": self.error if math.isfinite(self.error) else None,
            "spread": self.spread,
            "within_spread": self.in_spread,
        }


@dataclass(slots=True)
class Pair:
    """An item of a metric in a cell: the values of both sides, and the resolution."""

    cell: Cell
    metric: Metric
    item: str
    kernel: list[float]
    ours: list[float]
    resolution: float

    @property
    def unit(self) -> spread.Unit:
        """The unit of the item's variance."""
        return spread.Unit(self.resolution, self.metric.counts)


def cases_of(
    cells: Mapping[str, Cell], kernel: Records, ours: Records, chosen: Sequence[Metric]
) -> Iterator[Case]:
    """Yields every case of the cells that both sides ran."""
    pairs: list[Pair] = []
    for name, cell in cells.items():
        seeds = [seed for one, seed in kernel if one == name and (name, seed) in ours]
        if not seeds:
            continue
        mine = [trial_record.measure(cell.spec, ours[name, seed]) for seed in seeds]
        theirs = [trial_record.measure(cell.spec, kernel[name, seed]) for seed in seeds]
        for metric in chosen:
            pairs += _pairs(cell, metric, theirs, mine)
        if any(metric.name == SHAPE for metric in chosen):
            yield from _shapes(cell, [kernel[name, seed] for seed in seeds],
                               [ours[name, seed] for seed in seeds])  # fmt: skip
    yield from judged(pairs, _kin(pairs))


def cases_of_halves(
    cells: Mapping[str, Cell], kernel: Records, chosen: Sequence[Metric]
) -> Iterator[Case]:
    """Yields cases that compare the first half of the kernel's seeds with the second half.

    Cells with fewer than `2 * spread.LEAST_SEEDS` seeds have no case. If the number of seeds is
    odd, the last seed is unused. There is no case of `cwnd_shape`.
    """
    every: list[Pair] = []
    halves: list[Pair] = []
    for name, cell in cells.items():
        seeds = sorted(seed for one, seed in kernel if one == name)
        measured = [trial_record.measure(cell.spec, kernel[name, seed]) for seed in seeds]
        half = len(seeds) // 2
        for metric in chosen:
            every += _pairs(cell, metric, measured, [])
            if half >= spread.LEAST_SEEDS:
                halves += _pairs(cell, metric, measured[:half], measured[half : 2 * half])
    yield from judged(halves, _kin(every))


def _pairs(
    cell: Cell, metric: Metric, theirs: Sequence[Measured], mine: Sequence[Measured]
) -> Iterator[Pair]:
    """Yields the items of a metric that either side has."""
    items = sorted({item for one in (*theirs, *mine) for item in one.values.get(metric.name, ())})
    for item in items:
        kernel, ours = (_present(one, metric.name, item) for one in (theirs, mine))
        if kernel or ours:
            resolution = _resolution(cell, metric, item, theirs)
            yield Pair(cell, metric, item, kernel, ours, resolution)


def _present(measured: Sequence[Measured], metric: str, item: str) -> list[float]:
    """The values that exist; empty unless more than half of the trials have a value."""
    found = [one.values.get(metric, {}).get(item) for one in measured]
    present = [value for value in found if value is not None]
    return present if 2 * len(present) > len(found) else []


def _resolution(cell: Cell, metric: Metric, item: str, theirs: Sequence[Measured]) -> float:
    packets = [one.packets[item] for one in theirs if item in one.packets]
    rates = {link.name: float(link.rate_bps) for link in cell.spec.links}
    scale = Scale(
        cell.duration_s,
        statistics.median(packets) if packets else math.nan,
        rates.get(item, math.nan),
    )
    return metric.resolution(scale)


def judged(pairs: Sequence[Pair], kin: Kin) -> Iterator[Case]:
    """Yields the case of each pair, with the spread from its values and from `kin`."""
    tests: dict[tuple[str, str], int] = defaultdict(int)
    for pair in pairs:
        tests[pair.cell.name, pair.metric.name] += 1
    for pair in pairs:
        error, scale = _error(pair)
        typical = kin.get((pair.metric.name, pair.cell.kin), kin.get((pair.metric.name, "")))
        width = spread.half_width(
            pair.kernel,
            unit=pair.unit,
            kin=typical,
            others=max(len(pair.ours), 1),
            tests=tests[pair.cell.name, pair.metric.name],
        )
        relative = None if width is None or not scale else width / scale
        yield Case(
            pair.cell, pair.metric, pair.item, tuple(pair.kernel), tuple(pair.ours), error, relative
        )


def _error(pair: Pair) -> tuple[float, float]:
    """The relative error, and the value to which it is relative."""
    if not pair.kernel or not pair.ours:
        present = statistics.median(pair.kernel or pair.ours)
        # A missing value counts as zero, from which a value within the resolution does not differ.
        return (0.0 if abs(present) <= pair.resolution else math.inf), abs(present)
    truth = statistics.median(pair.kernel)
    difference = abs(statistics.median(pair.ours) - truth)
    scale = max(abs(truth), pair.resolution)
    if difference <= pair.resolution:
        return 0.0, scale
    return (difference / scale if scale else math.inf), scale


def _kin(pairs: Sequence[Pair]) -> Kin:
    """The typical variances over the pairs with at least `KNOWN_SEEDS` values of the kernel."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in pairs:
        if len(pair.kernel) >= spread.KNOWN_SEEDS:
            one = pair.unit.variance(pair.kernel)
            variance = statistics.variance(pair.kernel) / one if one else 0.0
            found[pair.metric.name, pair.cell.kin].append(variance)
            found[pair.metric.name, ""].append(variance)
    return {key: statistics.median(variances) for key, variances in found.items()}


# --- The shape of the congestion window --------------------------------------------------------


def _shapes(
    cell: Cell, kernel: Sequence[TrialRecord], ours: Sequence[TrialRecord]
) -> Iterator[Case]:
    """Yields a case for each item.

    A case compares the engine's curves with the kernel's, and the kernel's curves with each other.
    """
    metric = BY_NAME[SHAPE]
    for item in sorted(kernel[0]["series"]["cwnd_bytes"]):
        theirs, mine = (
            [one["series"]["cwnd_bytes"][item] for one in records
             if item in one["series"]["cwnd_bytes"]]
            for records in (kernel, ours)
        )  # fmt: skip
        if not theirs or not mine:
            continue
        between = [distance(one, other) for one in mine for other in theirs]
        own = [distance(one, other) for one, other in combinations(theirs, 2)]
        mean = statistics.fmean(between)
        yield Case(cell, metric, item, tuple(own), tuple(between), mean, max(own) if own else None)


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The mean distance of two curves over their common part, relative to the mean of both.

    >>> distance([1, 1, 1], [3, 3, 3]), distance([2, 4], [2, 4, 9])
    (1.0, 0.0)
    """
    pairs = list(zip(one, other, strict=False))
    total = sum(a + b for a, b in pairs)
    return 2 * sum(abs(a - b) for a, b in pairs) / total if total else 0.0
