"""Reads trials one after another, each with its rows of the tables.

Tables hold their trials in the order of the campaign. One pass reads all tables side by side, one
group of rows at a time. The memory therefore does not grow with the campaign.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.campaign.trial_facts import stored_spec
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.results.export.rows import (
    AppSeriesRow,
    FlowRow,
    QueueSeriesRow,
    RttRow,
    TcpSeriesRow,
    WindowRow,
)

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.campaign.store.manifest import ConditionValue, TrialEntry
    from aqmlab.results.results import CampaignResults


_ROWS = 200_000
"""The number of rows in a group."""


@dataclass(frozen=True)
class TrialRows:
    """A finished trial, and its rows of the requested tables."""

    id: str
    seed: int
    engine: str
    conditions: Mapping[str, ConditionValue]
    rows: dict[str, pl.DataFrame] = field(repr=False)
    """Rows by table; a table without rows of the trial is absent."""

    @cached_property
    def spec(self) -> TrialSpec:
        """The resolved trial; raises `RequestError` if this version cannot read it."""
        return stored_spec(self.rows["trials"]["spec"][0], self.id)

    @property
    def digest(self) -> str:
        """The digest of the trial's packets."""
        return str(self.rows["trials"]["digest"][0])

    @overload
    def of(self, table: Literal["flows"], **equal: str | bool) -> list[FlowRow]: ...
    @overload
    def of(self, table: Literal["windows"], **equal: str | bool) -> list[WindowRow]: ...
    @overload
    def of(self, table: Literal["rtt"], **equal: str | bool) -> list[RttRow]: ...
    @overload
    def of(self, table: Literal["app_series"], **equal: str | bool) -> list[AppSeriesRow]: ...
    @overload
    def of(self, table: Literal["tcp_series"], **equal: str | bool) -> list[TcpSeriesRow]: ...
    @overload
    def of(self, table: Literal["queue_series"], **equal: str | bool) -> list[QueueSeriesRow]: ...
    def of(self, table: str, **equal: str | bool) -> Any:
        """The rows of `table` that have the values of `equal` in the columns of these names."""
        import polars as pl

        if table not in self.rows:
            return []
        rows = self.rows[table]
        wanted = [pl.col(column) == value for column, value in equal.items()]
        return (rows.filter(*wanted) if wanted else rows).to_dicts()


def wanted_trials(results: CampaignResults, ids: Sequence[str]) -> list[TrialEntry]:
    """The manifest's entries of the trials `ids`, or of all trials if `ids` is empty.

    Raises `RequestError` for an unknown trial.
    """
    entries = {entry.id: entry for entry in results.manifest.trials}
    for name in ids:
        if name not in entries:
            raise unknown_trial(name, entries)
    return [entry for name, entry in entries.items() if not ids or name in ids]


def unknown_trial(name: str, known: Collection[str]) -> RequestError:
    """The error for an unknown trial.

    The hint is a trial whose name has all comma-separated parts of `name`, or otherwise the text of
    `suggestion`.
    """
    given = set(name.split(","))
    having = [one for one in known if given <= set(one.split(","))]
    problem = f"--trial: unknown trial `{shown(name)}`"
    if not having:
        return RequestError(problem, suggestion(name, known))
    matches = f"is one of {len(having)} that match" if len(having) > 1 else "matches"
    return RequestError(problem, f"give the whole name of a trial: `{having[0]}` {matches}")


def read(
    results: CampaignResults, tables: Sequence[str], ids: Sequence[str] = ()
) -> Iterator[TrialRows]:
    """Yields the finished trials with these names, or all finished trials, in the campaign's order.

    Raises `RequestError` for a trial that does not exist.
    """
    wanted = {entry.id for entry in wanted_trials(results, ids)}
    names = {"trials", *tables} & set(results.tables)
    cursors = {name: _Cursor(pieces(results, name)) for name in names}
    for entry in results.manifest.trials:
        found = {name: cursor.take(entry.id) for name, cursor in cursors.items()}
        rows = {name: frame for name, frame in found.items() if frame is not None}
        if entry.id in wanted and "trials" in rows:
            yield TrialRows(entry.id, entry.seed, entry.engine, entry.conditions, rows)


class _Cursor:
    """Reads a table trial by trial."""

    def __init__(self, pieces: Iterator[pl.DataFrame]) -> None:
        self._trials = _whole(pieces)
        self._next = next(self._trials, None)

    def take(self, trial: str) -> pl.DataFrame | None:
        """Removes and returns the rows of `trial` if it is the table's next trial.

        Otherwise returns `None`.
        """
        if self._next is None or self._next["trial"][0] != trial:
            return None
        taken, self._next = self._next, next(self._trials, None)
        return taken


def _whole(pieces: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yields all rows of one trial at a time, from pieces that may end within a trial."""
    import polars as pl

    held: list[pl.DataFrame] = []
    for piece in pieces:
        for part in piece.partition_by("trial", maintain_order=True):
            if held and held[0]["trial"][0] != part["trial"][0]:
                yield pl.concat(held)
                held = []
            held.append(part)
    if held:
        yield pl.concat(held)


def pieces(results: CampaignResults, name: str) -> Iterator[pl.DataFrame]:
    """Yields a table in groups of rows, in order. An empty table gives one empty group."""
    import polars as pl

    frame = results.scan(name)
    rows = frame.select(pl.len()).collect().item()
    for start in range(0, max(rows, 1), _ROWS):
        piece = frame.slice(start, _ROWS).collect()
        results.refuse_malformed(name, piece)
        yield piece
