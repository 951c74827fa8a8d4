"""Escapes text for CSV files, which users open in spreadsheets and terminals.

A spreadsheet interprets text that begins with `=`, `+`, `-` or `@` as a formula. A formula can
access files and the network. This module prefixes such text with an apostrophe, as OWASP advises
(CSV injection), even if white space precedes the character. Texts that are numbers, and numeric
columns, are unchanged. Control characters except line feeds become `?`.
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
    """Escapes `text` for a cell of a CSV file.

    >>> cell("=1+1"), cell("-5"), cell("a\\x1b[31mb"), cell("12/1 Mbit/s")
    ("'=1+1", '-5', 'a?[31mb', '12/1 Mbit/s')
    """
    plain = re.sub(_CONTROL, "?", text)
    formula = re.match(_FORMULA, plain) and not re.match(_NUMBER, plain)
    return f"'{plain}" if formula else plain


def of_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Escapes every text column of a table."""
    import polars as pl

    plain = pl.col(pl.String).str.replace_all(_CONTROL, "?")
    formula = plain.str.contains(_FORMULA) & ~plain.str.contains(_NUMBER)
    guarded = pl.when(formula).then(pl.lit("'") + plain).otherwise(plain)
    return frame.with_columns(guarded.name.keep()) if pl.String in frame.dtypes else frame
