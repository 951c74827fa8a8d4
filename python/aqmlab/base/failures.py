"""Failures outside scenarios: failures of the machine, and invalid requests to commands.

`ScenarioError` (in `errors`) reports a scenario that cannot be run. Each error in this module
carries the exit status of the command line.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from aqmlab.base.errors import LabError

__all__ = [
    "DamagedError",
    "DiskError",
    "LabError",
    "RequestError",
    "StoppedError",
    "TrialsError",
    "describe",
    "size_text",
    "unexpected",
]

_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class RequestError(LabError):
    """A request of the user that is not valid, such as an unknown name."""

    status = 2


class DamagedError(RequestError):
    """A stored file that has changed since it was written. The request itself is valid."""


class DiskError(LabError):
    """A file that cannot be written, or for which there is no folder."""

    status = 2
    is_full = False
    """Whether the disk is full."""

    @classmethod
    def of(cls, error: OSError, path: Path, needed: int | None = None) -> DiskError:
        """The error for a failed write to `path`, of `needed` bytes or of an unknown size."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            hint = "name a writable location" if error.errno in _FORBIDDEN else None
            return cls(f"{path}: cannot be written: {error.strerror or error}", hint)
        problem = f"{path}: the disk is full"
        if needed is not None:
            problem += f": {size_text(needed)} were needed"
            free = _free_bytes(path.parent)
            problem += "" if free is None else f", {size_text(free)} are free"
        full = cls(problem, "free some space and run the same command again")
        full.is_full = True
        return full

    def hinting(self, more: str) -> DiskError:
        """A copy of this error, which has a hint, with `more` at the end of the hint."""
        return DiskError(self.problem, f"{self.hint} {more}")


class TrialsError(LabError):
    """Raised if some trials have no result. The results of the other trials are kept."""


class StoppedError(LabError):
    """Raised if the user pressed Ctrl-C. Finished trials are kept."""

    status = 130


def _free_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def size_text(size_bytes: int) -> str:
    """Formats a size with at most one decimal.

    >>> size_text(512), size_text(1_234_567)
    ('512 B', '1.2 MB')
    """
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.1f} {unit}"
    return f"{size_bytes} B"


def unexpected(error: BaseException) -> LabError:
    """The error that reports the unexpected `error` as a bug in aqmlab."""
    hint = "this is a bug in aqmlab; AQMLAB_TRACEBACK=1 shows the traceback"
    return LabError(f"unexpected {describe(error)}", hint)


def describe(error: BaseException) -> str:
    """Formats an unexpected error on one line."""
    if isinstance(error, OSError) and error.strerror:
        name = os.fspath(error.filename) if error.filename else ""
        return f"{name}: {error.strerror}" if name else error.strerror
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
