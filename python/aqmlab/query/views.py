"""The tables of campaigns as SQL views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aqmlab.store import ROWS, TABLES

CAMPAIGN = "campaign"
"""The column that tells several campaigns apart: the path of each in the folder of all."""


def catalogue(tables: Iterable[str]) -> str:
    """What makes a campaign's tables known to DuckDB, for somebody who stands in its folder."""
    lines = ["-- In this folder: duckdb -init catalogue.sql"]
    for name in tables:
        files = quoted(f"{TABLES}/{name}/*/{ROWS}")
        lines.append(f"CREATE OR REPLACE VIEW {named(name)} AS SELECT * FROM {_rows(files)};")
    return "\n".join(lines) + "\n"


def view(name: str, files: Mapping[str, Sequence[Path]]) -> str:
    """The view of a table whose files are told for each campaign, by its path.

    Of several campaigns, rows begin with their campaign's path. They may have different columns.
    """
    parts = []
    for campaign, paths in files.items():
        rows = _rows(f"[{', '.join(quoted(str(path)) for path in paths)}]")
        front = f"{quoted(campaign)} AS {CAMPAIGN}, " if len(files) > 1 else ""
        parts.append(f"SELECT {front}* FROM {rows}")
    return f"CREATE VIEW {named(name)} AS {' UNION ALL BY NAME '.join(parts)}"


def _rows(files: str) -> str:
    return f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"


def quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
