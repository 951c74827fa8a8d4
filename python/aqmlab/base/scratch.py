"""Temporary folders that are removed even if their process is killed.

A killed process removes nothing. Each folder therefore holds a file that its process keeps locked.
The next process that needs a folder removes the user's folders whose file is not locked. Windows
has no such lock, so there only the folder's own process removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

_PREFIX = "aqmlab-scratch-"
_NAME = re.compile(re.escape(_PREFIX) + "[a-z0-9_]{8}")
"""The names that `tempfile` gives to folders with the prefix."""
_LOCK = "in-use"
_NEW_LOCK = "in-use.new"
_UNLOCKED_S = 3600.0
"""Age in seconds at which an empty folder without a lock file counts as abandoned.

A process that dies before it locks a file leaves such a folder, or one with `_NEW_LOCK` alone. A
folder that holds other files but no lock file is not of this module.
"""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary folder, which `cleanup` or a later process removes."""

    def __init__(self) -> None:
        remove_abandoned()
        super().__init__(prefix=_PREFIX, ignore_cleanup_errors=True)
        self._lock = _locked(Path(self.name))

    def cleanup(self) -> None:
        """Removes the folder, and then releases its lock."""
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> None:
    """Removes the folders of this user's `Scratch` objects whose processes have ended."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):
                if _NAME.fullmatch(path.name) and _is_abandoned(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or not hasattr(os, "getuid") or found.st_uid != os.getuid():
        return False
    try:
        handle = os.open(path / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        is_old = time.time() - found.st_mtime > _UNLOCKED_S
        return is_old and all(one.name == _NEW_LOCK for one in path.iterdir())
    try:
        return _take(handle)
    finally:
        os.close(handle)


def _locked(folder: Path) -> int | None:
    """Creates the folder's lock file and returns its handle.

    The file is locked before it gets its final name.
    """
    begun = folder / _NEW_LOCK
    handle: Any = os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    _take(handle)
    begun.rename(folder / _LOCK)
    return int(handle)


def _take(handle: int) -> bool:
    """Locks an open file; returns whether this process now holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows, where no process can remove an open file
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
