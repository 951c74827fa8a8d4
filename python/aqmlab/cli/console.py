"""Where the command line prints."""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.measure import Measurement
    from rich.text import Text

PLAIN_WIDTH = 140
"""Columns of tables that do not go to a terminal, unless the variable COLUMNS says how many."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A text in a cell that is broken where its spaces allow it.

    Rich alone breaks at any space, those that are not to be broken among them.
    """

    text: str
    least: int = 1
    """The columns below which it would not be readable."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The text, in as many lines as it takes."""
        from rich.text import Text

        from aqmlab.base.errors import printable

        lines = textwrap.wrap(
            printable(self.text, also="\u00a0"),
            max(options.max_width, 1),
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield Text("\n".join(lines).replace("\u00a0", " "))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From its longest part to all of it.

        A column's own `min_width` would not do: where rich has too little room for a table it
        takes from such a column, and then gives it what no longer fits.
        """
        from rich.cells import cell_len
        from rich.measure import Measurement

        least = max(self.least, *map(cell_len, self.text.split(" ")))
        wanted = Measurement(least, max(least, cell_len(self.text)))
        return wanted.with_maximum(options.max_width)


def make_ready() -> None:
    """Lets standard output take any text: what its encoding does not have becomes a `?`.

    A stream that was closed before this process began takes what is written and keeps nothing.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def stdout() -> Console:
    """For data. Rich obeys NO_COLOR, and colours nothing that is not a terminal."""
    from rich.console import Console

    said = os.environ.get("COLUMNS", "")
    known = sys.stdout.isatty() or (re.fullmatch("[0-9]{1,4}", said) is not None and int(said) > 0)
    width = None if known else PLAIN_WIDTH  # rich itself reads COLUMNS
    return Console(width=width, highlight=False, soft_wrap=False, emoji=False)


def stderr() -> Console:
    """For talk."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def talk(text: str) -> None:
    """Says something on standard error; words of somebody's files may be in it."""
    from aqmlab.base.errors import brief, printable

    print(printable(brief(text), also="\n"), file=sys.stderr)


def print_json(value: Any) -> None:
    """Prints `value` on standard output."""
    import json

    for piece in json.JSONEncoder(indent=2, ensure_ascii=False, allow_nan=False).iterencode(value):
        sys.stdout.write(escaped_json(piece))
    sys.stdout.write("\n")


def escaped_json(text: str) -> str:
    """JSON in which what standard output cannot show is escaped, as control characters are."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if not encoding.lower().replace("-", "").startswith("utf"):
        return "".join(char if char.isascii() else json_escape(char) for char in text)
    return _CONTROLS.sub(lambda found: json_escape(found[0]), text)


_CONTROLS = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_escape(char: str) -> str:
    """A character as JSON writes it in ASCII."""
    import json

    return json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"
