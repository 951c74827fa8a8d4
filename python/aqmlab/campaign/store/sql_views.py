"""SQL views of the tables of campaigns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aqmlab.campaign.store.layout import ROWS, TABLES


def catalogue(tables: Iterable[str]) -> str:
    """The SQL that defines views of a campaign's tables.

    DuckDB must be started in the campaign's folder.
    """
    lines = ["-- In this folder: duckdb -init catalogue.sql"]
    for name in tables:
        files = f"{quoted(f'{TABLES}/{name}/*/{ROWS}')}, union_by_name = true"
        rows = f"read_parquet({files}, hive_partitioning = false)"
        lines.append(f"CREATE OR REPLACE VIEW {named(name)} AS SELECT * FROM {rows};")
    return "\n".join(lines) + "\n"


def view(name: str, parts: Sequence[str]) -> str:
    """The SQL of a view over the parts of a table, which may have different columns."""
    rows = " UNION ALL BY NAME ".join(f"SELECT * FROM {named(part)}" for part in parts)
    return f"CREATE VIEW {named(name)} AS {rows}"


def quoted(text: str) -> str:
    """`text` as a string literal in SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """`name` as a quoted identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'
