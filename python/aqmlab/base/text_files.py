"""Reads text files of users: regular files up to a maximum size."""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.errors import ScenarioError, nearest
from aqmlab.base.files import open_regular

SUFFIXES = (".toml", ".py")
"""File suffixes of scenarios and of TEACUP configs."""

MOST_BYTES = 1_000_000
"""The maximum size of a file that holds a scenario, a TEACUP config or a study."""


def beside(path: Path) -> list[str]:
    """The sorted paths of the scenarios and TEACUP configs in the parent folder of `path`."""
    try:
        return sorted(str(one) for one in path.parent.iterdir() if one.suffix in SUFFIXES)
    except (OSError, ValueError):
        return []


def _nearest(path: Path) -> str | None:
    """The path of the file beside `path` with a similar name, if any. Suffixes are ignored."""
    named = {Path(one).stem: one for one in beside(path)}
    meant = nearest(path.stem, named)
    return None if meant is None else named[meant]


def file_text(path: Path) -> str:
    """The text of a user's file.

    Raises `ScenarioError` if the file cannot be read, is too large or is not UTF-8.
    """
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)  # the reported length may be wrong
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        meant = _nearest(path) if isinstance(error, FileNotFoundError) else None
        hint = f"did you mean `{meant}`?" if meant else None
        raise ScenarioError(str(path), f"cannot be read: {reason.lower()}", hint) from None
    if len(data) > MOST_BYTES:
        raise ScenarioError(str(path), f"larger than {MOST_BYTES} bytes")
    try:
        return data.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError:
        raise ScenarioError(str(path), "is not UTF-8 text") from None
