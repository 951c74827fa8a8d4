"""The command line: a table of commands, their parameters, and a file for each command.

Data goes to standard output and messages to standard error. The exit status is 0 on success, 1 if
an operation, a trial or a comparison failed, 2 for a wrong request and 130 after Ctrl-C. The module
of a command is loaded when the command runs.
"""

from __future__ import annotations

import gc
import os
import sys
from pkgutil import resolve_name
from typing import Annotated, NoReturn

try:
    import typer

    from aqmlab import __version__
    from aqmlab.cli import console, failing
    from aqmlab.cli.commands import COMMANDS
    from aqmlab.cli.lazy_group import SETTINGS, LazyGroup, lazy
except KeyboardInterrupt:  # these imports take a tenth of a second
    sys.stderr.write("error: interrupted\n")
    sys.exit(130)

__all__ = ["COMMANDS", "app", "main", "status_of"]

_HELP = """A laboratory for the queue in a home gateway.

It simulates a home, its access line and a queue discipline, and shows the effect on each
application. Begin with `aqmlab list scenarios` and `aqmlab run NAME`."""

_declared = typer.Typer(
    help=_HELP,
    cls=LazyGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"aqmlab {__version__}")
        raise typer.Exit


@_declared.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


app = lazy(_declared, COMMANDS)
"""The group of all commands in `COMMANDS`."""


_COLLECTIONS = (20_000, 50, 100)
"""The thresholds of Python's garbage collector in this process.

The drawing of figures allocates many objects that refer to each other. With these thresholds, the
collector runs less often; see docs/explanation/speed.md.
"""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and ends the process with its exit status."""
    gc.set_threshold(*_COLLECTIONS)
    sys.exit(status_of(arguments))


def status_of(arguments: list[str] | None = None) -> int:
    """Runs the command line, prints any error and returns the exit status.

    If the environment variable `AQMLAB_TRACEBACK` is 1, errors are raised instead.
    """
    if os.environ.get("AQMLAB_TRACEBACK") == "1":
        return _answered(arguments)
    try:
        status = _answered(arguments)
        sys.stdout.flush()
        # Typer turns Ctrl-C into an exit status without a message.
        return failing.explain(KeyboardInterrupt()) if status == failing.STOPPED else status
    except (Exception, KeyboardInterrupt) as error:
        return failing.explain(error)


def _answered(arguments: list[str] | None) -> int:
    """Runs the command line; returns the exit status of the command."""
    console.make_ready()
    if "_AQMLAB_COMPLETE" in os.environ:
        # The module imports private names of Typer. It is loaded only if a shell asks for
        # completions, so a change of these names breaks no other use.
        resolve_name("aqmlab.cli.completion:register")()
    return app(arguments, standalone_mode=False) or 0
