"""Values of a TEACUP config on the command line, in Python's notation."""

from __future__ import annotations

from typing import Any

from aqmlab.planning.teacup.expressions import Expressions
from aqmlab.planning.teacup.functions import UnreadError
from aqmlab.planning.teacup.syntax import expression


def literal(text: str) -> Any:
    """Parses a value in Python's notation, or returns the text itself.

    >>> literal("10"), literal("1mbit"), literal("['runs']")
    (10, '1mbit', ['runs'])
    """
    try:
        tree = expression(text.strip()) if len(text) < 100_000 else None
        return Expressions("--set", {}, {}).value(tree) if tree else text
    except (SyntaxError, UnreadError, ValueError, TypeError, RecursionError, MemoryError,
            ArithmeticError, LookupError):  # fmt: skip
        return text
