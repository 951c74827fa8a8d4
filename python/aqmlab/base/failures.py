"""What can go wrong although the request was right, and requests that no scenario explains.

`ScenarioError` (in `errors`) says that a scenario cannot be run. These say that the machine
would not do it, or that a command was given the wrong things. Each carries the status with
which the command line ends.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from aqmlab.base.errors import brief

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class LabError(Exception):
    """A problem with its hint, and the status with which the command line ends."""

    status = 1

    def __init__(self, problem: str, hint: str | None = None) -> None:
        self.problem, self.hint = brief(problem), hint and brief(hint)
        super().__init__(self.problem + (f"\n\nhint: {self.hint}" if hint else ""))


class RequestError(LabError):
    """A request that cannot be met as it was made."""

    status = 2


class DiskError(LabError):
    """A file that could not be written: the request cannot be met as it was made."""

    status = 2

    @classmethod
    def of(cls, error: OSError, path: Path, needed: int | None = None) -> DiskError:
        """What `error` means for somebody who wanted `needed` bytes written to `path`."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            hint = "give a place that can be written" if error.errno in _FORBIDDEN else None
            return cls(f"{path}: cannot be written: {error.strerror or error}", hint)
        problem = f"{path}: the disk is full"
        if needed is not None:
            problem += f": {size_text(needed)} were needed"
            free = _free_bytes(path.parent)
            problem += "" if free is None else f", {size_text(free)} are free"
        return cls(problem, "free some space and give the same command again: it goes on from here")


class TrialsError(LabError):
    """Some trials have no result; the others are kept."""


class StoppedError(LabError):
    """Somebody pressed Ctrl-C; what was finished is kept."""

    status = 130


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def size_text(size_bytes: int) -> str:
    """A size with at most one decimal.

    >>> size_text(512), size_text(1_234_567)
    ('512 B', '1.2 MB')
    """
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.1f} {unit}"
    return f"{size_bytes} B"


def unexpected(error: BaseException) -> LabError:
    """What to say of an error that nobody foresaw."""
    hint = "this is a mistake in aqmlab; AQMLAB_TRACEBACK=1 shows where"
    return LabError(f"unexpected {describe(error)}", hint)


def describe(error: BaseException) -> str:
    """An unexpected error in one line."""
    if isinstance(error, OSError) and error.strerror:
        name = os.fspath(error.filename) if error.filename else ""
        return f"{name}: {error.strerror}" if name else error.strerror
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
