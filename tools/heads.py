"""The differences from kernels, RFCs and other sources that the heads of Rust modules state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def differences(crate: str) -> str:
    """Every difference that a module of `crates/<crate>` states, under the module's name."""
    found = []
    for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
        for text in _stated(_head(path.read_text(encoding="utf-8"))):
            name = path.relative_to(ROOT)
            found.append(f"[`{path.relative_to(ROOT / 'crates')}`](../../{name})\n\n{text}\n")
    return "\n".join(found) or "None is stated.\n"


def _head(source: str) -> str:
    """The comment at the head of a module."""
    lines = []
    for line in source.splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[3:].removeprefix(" "))
    return "\n".join(lines)


def _stated(head: str) -> Iterator[str]:
    """Yields the paragraphs that state differences, each with its list."""
    blocks = re.split(r"\n\n", head)
    for number, block in enumerate(blocks):
        place = re.search(r"(?:^|(?<=[.)\s]))Differences?\b", block)
        if place is None:
            continue
        text = block[place.start() :]
        if text.rstrip().endswith(":") and number + 1 < len(blocks):
            text += "\n\n" + blocks[number + 1]
        yield _plain(text)


def _plain(text: str) -> str:
    """`text` without rustdoc's links, and with an empty line before a list."""
    text = re.sub(r"\[(`[^`\]]+`)\](?:\([^)]*\))?", r"\1", text)
    text = re.sub(r"`(?:crate|super)::([^`]+)`", r"`\1`", text)
    return text.replace(":\n- ", ":\n\n- ")
