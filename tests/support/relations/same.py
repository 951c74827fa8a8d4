"""Exact comparison of two runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..trials import Row, Run


def values(one: Any, other: Any) -> bool:
    """Returns whether two values are equal. Two absent values count as equal."""
    return bool(one == other or (one != one and other != other))


def digest(one: Run, other: Run) -> Iterator[str]:
    """Yields a difference if the packets differ."""
    if one.digest != other.digest:
        yield f"digests {one.digest} and {other.digest}"


def table(one: Run, other: Run, name: str, *, but: Collection[str] = ()) -> Iterator[str]:
    """Yields the first difference of a table in a column that is not excluded."""
    yield from rows(one.tables[name], other.tables[name], name, but=but)


def rows(
    first: list[Row], second: list[Row], name: str, *, but: Collection[str] = ()
) -> Iterator[str]:
    """Yields the first difference of two lists of rows."""
    if len(first) != len(second):
        yield f"{name}: {len(first)} and {len(second)} rows"
        return
    for one, other in zip(first, second, strict=True):
        for column in one:
            if column not in but and not values(one[column], other[column]):
                place = [one[key] for key in ("flow", "direction", "link", "metric") if key in one]
                yield f"{name} {place}: {column} {one[column]} and {other[column]}"
                return


def everything(one: Run, other: Run) -> Iterator[str]:
    """Yields the first difference in the packets and in each table of two runs."""
    yield from digest(one, other)
    for name in one.tables:
        yield from table(one, other, name)
