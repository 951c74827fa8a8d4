"""Error messages and exit statuses of the command line."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from typing import Any

from aqmlab.base.errors import printable, shown, suggestion
from aqmlab.base.failures import LabError, describe, unexpected

STOPPED = 130
"""The exit status after Ctrl-C."""

_OF_A_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
"""The values of `errno` that mean a wrong name of a file or folder."""

_UNKNOWN_COMMAND = re.compile(
    r"No such command (['\"])(.*)\1\.(?: Did you mean (.*)\?)?", re.DOTALL
)
"""The option parser's message for an unknown command; the last part names similar commands."""


def explain(error: BaseException) -> int:
    """Prints `error` on standard error, without a traceback; returns the exit status.

    A `BrokenPipeError` is not printed, because the reader of the output has gone.
    """
    if isinstance(error, BrokenPipeError):
        return _quietly()
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return say("interrupted", status=STOPPED)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error}\n")
        return 2
    if hasattr(error, "format_message"):  # The option parser found a wrong option.
        context = getattr(error, "ctx", None)
        unknown = _UNKNOWN_COMMAND.fullmatch(error.format_message())
        if unknown is not None:
            meant = (unknown[3] or "").replace("'", "`").replace(", ", " or ")
            hint = f"did you mean {meant}?" if meant else _commands(context, unknown[2])
            return say(f"unknown command `{shown(unknown[2])}`", hint)
        usage = "" if context is None else context.get_usage()
        return say(error.format_message().rstrip("."), usage.replace("Usage: ", "", 1) or None)
    return _explain_ours(error)


def _commands(context: Any, name: str) -> str | None:
    """A hint that lists the commands, if the option parser states them."""
    known = getattr(getattr(context, "command", None), "commands", {})
    return suggestion(name, [one for one in known if not known[one].hidden]) if known else None


def _explain_ours(error: Any) -> int:
    if isinstance(error, LabError):
        where = getattr(error, "where", "")  # of a `ScenarioError`
        return say(
            f"{where}: {error.problem}" if where else error.problem, error.hint, error.status
        )
    if isinstance(error, OSError):
        return say(describe(error), status=2 if error.errno in _OF_A_NAME else 1)
    if isinstance(error, ImportError) and "_core" in str(error):
        return say("the simulator is not built", "run `make setup`, or `pip install .`", 1)
    ours = unexpected(error)
    return say(ours.problem, ours.hint, ours.status)


def say(problem: str, hint: str | None = None, status: int = 2) -> int:
    """Prints an error message on standard error; returns `status`."""
    text = f"error: {problem}\n" + (f"\nhint: {hint}\n" if hint else "")
    with contextlib.suppress(OSError):
        sys.stderr.write(printable(text, also="\n"))
        sys.stderr.flush()
    return status


def _quietly() -> int:
    """Redirects standard output to the null device after its reader has closed it.

    Python's final flush would otherwise fail. Returns the exit status.
    """
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
