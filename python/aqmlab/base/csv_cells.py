"""Text in the cells of a CSV file, which spreadsheets and terminals open.

A spreadsheet takes text that begins with `=`, `+`, `-` or `@` for a formula, which may reach for
files and the network. Such text gets an apostrophe in front, as the OWASP advises (CSV
injection). What is a number stays as it is, and so do columns of numbers. Control characters become
`?`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_CONTROL = r"[\x00-\x09\x0b-\x1f\x7f-\x9f]"
_FORMULA = r"^\s*[=+\-@]"
_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def cell(text: str) -> str:
    """`text` as it stands in a cell.

    >>> cell("=1+1"), cell("-5"), cell("a\\x1b[31mb"), cell("12/1 Mbit/s")
    ("'=1+1", '-5', 'a?[31mb', '12/1 Mbit/s')
    """
    plain = re.sub(_CONTROL, "?", text)
    formula = re.match(_FORMULA, plain) and not re.match(_NUMBER, plain)
    return f"'{plain}" if formula else plain


def of_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with its text as it stands in cells."""
    import polars as pl

    plain = pl.col(pl.String).str.replace_all(_CONTROL, "?")
    formula = plain.str.contains(_FORMULA) & ~plain.str.contains(_NUMBER)
    guarded = pl.when(formula).then(pl.lit("'") + plain).otherwise(plain)
    return frame.with_columns(guarded.name.keep()) if pl.String in frame.dtypes else frame
