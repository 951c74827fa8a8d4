"""Temporary folders that do not outlive their process for long.

A process that is killed removes nothing. So each folder holds a file that its process keeps
locked, and whoever needs the next folder removes those whose lock nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

_PREFIX = "aqmlab-"
_LOCK = "in-use"
_UNLOCKED_S = 3600.0
"""Age at which a folder without a lock counts as abandoned: its process died as it made it."""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary folder, removed when it is cleaned up, or by a later process."""

    def __init__(self) -> None:
        remove_abandoned()
        super().__init__(prefix=_PREFIX, ignore_cleanup_errors=True)
        self._lock = _locked(Path(self.name))

    def cleanup(self) -> None:
        """Removes the folder."""
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> None:
    """Removes the temporary folders of this user whose processes are gone."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                if _is_abandoned(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or not hasattr(os, "getuid") or found.st_uid != os.getuid():
        return False
    try:
        handle = os.open(path / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return time.time() - found.st_mtime > _UNLOCKED_S
    try:
        return _take(handle)
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """Makes the folder's lock, which is held before it can be seen; returns its handle."""
    begun = folder / f"{_LOCK}.new"
    handle: Any = os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    _take(handle)
    begun.rename(folder / _LOCK)
    return int(handle)


def _take(handle: int) -> bool:
    """Locks an open file; returns whether nobody else has it locked."""
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be removed by others
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
