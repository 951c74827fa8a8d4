"""The leading columns of every table of a campaign."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from aqmlab.base.condition_text import condition_text
from aqmlab.campaign.store.folder import Trial

if TYPE_CHECKING:
    import pyarrow as pa

LABELS = ("queue_label", "rate_label", "rtt_label", "place_label")
"""Columns that `Results.labelled` adds to a table."""


class Columns:
    """The leading columns of every table: trial, conditions, seed."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        names = dict.fromkeys(name for trial in trials for name in trial.conditions)
        self._types: dict[str, pa.DataType] = {
            name: _type_of([one.conditions[name] for one in trials if name in one.conditions])
            for name in names
        }

    @property
    def count(self) -> int:
        """The number of columns."""
        return len(self._types) + 2

    def schema(self, taken: Collection[str]) -> pa.Schema:
        """The names and types of the columns.

        A condition that has the name of a table's column in `taken` gets another name.
        """
        import pyarrow as pa

        # SQL ignores case.
        folded = {name.casefold() for name in (*taken, *LABELS, "trial", "seed")}
        conditions = [
            (f"condition.{name}" if name.casefold() in folded else name, kind)
            for name, kind in self._types.items()
        ]
        return pa.schema([("trial", pa.string()), *conditions, ("seed", pa.int64())])

    def arrays(self, rows: Sequence[tuple[Trial, int]]) -> list[pa.Array]:
        """The values for the given number of rows of each trial, in order."""
        import numpy as np
        import pyarrow as pa

        which = pa.array(np.repeat(np.arange(len(rows)), [count for _, count in rows]))
        columns: list[tuple[list[Any], pa.DataType]] = [
            ([trial.id for trial, _ in rows], pa.string())
        ]
        for name, kind in self._types.items():
            columns.append(([_as(trial.conditions.get(name), kind) for trial, _ in rows], kind))
        columns.append(([trial.seed for trial, _ in rows], pa.int64()))
        return [pa.array(values, kind).take(which) for values, kind in columns]


def _as(value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    return condition_text(value) if value is not None and pa.types.is_string(kind) else value


def _type_of(values: Sequence[Any]) -> pa.DataType:
    import pyarrow as pa

    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int} and all(abs(value) < 2**63 for value in values):
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()
