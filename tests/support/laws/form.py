"""The form of tables: their columns, and where a number may be absent."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..trials import Row, Run

RESULTS = Path(__file__).parents[3] / "docs/reference/results.md"


@functools.cache
def documented(table: str) -> list[str]:
    """The columns of a table as docs/reference/results.md lists them."""
    section = re.search(
        rf"^## `{table}`\n(.*?)(?=^## )", RESULTS.read_text(encoding="utf-8"), re.M | re.S
    )
    assert section, f"docs/reference/results.md has no section on `{table}`"
    head = re.search(r"^\| Column \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", section[1], re.M)
    assert head, f"docs/reference/results.md lists no columns of `{table}`"
    return [line.split(" | ")[0].strip("| `") for line in head[1].splitlines()]


def columns_are_those_documented(run: Run) -> Iterator[str]:
    """Every table, even an empty table, has the columns of docs/reference/results.md in order."""
    for name in run.result["tables"]:
        if run.columns(name) != documented(name):
            yield f"{name} has the columns {run.columns(name)}"


Absent = Callable[[Run, Row], bool]


def _always(_run: Run, _row: Row) -> bool:
    return True


def _no_round_trip(_run: Run, row: Row) -> bool:
    return bool(row["rtt_n"] == 0)


def _nothing_received(_run: Run, row: Row) -> bool:
    return bool(row["packets_received"] == 0)


def _fate_unknown(_run: Run, row: Row) -> bool:
    return bool(row["packets_received"] + row["lost"] == 0)


def _never_active(_run: Run, row: Row) -> bool:
    return bool(row["active_from_s"] == row["active_to_s"])


def _no_window_fits(run: Run, row: Row) -> bool:
    # Times are seconds in floats, whose last digits are below a nanosecond.
    active_ns = 1e9 * (row["active_to_s"] - row["active_from_s"])
    return bool(active_ns < run.spec["measure"]["window_ns"] + 1)


def _no_wait(run: Run, row: Row) -> bool:
    return not run.whole or row["packets_out"] == 0


ABSENT: dict[str, dict[str, Absent]] = {
    "flows": {
        r"rtt_(?!n|base).*": _no_round_trip,
        r"induced_.*": _no_round_trip,
        r"owd_.*": _nothing_received,
        r"loss_percent": _fate_unknown,
        r"throughput_mean_mbit|goodput_mbit": _never_active,
        r"throughput_p\d+_mbit": _no_window_fits,
        r"throughput_nonempty_mean_mbit": _always,  # every window may be empty
    },
    "hosts": {r"share_percent|throughput_mean_mbit": _always},  # nothing arrived
    "queues": {r"sojourn_.*": _no_wait},
    "conns": {r"(established|closed)_s": _always},
    "tcp_series": {r"ssthresh_bytes|srtt_ms": _always},
    "summary": {r"jain_.*": _always},
}
"""The columns and conditions for which docs/reference/results.md allows an absent value."""


def numbers_are_finite_where_they_must_be(run: Run) -> Iterator[str]:
    """No number is infinite, and only numbers without measurements are absent."""
    for name, rows in run.tables.items():
        rules = ABSENT.get(name, {})
        for column in run.columns(name):
            rule = next((rule for key, rule in rules.items() if re.fullmatch(key, column)), None)
            for row in rows:
                value: Any = row[column]
                if not isinstance(value, float) or math.isfinite(value):
                    continue
                if math.isinf(value) or rule is None or not rule(run, row):
                    yield f"{name}.{column} is {value} in {row}"
