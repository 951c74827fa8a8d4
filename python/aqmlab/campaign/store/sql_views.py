"""The tables of campaigns as SQL views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def catalogue(tables: Iterable[str]) -> str:
    """What makes a campaign's tables known to DuckDB, for somebody who stands in its folder."""
    from aqmlab.campaign.store.folder import ROWS, TABLES  # not needed for an answer

    lines = ["-- In this folder: duckdb -init catalogue.sql"]
    for name in tables:
        files = f"{quoted(f'{TABLES}/{name}/*/{ROWS}')}, union_by_name = true"
        rows = f"read_parquet({files}, hive_partitioning = false)"
        lines.append(f"CREATE OR REPLACE VIEW {named(name)} AS SELECT * FROM {rows};")
    return "\n".join(lines) + "\n"


def view(name: str, parts: Sequence[str]) -> str:
    """The view of a table whose parts have different columns."""
    rows = " UNION ALL BY NAME ".join(f"SELECT * FROM {named(part)}" for part in parts)
    return f"CREATE VIEW {named(name)} AS {rows}"


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
