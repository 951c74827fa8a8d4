"""Tables as CSV: RFC 4180, one file a table, units in the columns' names.

Lines end in CR LF, the first holds the names, text is quoted where a comma, a quotation mark or
a line break demands it, and what has no value is empty. Text that would be a formula is marked:
`aqmlab.base.csv_cells`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.csv_cells import of_columns
from aqmlab.results.export.trials import pieces

if TYPE_CHECKING:
    from aqmlab.results.export.target import Target
    from aqmlab.results.results import Results


def write(results: Results, target: Target) -> Iterator[Path]:
    """Writes every table of `results` as TABLE.csv, and says where.

    Raises `RequestError` before it writes any if one is there.
    """
    target.refuse_present(*(f"{name}.csv" for name in results.tables))
    for name in results.tables:
        with target.stream(f"{name}.csv") as file:
            for number, frame in enumerate(pieces(results, name)):
                text = of_columns(frame).write_csv(
                    include_header=number == 0, line_terminator="\r\n"
                )
                file.write(text.encode())
        yield target.folder / f"{name}.csv"
