"""The command line: one file a command, one word in the list.

Data goes to standard output and talk to standard error. The status is 0 when all went well,
1 when something could not be done or a trial failed, 2 when the request was wrong, 130 after
Ctrl-C. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from aqmlab import __version__

COMMANDS = (
    "run",
    "list",
    "show",
    "report",
    "query",
    "verify",
    "export",
    "reproduce",
    "claims",
    "pcap",
    "spp",
    "schema",
    "cluster",
    "demo",
    "kernel",
    "validate",
)
"""Every command; each is a function `command`, or a `group` of them, in the module of its name."""

_MODULES = {"list": "listing"}
"""Where a command lives whose name is not to be a module's."""

_HELP = """A laboratory for the queue in a home gateway.

It takes a home, its access line and a queue discipline, and tells what each application
experiences. Begin with `aqmlab list scenarios` and `aqmlab run NAME`."""

app = typer.Typer(
    help=_HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _name in COMMANDS:
    _module = import_module(f"aqmlab.cli.{_MODULES.get(_name, _name)}")
    if hasattr(_module, "group"):
        app.add_typer(_module.group, name=_name)
    else:
        app.command(_name)(_module.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"aqmlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and ends the process with its status."""
    sys.exit(status_of(arguments))


def status_of(arguments: list[str] | None = None) -> int:
    """Runs the command line; says what went wrong, and returns the status."""
    from aqmlab.cli import console, failing

    console.make_ready()
    if os.environ.get("AQMLAB_TRACEBACK") == "1":
        return app(arguments, standalone_mode=False) or 0
    try:
        status = app(arguments, standalone_mode=False) or 0
        sys.stdout.flush()
        # Typer makes a status of Ctrl-C, without a word.
        return failing.explain(KeyboardInterrupt()) if status == failing.STOPPED else status
    except (Exception, KeyboardInterrupt) as error:
        return failing.explain(error)
