"""Parses the text of a config, including Python 2 syntax, into Python's syntax tree."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from aqmlab.base.errors import ScenarioError

MOST_NESTING = 80
MOST_WORDS = 100_000
"""The maximum number of tokens of a config. Python's parser allocates up to a kilobyte for each."""
MOST_JOINED = 200
_WORD = re.compile(r"\w+|[^\w\s]")
_MOST_REREAD = 20_000_000  # in characters; the text is parsed again for each joined line


def from_python_2(text: str) -> str:
    """Replaces each print statement of Python 2 in `text` by `print()`, without its arguments.

    Also replaces CRLF by LF.
    """
    text = re.sub(r"(?m)^([ \t]*)print[ \t]++(?![=(])[^\n]*[^\n\\]$", r"\1print()", text)
    text = re.sub(r"(?m)^([ \t]*)print[ \t]*$", r"\1print()", text)
    return text.replace("\r\n", "\n")


def mended(text: str) -> tuple[list[ast.stmt], list[int]]:
    """Parses `text`, and joins strings that are broken across lines.

    Returns the statements and the numbers of joined lines. Configs from word processors, and one
    config that TEACUP ships, contain such strings. Raises `SyntaxError` if joining does not help.
    """
    joined: list[int] = []
    most = min(MOST_JOINED, _MOST_REREAD // max(len(text), 1))
    first: SyntaxError | None = None
    while True:
        try:
            return _tree(text), joined
        except SyntaxError as error:
            first = first or error
            line, lines = error.lineno or 0, text.split("\n")
            broken = str(error.msg).startswith("unterminated string literal")
            if not broken or not 0 < line < len(lines) or len(joined) >= most:
                raise first from None
            # An additional empty line preserves the numbers of the following lines.
            ends = [number for number in range(line, len(lines)) if lines[number].strip()][:1]
            if not ends:
                raise first from None
            lines[line - 1] += " " + lines[ends[0]].strip()
            lines[ends[0]] = ""
            joined.append(line)
            text = "\n".join(lines)


def expression(text: str) -> ast.expr:
    """Parses an expression; raises the same errors as `ast.parse`."""
    with _quiet():
        return ast.parse(text, mode="eval").body


def _tree(text: str) -> list[ast.stmt]:
    with _quiet():
        try:
            return ast.parse(text).body
        except TabError:  # Python 2 permits tabs and spaces in the same block
            return ast.parse(text.expandtabs(8)).body


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses Python's syntax warnings, such as for `5if`, which do not concern configs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def refuse_many_words(text: str, source: str) -> None:
    """Raises `ScenarioError` for too many tokens, because their syntax tree would need much memory.

    Tokens in comments and strings also count.
    """
    for number, found in enumerate(_WORD.finditer(text), 1):
        if number > MOST_WORDS:
            line = text.count("\n", 0, found.start()) + 1
            problem = f"there are more than {MOST_WORDS} words and signs"
            raise ScenarioError(f"{source}:{line}", problem, "shorten it; comments count too")


def longest_line(text: str) -> int:
    """The number of the line with the most tokens, which probably has the nested expression."""
    counts = [sum(1 for _ in _WORD.finditer(line)) for line in text.split("\n")]
    return counts.index(max(counts)) + 1


def refuse_deep_nesting(text: str, source: str) -> None:
    """Raises `ScenarioError` for deep nesting, because Python's parser is recursive."""
    run = re.search(rf"(?:[-+~(\[{{]\s*+|not\s++|lambda\s*+:\s*+){{{MOST_NESTING},}}", text)
    if run is not None:
        line = text.count("\n", 0, run.start()) + 1
        raise ScenarioError(f"{source}:{line}", f"nested deeper than {MOST_NESTING}")
