"""What a claim asks of results: one number for each seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aqmlab.errors import suggestion
from aqmlab.failures import RequestError
from aqmlab.studies import chunks
from aqmlab.studies.selection import Selection

if TYPE_CHECKING:
    import polars as pl

BySeed = dict[int, float]
"""A number for each seed; NaN where there is none."""


class Unjudged(Exception):  # noqa: N818 (it is no error: a verdict)
    """A claim cannot be judged; says why."""


At = Mapping[str, str]
"""A condition: {"rate": "12/1 Mbit/s", "qdisc": "PIE", "rtt": "40 ms"}."""

NOWHERE: At = {}


class Numbers:
    """The numbers of a selection of trials, by condition; a condition names one trial a seed."""

    def __init__(self, results: Selection) -> None:
        self.results = results
        self._rows: dict[tuple[str, ...], dict[tuple[Any, ...], list[dict[str, Any]]]] = {}

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return sorted({trial["seed"] for trial in self.results.manifest["trials"]})

    def flow(
        self, flow: str, column: str, at: At = NOWHERE, direction: str | None = None
    ) -> BySeed:
        """A column of the table `flows`, of the direction that carries the flow's data."""
        rows = self._of("flows", ("flow",), (flow,), at)
        rows = [row for row in rows if row["primary"] and direction in (None, row["direction"])]
        return self._by_seed(rows, column, f"flow {flow}")

    def app(self, flow: str, metric: str, at: At = NOWHERE) -> BySeed:
        """What an application measured itself, from the table `apps`."""
        rows = self._of("apps", ("flow", "metric"), (flow, metric), at)
        return self._by_seed(rows, "value", f"{flow} {metric}", empty=True)

    def queue(self, link: str, column: str, at: At = NOWHERE) -> BySeed:
        """A column of the table `queues`."""
        return self._by_seed(self._of("queues", ("link",), (link,), at), column, link)

    def chunks(self, flow: str, column: str, at: At = NOWHERE, quantile: float = 0.5) -> BySeed:
        """A quantile over a stream's chunks of `ar_mbit` or `rr_mbit`, in the measured time."""
        rows = self._of("chunks", ("flow",), (flow,), at)
        found: BySeed = {}
        for seed in self.seeds:
            values = sorted(row[column] for row in rows if row["seed"] == seed)
            found[seed] = _quantile(values, quantile)
        return found

    def _of(
        self, table: str, keys: tuple[str, ...], values: tuple[str, ...], where: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The rows of one flow (or link) under one condition."""
        names = (table, *keys, *sorted(where))
        if names not in self._rows:
            self._rows[names] = self._indexed(table, (*keys, *sorted(where)))
        wanted = (*values, *(where[name] for name in sorted(where)))
        return self._rows[names].get(wanted, [])

    def _indexed(
        self, table: str, names: tuple[str, ...]
    ) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        frame = self._frame(table)
        for name in names:
            if name not in frame.columns:
                raise RequestError(f"nothing varies `{name}`", suggestion(name, frame.columns))
        found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in frame.iter_rows(named=True):
            found.setdefault(tuple(row[name] for name in names), []).append(row)
        return found

    def _frame(self, table: str) -> pl.DataFrame:
        return chunks.of(self.results) if table == "chunks" else self.results.table(table)

    def _by_seed(
        self, rows: list[dict[str, Any]], column: str, what: str, *, empty: bool = False
    ) -> BySeed:
        if rows and column not in rows[0]:
            raise RequestError(f"there is no column `{column}`", suggestion(column, rows[0]))
        found: BySeed = dict.fromkeys(self.seeds, math.nan)
        for row in rows:
            if not math.isnan(found[row["seed"]]):
                raise RequestError(f"{what}: the conditions name more than one trial")
            value = row[column]
            found[row["seed"]] = math.nan if value is None else float(value)
        if not rows and not empty:
            raise Unjudged(f"{what}: there is no trial under these conditions")
        return found


def _quantile(values: list[float], share: float) -> float:
    """R's type 7 of sorted values; NaN of none."""
    if not values:
        return math.nan
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)
