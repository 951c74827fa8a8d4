"""Answers as people and programs read them."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from aqmlab.errors import suggestion
from aqmlab.failures import DiskError, RequestError
from aqmlab.query.session import Answered, Table
from aqmlab.query.units import unit_of

MOST_ROWS = 200
"""Rows that a table in the terminal shows."""

Note = Callable[[str], None]
"""Is told what is not in the answer."""


def write(answer: Answered, form: str | None, out: Path | None, note: Note) -> None:
    """Writes an answer as `form` says, to `out` or to standard output."""
    form = form or _form_of(out)
    if form not in FORMATS:
        raise RequestError(f"--format: unknown format `{form}`", suggestion(form, FORMATS))
    if form == "parquet":
        _write_parquet(answer, out)
        return
    with _opened(out) as target:
        FORMATS[form](answer, target, note)


def _form_of(out: Path | None) -> str:
    return "table" if out is None else out.suffix.removeprefix(".") or "csv"


def _write_table(answer: Answered, target: TextIO, note: Note) -> None:
    names, rows = answer.columns, answer.rows()
    shown = [[_cell(value) for value in row] for row in itertools.islice(rows, MOST_ROWS)]
    numeric = [all(_is_number(row[at]) for row in shown) for at in range(len(names))]
    for line in aligned([list(map(_printable, names)), *shown], numeric):
        target.write(line + "\n")
    if next(rows, None) is not None:
        note(f"only the first {MOST_ROWS} rows are shown: --format csv gives all")


def _write_csv(answer: Answered, target: TextIO, _: Note) -> None:
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(answer.rows())


def _write_json(answer: Answered, target: TextIO, _: Note) -> None:
    target.write("[")
    names = answer.columns
    for number, row in enumerate(answer.rows()):
        values = dict(zip(names, map(_plain, row), strict=True))
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
        target.write((",\n " if number else "\n ") + text)
    target.write("\n]\n")


def _write_parquet(answer: Answered, out: Path | None) -> None:
    import pyarrow.parquet as pq

    if out is None:
        raise RequestError("--format parquet: needs a file", "--out answer.parquet")
    batches = answer.batches()
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        with pq.ParquetWriter(unfinished, batches.schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
        unfinished.replace(out)
    except OSError as error:
        raise DiskError.of(error, out) from None
    finally:
        unfinished.unlink(missing_ok=True)


FORMATS: dict[str, Callable[[Answered, TextIO, Note], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "parquet": lambda answer, target, note: None,
}
"""What an answer may be written as."""


def list_tables(tables: Sequence[Table]) -> Iterator[str]:
    """The tables with their columns, types and units, as lines."""
    for table in tables:
        yield f"{table.name} ({table.rows} row{'s' * (table.rows != 1)})"
        rows = [
            [f"  {_as_written(name)}", kind.lower(), unit_of(name)] for name, kind in table.columns
        ]
        yield from aligned(rows, [False] * 3)
        yield ""


def aligned(rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> Iterator[str]:
    """Rows of cells as lines, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, to_the_right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _as_written(name: str) -> str:
    """A name as SQL takes it."""
    return name if name.isidentifier() else f'"{name}"'


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return _printable(str(value))


def _printable(text: str) -> str:
    """`text` without what could move the cursor or recolour the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "-"
    return True


def _plain(value: Any) -> Any:
    """A value as JSON can say it: what is not a number is absent."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    if out is None:
        yield sys.stdout
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise DiskError.of(error, out) from None
