"""The columns that every reader of a stored table may expect.

docs/reference/results.md defines the columns, and `crates/trial` writes them. A folder may come
from an untrusted source, and its tables can have any columns although all checksums are correct.
The checks use the names, the types, the numbers of missing values and the largest values. The
checks of files use footers only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from aqmlab.base.numerals import count_text
from aqmlab.campaign.store.layout import TRIALS

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

Kind: TypeAlias = Literal["text", "true or false", "a number", "a number or no value"]
"""The values of a column. Only a column of the last kind may have missing values."""

_TEXT: Kind = "text"
_FLAG: Kind = "true or false"
_PRESENT: Kind = "a number"
NUMBER: Kind = "a number or no value"

_KINDS = (_TEXT, _FLAG, _PRESENT)


def _all(kind: Kind, names: str) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), kind)


_SERIES = _all(_TEXT, "flow direction") | _all(_PRESENT, "t_s")
_QUANTILES = " ".join(f"rtt_p{p}_ms" for p in (1, 5, 10, 25, 50, 75, 90, 95, 99, "99_9"))

COLUMNS: Mapping[str, Mapping[str, Kind]] = {
    "flows": _all(_TEXT, "flow direction")
    | _all(_FLAG, "primary")
    | _all(
        NUMBER,
        "packets_sent packets_received bytes_sent bytes_received lost loss_percent active_from_s"
        " active_to_s throughput_mean_mbit throughput_p5_mbit throughput_p25_mbit"
        " throughput_p50_mbit throughput_p75_mbit throughput_p95_mbit"
        " throughput_nonempty_mean_mbit goodput_mbit retransmissions rtt_n rtt_min_ms rtt_mean_ms"
        f" {_QUANTILES} rtt_max_ms rtt_base_ms induced_p25_ms induced_p50_ms induced_p75_ms"
        " induced_p95_ms owd_p50_ms owd_p90_ms owd_p95_ms owd_p99_ms owd_p99_9_ms owd_max_ms"
        " jitter_ms",
    ),
    "windows": _SERIES | _all(_PRESENT, "throughput_mbit"),
    "rtt": _SERIES
    | _all(_PRESENT, "n rtt_min_ms rtt_mean_ms rtt_max_ms")
    | _all(NUMBER, "rtt_p50_ms"),
    "apps": _all(_TEXT, "flow metric") | _all(NUMBER, "value"),
    "app_series": _all(_TEXT, "flow metric") | _all(_PRESENT, "t_s value"),
    "hosts": _all(_TEXT, "host direction")
    | _all(_PRESENT, "apps bytes_arrived")
    | _all(NUMBER, "active_from_s active_to_s throughput_mean_mbit share_percent"),
    "queues": _all(_TEXT, "link")
    | _all(
        NUMBER,
        "packets_offered packets_out bytes_out utilisation throughput_mbit drops_overlimit"
        " drops_sojourn drops_early drops_forced drops_filtered marks sojourn_mean_ms"
        " sojourn_p5_ms sojourn_p50_ms sojourn_p95_ms sojourn_p99_ms sojourn_max_ms"
        " backlog_mean_packets backlog_max_packets",
    ),
    "queue_drops": _all(_TEXT, "link flow") | _all(_PRESENT, "drops marks"),
    "queue_series": _all(_TEXT, "link")
    | _all(_PRESENT, "t_s backlog_packets sojourn_max_ms drops")
    | _all(NUMBER, "backlog_bytes marks"),
    "queue_gauges": _all(_TEXT, "link gauge") | _all(_PRESENT, "t_s") | _all(NUMBER, "value"),
    "conns": _all(_TEXT, "flow")
    | _all(_PRESENT, "conn")
    | _all(
        NUMBER,
        "opened_s established_s closed_s bytes_up bytes_down segments_sent retransmissions rtos"
        " tlps fast_recoveries spurious_undos ece_reductions",
    ),
    "tcp_series": _all(_TEXT, "flow side")
    | _all(_PRESENT, "conn t_s cwnd_bytes")
    | _all(NUMBER, "ssthresh_bytes srtt_ms in_flight_bytes"),
    "summary": _all(NUMBER, "jain_up jain_down events packets"),
    TRIALS: _all(_TEXT, "digest") | _all(_PRESENT, "events packets") | _all(_TEXT, "spec"),
    "links": _all(_TEXT, "link") | _all(_PRESENT, "packets_out bytes_out drops marks"),
}
"""The columns of each table after the leading columns."""

ABSENT: Mapping[str, tuple[str, ...]] = {
    "flows": ("active_from_s", "active_to_s", "goodput_mbit"),
    "rtt": ("rtt_p50_ms",),
    "queues": ("drops_filtered",),
    "queue_series": ("backlog_bytes", "marks"),
    "tcp_series": ("ssthresh_bytes", "in_flight_bytes"),
    "summary": ("jain_down", "events", "packets"),
}
"""The columns that a table may lack.

They are numbers that earlier versions did not write, or without which every command works.
"""


MOST = 1e15
"""The largest absolute value of a number in the columns `COLUMNS`.

It is beyond all results of trials, so that sums and axes of stored numbers are finite. The largest
number in a trial is a number of bytes. A line of 10 Gbit/s carries `MOST` bytes in nine days.
"""


def _expected(table: str) -> dict[str, Kind]:
    return {"trial": _TEXT, "seed": _PRESENT, **COLUMNS.get(table, {})}


def fault_of_file(table: str, file: pq.ParquetFile) -> str | None:
    """The reason why a file cannot belong to `table`, from the file's footer, or `None`."""
    schema = file.schema_arrow
    expected = _expected(table)
    problem = _fault_of_schema(
        schema, expected, ABSENT.get(table, ()), has_rows=file.metadata.num_rows > 0
    ) or _fault_of_conditions(schema, expected)
    if problem is not None:
        return problem
    for name in _without_gaps(expected):
        at = schema.get_field_index(name)
        if at >= 0 and (problem := _fault_of_column(file.metadata, at, name, expected[name])):
            return problem
    for name in _numbers(table):
        at = schema.get_field_index(name)
        if at >= 0 and (problem := _fault_of_values(file.metadata, at, name)):
            return problem
    return None


