"""Writes tables as CSV (RFC 4180), with one file per table and units in the column names.

Lines end in CR LF and the first line holds the column names. Text with a comma, a quotation mark or
a line break is quoted. A missing value is an empty field. Text that a spreadsheet would read as a
formula is marked: see `aqmlab.base.csv_cells`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.csv_cells import of_columns
from aqmlab.results.export.trials import pieces

if TYPE_CHECKING:
    from aqmlab.results.export.target import Target
    from aqmlab.results.results import CampaignResults


def write(results: CampaignResults, target: Target) -> Iterator[Path]:
    """Writes every stored table of `results` as TABLE.csv and yields the paths.

    Raises `RequestError` before the first write if one of the files exists and `target` does not
    replace files.
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
