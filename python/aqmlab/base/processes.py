"""Child processes of this package: their environment and their exit status."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def python_path() -> str:
    """The value of PYTHONPATH, with the folder that contains the running package first."""
    package = str(Path(__file__).resolve().parents[2])
    others = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return os.pathsep.join([package, *others])


def is_stopped(pid: int) -> bool:
    """Returns whether a signal or a debugger has stopped a process; false if this is unknown.

    Source: proc(5), the third field of `/proc/PID/stat`.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")


def how_ended(code: int) -> str:
    """Describes the exit status `code` of a process in words.

    >>> how_ended(3), how_ended(-9)
    ('ended with status 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
