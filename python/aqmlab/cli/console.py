"""Output of the command line."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.errors import brief, printable
from aqmlab.base.escaped_json import escaped_json

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

PLAIN_WIDTH = 140
"""Table width, in columns, if output is not a terminal and COLUMNS is not set."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A text for a table cell. Its lines break only at ordinary spaces.

    Rich itself also breaks lines at no-break spaces.
    """

    text: str
    least: int = 1
    """The smallest readable width, in columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yields the text, broken into lines."""
        from rich.text import Text

        lines = textwrap.wrap(
            printable(self.text, also="\u00a0"),
            max(options.max_width, 1),
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield Text("\n".join(lines).replace("\u00a0", " "))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Measures the width of the longest unbreakable part and of the whole text.

        A column's `min_width` is no alternative: if a table is too wide, rich shrinks the column
        below this width, and the text no longer fits.
        """
        from rich.cells import cell_len
        from rich.measure import Measurement

        least = max(self.least, *map(cell_len, self.text.split(" ")))
        wanted = Measurement(least, max(least, cell_len(self.text)))
        return wanted.with_maximum(options.max_width)


def make_ready() -> None:
    """Makes standard output and error accept any text: unsupported characters become `?`.

    A standard stream may be closed before this process begins. Writes to a closed stream then go to
    the null device.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def stdout() -> Console:
    """The console for data; rich obeys NO_COLOR and uses colour only on a terminal."""
    from rich.console import Console

    said = os.environ.get("COLUMNS", "")
    known = sys.stdout.isatty() or (re.fullmatch("[0-9]{1,4}", said) is not None and int(said) > 0)
    width = None if known else PLAIN_WIDTH  # Rich itself reads COLUMNS.
    return Console(width=width, highlight=False, soft_wrap=False, emoji=False)


def stderr() -> Console:
    """The console for messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def talk(text: str) -> None:
    """Prints a message on standard error. Unprintable characters from users' files become `?`."""
    print(printable(brief(text), also="\n"), file=sys.stderr)


def print_json(value: Any) -> None:
    """Prints `value` as JSON on standard output."""
    for piece in json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False).iterencode(value):
        sys.stdout.write(escaped_json(piece))
    sys.stdout.write("\n")
