"""Where the command line prints."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
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

        lines = textwrap.wrap(
            self.text, max(options.max_width, 1), break_long_words=False, break_on_hyphens=False
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
    """Says something on standard error."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """Prints `value` on standard output."""
    import json

    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