def fault_of_trial(table: str, rows: pa.Table) -> str | None:
    """The reason why `rows` cannot be a trial's own rows of `table`, or `None`."""
    expected = COLUMNS.get(table, {})
    problem = _fault_of_schema(
        rows.schema, expected, ABSENT.get(table, ()), has_rows=rows.num_rows > 0
    )
    if problem is not None:
        return problem
    counts = {
        name: rows[name].null_count for name in _without_gaps(expected) if name in rows.column_names
    }
    return _fault_of_counts(counts, expected) or _fault_of_numbers(table, rows)


def fault_of_rows(table: str, rows: pl.DataFrame) -> str | None:
    """The reason why `rows`, which have some columns of `table`, cannot be its rows, or `None`.

    A footer can state a wrong number of missing values, and wrong largest values.
    """
    expected = _expected(table)
    counts = {
        name: rows[name].null_count() for name in _without_gaps(expected) if name in rows.columns
    }
    problem = _fault_of_counts(counts, expected)
    for name in () if problem else _numbers(table):
        if name in rows.columns and rows.schema[name].is_numeric():
            problem = problem or _fault_of_range(name, rows[name].min(), rows[name].max())
    return problem


def _fault_of_schema(
    schema: pa.Schema, expected: Mapping[str, Kind], absent: tuple[str, ...], *, has_rows: bool
) -> str | None:
    """The reason why a table cannot have the columns `schema`.

    A table without rows may have columns of text in place of numbers, because the core makes a
    column of text from an empty list.
    """
    names = schema.names
    if len(set(names)) < len(names):
        ((name, count),) = Counter(names).most_common(1)
        return f"it has {count} columns `{name}`"
    types = dict(zip(names, schema.types, strict=True))
    for name, kind in expected.items():
        if name not in types:
            if name in absent:
                continue
            return f"it has no column `{name}`, which must hold {kind}"
        if _fits(types[name], kind) or (not has_rows and _is_number_as_text(types[name], kind)):
            continue
        return f"the column `{name}` is of type {types[name]}; it must hold {kind}"
    return None


def _fault_of_conditions(schema: pa.Schema, expected: Mapping[str, Kind]) -> str | None:
    """The reason why a column that is not in `expected` cannot hold values of a condition."""
    for field in schema:
        if field.name not in expected and not any(_fits(field.type, kind) for kind in _KINDS):
            what = "text, numbers, or true and false"
            return f"the column `{field.name}` is of type {field.type}; it must hold {what}"
    return None


def _fault_of_column(metadata: pq.FileMetaData, at: int, name: str, kind: Kind) -> str | None:
    """The reason why a footer does not state a value for every row of the column `at`."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not group.num_rows:
            continue
        statistics = group.column(at).statistics
        if statistics is None or not statistics.has_null_count:
            return f"it does not state whether values of the column `{name}` are missing"
        if problem := _fault_of_counts({name: statistics.null_count}, {name: kind}):
            return problem
    return None


def _fault_of_counts(counts: Mapping[str, int], expected: Mapping[str, Kind]) -> str | None:
    """The reason why a column lacks values; `counts` holds the number for each column."""
    for name, count in counts.items():
        if count:
            what = count_text(count, "value")
            return f"the column `{name}` lacks {what}; each row must hold {expected[name]}"
    return None


def _fault_of_values(metadata: pq.FileMetaData, at: int, name: str) -> str | None:
    """The reason why the column `at` cannot hold the largest values that a footer states."""
    for number in range(metadata.num_row_groups):
        statistics = metadata.row_group(number).column(at).statistics
        if statistics is not None and statistics.has_min_max:
            problem = _fault_of_range(name, statistics.min, statistics.max)
            if problem is not None:
                return problem
    return None


def _fault_of_numbers(table: str, rows: pa.Table) -> str | None:
    import pyarrow.compute as pc

    for name in _numbers(table):
        if name in rows.column_names and _fits(rows.schema.field(name).type, NUMBER):
            found = pc.min_max(rows[name]).as_py()
            problem = _fault_of_range(name, found["min"], found["max"])
            if problem is not None:
                return problem
    return None


def _fault_of_range(name: str, least: object, most: object) -> str | None:
    for value in (least, most):
        if isinstance(value, (int, float)) and abs(value) > MOST:
            return f"the column `{name}` holds {value:g}; no number may be beyond {MOST:g}"
    return None


def _numbers(table: str) -> Iterator[str]:
    """Yields the documented columns of numbers of a table."""
    return (name for name, kind in COLUMNS.get(table, {}).items() if kind in (_PRESENT, NUMBER))


def _without_gaps(expected: Mapping[str, Kind]) -> Iterator[str]:
    """Yields the columns without missing values."""
    return (name for name, kind in expected.items() if kind != NUMBER)


def _fits(found: pa.DataType, kind: Kind) -> bool:
    import pyarrow as pa

    if kind == _TEXT:
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    if kind == _FLAG:
        return bool(pa.types.is_boolean(found))
    return bool(pa.types.is_floating(found) or pa.types.is_integer(found))


def _is_number_as_text(found: pa.DataType, kind: Kind) -> bool:
    return kind == NUMBER and _fits(found, _TEXT)
