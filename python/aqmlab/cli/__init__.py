"""The command line: one file and one list entry per command.

Data goes to standard output and messages to standard error. The exit status is 0 on success, 1 if
an operation or a trial failed, 2 for a wrong request and 130 after Ctrl-C. A command imports heavy
modules only when it needs them.
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
"""Every command: a function `command` or a `group` of them, in the module of the same name."""

_MODULES = {"list": "listing"}
"""The modules of commands whose own names are unsuitable for a module."""

_HELP = """A laboratory for the queue in a home gateway.

It simulates a home, its access line and a queue discipline, and shows the effect on each
application. Begin with `aqmlab list scenarios` and `aqmlab run NAME`."""

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
    """Runs the command line and ends the process with its exit status."""
    sys.exit(status_of(arguments))


def status_of(arguments: list[str] | None = None) -> int:
    """Runs the command line, prints any error and returns the exit status."""
    from aqmlab.cli import console, failing

    console.make_ready()
    if os.environ.get("AQMLAB_TRACEBACK") == "1":
        return app(arguments, standalone_mode=False) or 0
    try:
        status = app(arguments, standalone_mode=False) or 0
        sys.stdout.flush()
        # Typer turns Ctrl-C into an exit status without a message.
        return failing.explain(KeyboardInterrupt()) if status == failing.STOPPED else status
    except (Exception, KeyboardInterrupt) as error:
        return failing.explain(error)
