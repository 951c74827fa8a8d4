"""Suggestions for SQL that DuckDB rejects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from aqmlab.base.errors import shown, suggestion

_COLUMN = re.compile(r'Referenced column "([^"]*)"|does not have a column named "([^"]*)"')
_TABLE = re.compile(r"Table with name (\S+) does not exist")
_MEANT = re.compile(r'^Did you mean "([^"]*)"', re.MULTILINE)

_MOST = 300
"""The maximum number of characters of a part of an error."""


def problem_of(message: str) -> str:
    """The first line of DuckDB's message, and the line of the SQL to which it refers.

    >>> problem_of('Parser Error: syntax error at or near "selec"\\n\\nLINE 1: selec 1\\n        ^')
    'syntax error at or near "selec": selec 1'
    """
    lines = message.splitlines() or ["it cannot be answered"]
    first = re.sub(r"^[A-Z][A-Za-z ]* Error: ", "", lines[0]).rstrip(".!")
    place = next((line for line in lines if line.startswith("LINE ")), "")
    first = shown(first, _MOST)  # DuckDB repeats a text of the statement as a whole
    return f"{first}: {shown(place.partition(': ')[2].strip(), _MOST)}" if place else first


def hint_for(message: str, sql: str, columns: Mapping[str, Sequence[str]]) -> str | None:
    """A hint for DuckDB's error `message`, if any; `columns` lists the columns of each table."""
    table = _TABLE.search(message)
    if table is not None:
        return suggestion(table[1], columns)
    column = _COLUMN.search(message)
    if column is not None:
        return _column_hint(column[1] or column[2], sql, columns)
    meant = _MEANT.search(message)
    return None if meant is None else f"did you mean `{meant[1]}`?"


def _column_hint(name: str, sql: str, columns: Mapping[str, Sequence[str]]) -> str:
    mentioned = {table: own for table, own in columns.items() if mentions(sql, table)}
    known = list(dict.fromkeys(one for own in mentioned.values() for one in own))
    elsewhere = [table for table, own in columns.items() if name in own and table not in mentioned]
    if elsewhere:
        return f"`{name}` is a column of `{elsewhere[0]}`"
    if f'"{name}"' in sql and name not in known:
        return f"{suggestion(name, known)}; or, for a text, single quotes: '{name}'"
    return suggestion(name, known)


def mentions(sql: str, name: str) -> bool:
    """Returns whether a name occurs in SQL as a word; ignores case."""
    return re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE) is not None
