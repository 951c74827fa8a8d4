"""Counts the numbered conformance statements that tests name, for the closing line of `make test`.

A test says which statement it holds the code to by its name: `c07_…` for C-07. Statements and
their sources are listed in docs/conformance.md.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAME = re.compile(r"\bfn (?:[a-z_]+_)?c(\d\d)(?:_c?(\d\d))*_\w+|\bdef test_c(\d\d)_\w+")


def tested() -> set[int]:
    """Numbers of the statements that some test is named after."""
    numbers = set()
    for folder in ("crates", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".rs", ".py"} and path.is_file():
                for match in NAME.finditer(path.read_text()):
                    numbers |= {int(group) for group in match.groups() if group}
    return numbers


if __name__ == "__main__":
    found = tested()
    print(f"{len(found)} conformance statements are tested: " + ", ".join(f"C-{n:02}" for n in sorted(found)))
