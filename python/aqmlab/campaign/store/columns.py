"""The leading columns of every table of a campaign."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aqmlab.base.condition_text import condition_text
from aqmlab.campaign.store.condition_numbers import PATH, RTT_BASE, columns
from aqmlab.campaign.store.folder import Trial

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

LABELS = ("queue_label", "rate_label", "rtt_label", "place_label")
"""The columns that `CampaignResults.labelled` adds to a table."""


LAST = "seed"
"""The last of the leading columns."""


def leading_columns(schema: pa.Schema) -> int:
    """The number of leading columns of a table."""
    return int(schema.get_field_index(LAST)) + 1


class Columns:
    """The leading columns of every table: trial, conditions, `condition_numbers`, seed."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        names = dict.fromkeys(name for trial in trials for name in trial.conditions)
        self._types: dict[str, pa.DataType] = {
            name: _type_of([one.conditions[name] for one in trials if name in one.conditions])
            for name in names
        }
        self._place_of = {trial.index: place for place, trial in enumerate(trials)}
        self._trials = trials
        self._numbers = columns(trials)

    @cached_property
    def _values(self) -> dict[str, pa.Array]:
        """The values of each condition and number, with a value for each trial of the campaign."""
        import pyarrow as pa

        found = {}
        for name, kind in self._types.items():
            values = [_as(one.conditions.get(name), kind) for one in self._trials]
            found[name] = pa.array(values, kind)
        for name, numbers in self._numbers.items():
            found[name] = pa.array(numbers, pa.float64())
        return found

    def schema(self, taken: Collection[str], own: Collection[str] = ()) -> pa.Schema:
        """The names and types of the leading columns of a table.

        A condition with the name of a table's column becomes `condition.NAME`.

        `taken` are the names of all tables' columns, and `own` are the names of this table's
        columns. A table that has its own column of base round-trip times gets no second one.
        """
        import pyarrow as pa

        # SQL ignores case.
        folded = {name.casefold() for name in (*taken, *LABELS, "trial", LAST)}
        kinds = self._types | dict.fromkeys(self._numbers, pa.float64())
        front = [
            (name if name in PATH or name.casefold() not in folded else f"condition.{name}", kind)
            for name, kind in kinds.items()
            if name not in PATH or name not in own
        ]
        return pa.schema([("trial", pa.string()), *front, (LAST, pa.int64())])

    def arrays(
        self, trials: Sequence[Trial], sizes: Sequence[int], own: pa.Table
    ) -> list[pa.Array]:
        """The leading columns of a table whose other columns are `own`, with a value for each row.

        The rows of `own` belong to `trials` in order, and `sizes` holds the number for each trial.
        """
        import numpy as np
        import pyarrow as pa

        which = np.repeat(np.arange(len(trials)), np.array(sizes, np.int64))
        places = np.array([self._place_of[trial.index] for trial in trials], np.int64)
        taken = pa.array(places[which])
        found = [pa.array([trial.id for trial in trials], pa.string()).take(pa.array(which))]
        names = own.column_names
        for name, values in self._values.items():
            if name == RTT_BASE and "flow" in names and RTT_BASE not in names:
                found.append(_own_bases(trials, which, own["flow"]))
            elif name not in PATH or name not in names:
                found.append(values.take(taken))
        seeds = np.array([trial.seed for trial in trials], np.int64)
        return [*found, pa.array(seeds[which])]


def _own_bases(trials: Sequence[Trial], which: np.ndarray, flows: pa.ChunkedArray) -> pa.Array:
    """The base round-trip time of each row's application, which `flows` names.

    `which` holds the number of each row's trial in `trials`.
    """
    import numpy as np
    import pyarrow as pa

    coded = flows.combine_chunks().dictionary_encode()
    names = [*coded.dictionary.to_pylist(), None]
    codes = coded.indices.fill_null(len(names) - 1).to_numpy(zero_copy_only=False)
    bases = np.array([trial.rtt_base_ms.get(one) for trial in trials for one in names], float)
    return pa.array(bases[which * len(names) + codes], from_pandas=True)


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
