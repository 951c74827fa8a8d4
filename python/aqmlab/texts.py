"""Text in files that somebody wrote: read only from regular files, and never more than fits."""

from __future__ import annotations

from pathlib import Path

from aqmlab.errors import ScenarioError
from aqmlab.files import open_regular

MOST_BYTES = 1_000_000
"""The largest file of a scenario, a config or a study."""


def file_text(path: Path) -> str:
    """The text of a file that a user named; raises `ScenarioError` if it cannot be read."""
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)  # its length may be a lie
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ScenarioError(str(path), f"cannot be read: {reason.lower()}") from None
    if len(data) > MOST_BYTES:
        raise ScenarioError(str(path), f"larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")  # some editors put a mark in front
    except UnicodeDecodeError:
        raise ScenarioError(str(path), "this is not text in UTF-8") from None
