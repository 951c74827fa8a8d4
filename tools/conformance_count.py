"""Finds the tests of the numbered conformance statements.

A test states the number in its name: `c07_…` for C-07. A test in Rust can also state the number in
its doc comment or in a comment inside the test, and a script in its comments.
docs/reference/conformance.md contains the table of the statements and their sources.
`tools/generate.py` uses this module to fill in the last column of that table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("crates", "tests")
_IN_NAME = re.compile(r"(?:^|_)c(\d{2,3})(?=_)")
_IN_COMMENT = re.compile(r"\bC-(\d{2,3})\b")
_FUNCTION = re.compile(r"\s*(?:pub(?:\([a-z]+\))? )?(?:const )?fn (\w+)")


@dataclass(frozen=True, order=True)
class Holder:
    """A test or a script that checks a statement."""

    path: str
    name: str


@cache
def holders() -> dict[int, tuple[Holder, ...]]:
    """The tests of each statement, by its number."""
    found: dict[int, set[Holder]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            read = {".rs": _of_rust, ".py": _of_python, ".q": _of_script, ".pkt": _of_script}
            if path.suffix not in read or not path.is_file():
                continue
            for number, name in read[path.suffix](path):
                place = path.relative_to(ROOT).as_posix()
                found.setdefault(number, set()).add(Holder(place, name))
    return {number: tuple(sorted(found[number])) for number in sorted(found)}


def tested() -> set[int]:
    """The numbers of the statements that a test checks."""
    return set(holders())


def _of_rust(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the numbers of the statements that a file's tests check, with the tests' names.

    A test states the numbers in its name, in its doc comment, or in a comment inside it.
    """
    said: list[int] = []
    is_test, test = False, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("///"):
            said += _numbers(_IN_COMMENT, text)
        elif text.startswith("#["):
            is_test |= text.startswith("#[test]")
        elif found := _FUNCTION.match(line):
            test = found[1] if is_test else ""
            if test:
                yield from ((number, test) for number in [*_numbers(_IN_NAME, test), *said])
            is_test, said = False, []
        elif text.startswith("//") and not text.startswith("//!") and test:
            yield from ((number, test) for number in _numbers(_IN_COMMENT, text))
        elif text:
            said = []


def _of_python(path: Path) -> Iterator[tuple[int, str]]:
    for found in re.finditer(r"^\s*def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M):
        yield from ((number, found[1]) for number in _numbers(_IN_NAME, found[1]))


def _of_script(path: Path) -> Iterator[tuple[int, str]]:
    comments = re.findall(r"#.*", path.read_text(encoding="utf-8"))
    for number in _numbers(_IN_COMMENT, " ".join(comments)):
        yield number, path.name


def _numbers(pattern: re.Pattern[str], text: str) -> list[int]:
    return [int(number) for number in pattern.findall(text)]
