"""Formats the answers to queries, for people and for programs."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from aqmlab.base.csv_cells import cell
from aqmlab.base.errors import printable, shown, suggestion
from aqmlab.base.escaped_json import escaped_json
from aqmlab.base.failures import RequestError
from aqmlab.base.files import atomic_file
from aqmlab.base.numerals import count_text
from aqmlab.campaign.store import own_files
from aqmlab.campaign.store.sql_views import named
from aqmlab.results.query.units import unit_of

if TYPE_CHECKING:
    from aqmlab.results.query.session import Answered, Table

MOST_ROWS = 200
"""The maximum number of rows that a table in the terminal shows."""

Note = Callable[[str], None]
"""A function that receives notes on omitted parts of the answer."""


def form_of(form: str | None, out: Path | None) -> str:
    """The format of an answer: `form` if it is given, and otherwise the suffix of the file.

    A file without a suffix is CSV. Without a file, the format is `table`. Raises `RequestError` for
    an unknown format, and for Parquet without a file.
    """
    form = form or ("table" if out is None else out.suffix.removeprefix(".") or "csv")
    if form not in FORMATS:
        raise RequestError(f"--format: unknown format `{shown(form)}`", suggestion(form, FORMATS))
    if form == "parquet" and out is None:
        raise RequestError("--format parquet: needs a file", "--out answer.parquet")
    return form


def write(answer: Answered, form: str, target: BinaryIO, note: Note) -> None:
    """Writes an answer to `target` in the format `form`. Text formats also close `target`."""
    if form == "parquet":
        _write_parquet(answer, target)
        return
    with io.TextIOWrapper(target, encoding="utf-8", errors="surrogatepass", newline="") as text:
        FORMATS[form](answer, text, note)


def _refuse_equal_names(names: Sequence[str]) -> None:
    """Raises `RequestError` if several columns have one name. Readers would keep only one."""
    for name, count in Counter(names).items():
        if count > 1:
            raise RequestError(
                f"the answer has {count} columns `{shown(name)}`",
                "give each its own name with AS, or name the columns in place of `*`",
            )


def _write_table(answer: Answered, target: TextIO, note: Note) -> None:
    names, rows = answer.columns, answer.rows()
    shown = [[_cell(value) for value in row] for row in itertools.islice(rows, MOST_ROWS)]
    numeric = [all(_is_number(row[at]) for row in shown) for at in range(len(names))]
    for line in aligned([list(map(printable, names)), *shown], numeric):
        target.write(line + "\n")
    if next(rows, None) is not None:
        note(f"only the first {MOST_ROWS} rows are shown: --format csv gives all")


def _write_csv(answer: Answered, target: TextIO, _: Note) -> None:
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(map(cell, answer.columns))
    for row in answer.rows():
        writer.writerow([cell(value) if isinstance(value, str) else value for value in row])


def _write_json(answer: Answered, target: TextIO, _: Note) -> None:
    names = answer.columns
    _refuse_equal_names(names)
    target.write("[")
    for number, row in enumerate(answer.rows()):
        values = dict(zip(names, map(_plain, row), strict=True))
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
        target.write((",\n " if number else "\n ") + text)
    target.write("\n]\n")


def _write_parquet(answer: Answered, target: BinaryIO) -> None:
    import pyarrow.parquet as pq

    schema, batches = answer.batches()
    _refuse_equal_names(schema.names)
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


FORMATS: dict[str, Callable[[Answered, TextIO, Note], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "parquet": lambda answer, target, note: None,
}
"""The functions that write the text formats. `write` itself writes the format `parquet`."""


def list_tables(tables: Sequence[Table], words: Collection[str] = ()) -> Iterator[str]:
    """Yields lines that list the tables with their columns, types and units.

    `words` are SQL keywords.
    """
    for table in tables:
        count = "made on demand" if table.rows is None else count_text(table.rows, "row")
        yield f"{table.name} ({count})"
        rows = [
            [f"  {_as_written(name, words)}", kind.lower(), unit_of(name)]
            for name, kind in table.columns
        ]
        yield from aligned(rows, [False] * 3)
        yield ""


def aligned(rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> Iterator[str]:
    """Yields rows of cells as lines with aligned columns.

    `to_the_right` states for each column whether its cells are right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, to_the_right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _as_written(name: str, words: Collection[str]) -> str:
    """A name as SQL accepts it: in quotes if they are necessary."""
    return name if name.isidentifier() and name.casefold() not in words else named(name)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable(str(value))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "-"
    return True


def _plain(value: Any) -> Any:
    """`value` for JSON: `None` for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def target(out: Path | None, form: str = "table") -> Iterator[Callable[[bytes], Any]]:
    """Yields a function that writes the bytes of an answer to `out` or to standard output.

    A file keeps its old contents unless the answer is complete.
    """
    if out is None:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        fitted = escaped_json if form == "json" else str
        yield lambda data: sys.stdout.write(fitted(decoder.decode(data)))
    else:
        own_files.refuse(out)
        with atomic_file(out, synced=False) as file:
            yield file.write
