"""Child processes of this package: their environment and their exit status."""

from __future__ import annotations

import os
import re
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


_OOM_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)

_NO_MEMORY = re.compile(r"memory allocation of \d+ bytes failed")
"""The message of Rust's allocator, after which the process aborts."""


def last_words(errors: str) -> str:
    """The line on standard error that best explains the death of a process; empty without lines.

    It is the line on a failed allocation if there is one, and otherwise the last line.

    >>> last_words("memory allocation of 9 bytes failed\\nstack backtrace:\\nnote: ...")
    'memory allocation of 9 bytes failed'
    """
    found = _NO_MEMORY.search(errors)
    lines = [line.strip() for line in errors.split("\n") if line.strip()]
    return found[0] if found else lines[-1] if lines else ""


def out_of_memory_kills() -> int:
    """The number of processes that the kernel has killed for lack of memory; 0 if unknown.

    Source: `oom_kill` in `/proc/vmstat` (Linux 4.13 and later).
    """
    try:
        text = Path("/proc/vmstat").read_text(encoding="ascii")
    except (OSError, ValueError):
        return 0
    found = _OOM_KILLS.search(text)
    return int(found[1]) if found else 0


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
