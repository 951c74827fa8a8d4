"""Where the command line prints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 140
"""Columns of tables that do not go to a terminal."""


def stdout() -> Console:
    """For data. Rich obeys NO_COLOR, and colours nothing that is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
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
