"""The numbers that claims use: one for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.studies import chunks, statistic
from aqmlab.studies.selection import Selection
from aqmlab.studies.statistic import Span, Take

if TYPE_CHECKING:
    import polars as pl

BySeed = dict[int, float]
"""A number for each seed; NaN if there is none."""

Points = dict[int, list[tuple[float, float]]]
"""A time series for each seed: times in seconds with values, in order."""


class Unjudged(Exception):  # noqa: N818 (it is no error: a verdict)
    """Raised if a claim cannot be judged; the message states the reason."""


At = Mapping[str, str]
"""A condition: {"rate": "12/1 Mbit/s", "qdisc": "PIE", "rtt": "40 ms"}."""

NOWHERE: At = {}

DIRECTIONS, SIDES = ("down", "up"), ("home", "wan")

OVER_TIME = ("windows", "rtt", "tcp_series", "app_series", "queue_series")
"""Large tables, of which only the rows of one flow or link are read."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The loaded part of a table: all rows, or the rows with `value` in `column`."""

    table: str
    column: str = ""
    value: str = ""


class Numbers:
    """The numbers of a selection of trials. A condition selects one trial per seed.

    `take` is the statistic over many values: "mean", "min", "max", "deviation" (the standard
    deviation), or a quantile, such as 0.95 for the 95th percentile. A `span` is a start and an end,
    in seconds. Without a span, the whole trial counts.
    """

    def __init__(self, results: Selection) -> None:
        self.results = results
        self._parts: dict[tuple[_Read, tuple[str, ...]], dict[tuple[Any, ...], pl.DataFrame]] = {}
        self._read: dict[_Read, pl.DataFrame] = {}
        self._primary: dict[str, set[str]] = {}

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return self.results.manifest.seeds()

    # --- Of whole trials -----------------------------------------------------------------------

    def flow(
        self, flow: str, column: str, at: At = NOWHERE, direction: str | None = None
    ) -> BySeed:
        """A column of the table `flows`; without `direction`, of the only direction with data.

        Raises `Unjudged` if the flow carries data only in the other direction.
        """
        rows = self._of("flows", {"flow": flow}, at)
        rows = rows.filter(rows["primary"])
        if direction is not None:
            refuse_unknown("direction", [direction], DIRECTIONS)
            carrying = rows["direction"].unique()
            rows = rows.filter(rows["direction"] == direction)
            if rows.is_empty() and not carrying.is_empty():
                raise Unjudged(f"flow {flow}: carries data {carrying[0]} only")
        return self._by_seed(rows, column, f"flow {flow}")

    def app(self, flow: str, metric: str, at: At = NOWHERE) -> BySeed:
        """An application's own measurement, from `apps`, such as "completion_time_s"."""
        rows = self._of("apps", {"flow": flow, "metric": metric}, at)
        return self._by_seed(rows, "value", f"{flow} {metric}", empty=True)

    def queue(self, link: str, column: str, at: At = NOWHERE) -> BySeed:
        """A column of the table `queues`, such as "sojourn_p50_ms"."""
        return self._by_seed(self._of("queues", {"link": link}, at), column, link)

    def summary(self, column: str, at: At = NOWHERE) -> BySeed:
        """A column of the table `summary`, such as "jain_up" or "jain_down"."""
        return self._by_seed(self._of("summary", {}, at), column, "the trial")

    def conns(self, flow: str, column: str, at: At = NOWHERE) -> BySeed:
        """The sum of a column of `conns` over a flow's connections, such as "rtos"."""
        rows = self._of("conns", {"flow": flow}, at)
        return self._taken(rows, column, lambda own: float(own[column].sum()))

    def drops(self, link: str, flow: str, at: At = NOWHERE) -> BySeed:
        """The number of packets of a flow that the queue of `link` dropped."""
        rows = self._of("queue_drops", {"link": link, "flow": flow}, at)
        if rows["seed"].n_unique() < rows.height:
            raise RequestError(f"{link}: the conditions match more than one trial")
        found = dict.fromkeys(self.seeds, 0.0)
        return found | {row["seed"]: float(row["drops"]) for row in rows.iter_rows(named=True)}

    # --- Of parts of trials --------------------------------------------------------------------

    def rate(
        self,
        flow: str,
        at: At = NOWHERE,
        span: Span | None = None,
        *,
        direction: str | None = None,
        take: Take = "mean",
    ) -> BySeed:
        """A statistic of a flow's throughput (Mbit/s) over the windows wholly within `span`."""
        rows = statistic.windows_within(self._series("windows", flow, at, direction), span)
        return self._taken(
            rows, "throughput_mbit", lambda own: statistic.of(own["throughput_mbit"], take)
        )

    def rtt(
        self,
        flow: str,
        at: At = NOWHERE,
        span: Span | None = None,
        *,
        direction: str | None = None,
        take: Take = "mean",
    ) -> BySeed:
        """A statistic of a flow's round-trip times (ms) over the steps within `span`.

        Mean, minimum and maximum cover all pairs. The other statistics use the medians of the
        steps, weighted by the number of pairs in each step. For exact values, vary `measure.from`
        and `measure.to` and use `flow`.
        """
        rows = statistic.within(self._series("rtt", flow, at, direction), span)
        return self._taken(rows, "rtt_mean_ms", lambda own: statistic.of_rtt(own, take))

    def induced(
        self,
        flow: str,
        at: At = NOWHERE,
        span: Span | None = None,
        *,
        direction: str | None = None,
        take: Take = "mean",
    ) -> BySeed:
        """The result of `rtt` minus the base round-trip time.

        For the statistic "deviation" nothing is subtracted.
        """
        rtt_ms = self.rtt(flow, at, span, direction=direction, take=take)
        base_ms = self.flow(flow, "rtt_base_ms", at, direction)
        less = 0.0 if take == "deviation" else 1.0
        return {seed: rtt_ms[seed] - less * base_ms[seed] for seed in rtt_ms}

    def points(
        self, table: str, flow: str, column: str, at: At = NOWHERE, direction: str | None = None
    ) -> Points:
        """A column over time, from "windows", "rtt" or "tcp_series".

        In "tcp_series" the directions are "home" and "wan".
        """
        rows = self._series(table, flow, at, direction)
        return self._points(rows, column)

    def noted(self, flow: str, metric: str, at: At = NOWHERE) -> Points:
        """An application's own measurements over time, from `app_series`."""
        return self._points(self._of("app_series", {"flow": flow, "metric": metric}, at), "value")

    def queued(self, link: str, column: str, at: At = NOWHERE) -> Points:
        """The state of a queue over time, from `queue_series`, such as "backlog_packets"."""
        return self._points(self._of("queue_series", {"link": link}, at), column)

    def gauge(
        self, link: str, gauge: str, at: At = NOWHERE, span: Span | None = None, take: Take = "mean"
    ) -> BySeed:
        """A statistic of a gauge of a link's queue over time, such as "drop_probability"."""
        rows = statistic.within(self._of("queue_gauges", {"link": link, "gauge": gauge}, at), span)
        return self._taken(rows, "value", lambda own: statistic.of(own["value"], take))

    def chunks(
        self,
        flow: str,
        column: str,
        at: At = NOWHERE,
        quantile: Take = 0.5,
        span: Span | None = None,
    ) -> BySeed:
        """A statistic of a column of `chunks`, such as "ar_mbit", over a stream's chunks."""
        rows = statistic.within(self._of("chunks", {"flow": flow}, at), span)
        return self._taken(rows, column, lambda own: statistic.of(own[column], quantile))

    # --- Selection of rows ---------------------------------------------------------------------

    def _series(self, table: str, flow: str, at: At, direction: str | None) -> pl.DataFrame:
        """The time series of a flow in `direction`, or by default in the only direction with data.

        In `tcp_series`, `direction` is a side. It is required if the flow has rows of both sides.
        """
        import polars as pl

        rows = self._of(table, {"flow": flow}, at)
        column, known = ways(table)
        if direction is None and column == "direction":
            rows = rows.filter(pl.col("direction").is_in(list(self._carrying(flow))))
        elif direction is not None:
            refuse_unknown(column, [direction], known)
            rows = rows.filter(pl.col(column) == direction)
        if rows[column].n_unique() > 1:
            both = ", ".join(rows[column].unique().sort())
            raise RequestError(f"flow {flow}: state the {column}: {both}")
        return rows

    def _carrying(self, flow: str) -> set[str]:
        """The directions in which a flow carries data."""
        import polars as pl

        if flow not in self._primary:
            flows = self.results.table("flows")
            own = flows.filter(pl.col("primary") & (pl.col("flow") == flow))
            self._primary[flow] = set(own["direction"])
        return self._primary[flow]

    def _of(self, table: str, keys: Mapping[str, str], where: At) -> pl.DataFrame:
        """The rows with the values `keys`, such as a flow's name, under the condition `where`.

        Raises `RequestError` for an unknown name.
        """
        wanted = {**keys, **{name: where[name] for name in sorted(where)}}
        read = _Read(table, *next(iter(keys.items()))) if table in OVER_TIME else _Read(table)
        names = (read, tuple(wanted))
        if names not in self._parts:
            self._parts[names] = self._parted(read, list(wanted))
        found = self._parts[names].get(tuple(wanted.values()))
        if found is None:
            self._refuse_unknown(keys, where)
            return self._frame(read).clear()
        return found

    def _refuse_unknown(self, keys: Mapping[str, str], where: At) -> None:
        """Raises `RequestError` for an unknown name, which is an error in the claim."""
        if "flow" in keys:
            refuse_unknown("flow", [keys["flow"]], self.results.manifest.apps)
        if "link" in keys:
            refuse_unknown("link", [keys["link"]], set(self.results.table("queues")["link"]))
        trials = (one.conditions for one in self.results.manifest.trials)
        refuse_unknown_condition(
            where, [{name: condition_text(own[name]) for name in own} for own in trials]
        )

    def _parted(self, read: _Read, names: list[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
        import polars as pl

        frame = self._frame(read)
        for name in names:
            if name not in frame.columns:
                raise RequestError(f"nothing varies `{name}`", suggestion(name, frame.columns))
        if not names:
            return {(): frame}
        as_text = frame.with_columns(frame[name].cast(pl.String) for name in names)
        return as_text.partition_by(names, as_dict=True, maintain_order=True)

    def _frame(self, read: _Read) -> pl.DataFrame:
        import polars as pl

        if read.column:
            if read not in self._read:
                rows = self.results.scan(read.table).filter(pl.col(read.column) == read.value)
                self._read[read] = rows.collect()
            return self._read[read]
        if read.table == "chunks":
            return chunks.of(self.results)
        return self.results.table(read.table)

    def _by_seed(
        self, rows: pl.DataFrame, column: str, what: str, *, empty: bool = False
    ) -> BySeed:
        _check(rows, column)
        found: BySeed = dict.fromkeys(self.seeds, math.nan)
        if rows["seed"].n_unique() < rows.height:
            raise RequestError(f"{what}: the conditions match more than one trial")
        for seed, value in rows.select("seed", column).iter_rows():
            found[seed] = math.nan if value is None else float(value)
        if rows.is_empty() and not empty:
            raise Unjudged(f"{what}: no trial matches these conditions")
        return found

    def _taken(
        self, rows: pl.DataFrame, column: str, take: Callable[[pl.DataFrame], float]
    ) -> BySeed:
        """The statistic `take` over the rows of each seed; NaN if there are none."""
        return {
            seed: take(own) if own.height else math.nan for seed, own in self._each(rows, column)
        }

    def _points(self, rows: pl.DataFrame, column: str) -> Points:
        return {
            seed: own.sort("t_s").select("t_s", column).drop_nulls().rows()
            for seed, own in self._each(rows, column)
        }

    def _each(self, rows: pl.DataFrame, column: str) -> list[tuple[int, pl.DataFrame]]:
        """The rows of each seed; raises `RequestError` if a seed has rows of several trials."""
        _check(rows, column)
        if rows["trial"].n_unique() > rows["seed"].n_unique():
            raise RequestError(f"{column}: the conditions match more than one trial")
        return [(seed, rows.filter(rows["seed"] == seed)) for seed in self.seeds]


def refuse_unknown(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raises `RequestError` if a name is not in `known`. The message calls the name a `what`."""
    for name in names:
        if name not in known:
            raise RequestError(f"there is no {what} `{name}`", suggestion(str(name), known))


def refuse_unknown_condition(where: At, trials: Sequence[At]) -> None:
    """Raises `RequestError` if no trial has the given conditions."""
    if not any(all(own.get(name) == where[name] for name in where) for own in trials):
        asked = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise RequestError(f"there is no trial with {asked}", _there_are(where, trials))


def ways(table: str) -> tuple[str, tuple[str, str]]:
    """The column of a table that holds a flow's direction, and its two values."""
    return ("side", SIDES) if table == "tcp_series" else ("direction", DIRECTIONS)


def _there_are(where: At, trials: Sequence[At]) -> str:
    """A hint with the available values of the first condition that no trial matches."""
    for name, value in where.items():
        known = dict.fromkeys(own[name] for own in trials if name in own)
        if known and value not in known:
            return f"`{name}` is {', '.join(known)} in the trials that the claim names"
    return "check the trials that the claim declares"


def _check(rows: pl.DataFrame, column: str) -> None:
    if column not in rows.columns:
        raise RequestError(f"there is no column `{column}`", suggestion(column, rows.columns))
