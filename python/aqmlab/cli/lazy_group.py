"""A group of commands that loads the modules of a command only when they are needed.

The list of commands needs no module. The help of a command and the check of its arguments need the
class of its parameters. Only the command itself needs its module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from aqmlab.cli.commands import CommandEntry

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

SETTINGS: Mapping[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}
"""The settings of every Typer application in this package."""


class LazyCommands(Mapping[str, "Command"]):
    """The commands of a group, each made on first access."""

    def __init__(self, entries: Mapping[str, CommandEntry]) -> None:
        self.entries = entries
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        """The command called `name`; raises `KeyError` if there is none."""
        if name not in self._made:
            self._made[name] = _made(name, self.entries[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Yields the names of the commands, in the order of the help."""
        return iter(self.entries)

    def __len__(self) -> int:
        """The number of commands."""
        return len(self.entries)


class LazyGroup(TyperGroup):
    """A group whose commands are loaded on first use."""

    commands: LazyCommands  # type: ignore[assignment]

    def list_commands(self, ctx: Context) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(self.commands)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Formats the list of commands with their summaries."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        rows = [
            (name, TyperCommand(name, help=one.summary).get_short_help_str(limit))
            for name, one in self.commands.entries.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def lazy(application: typer.Typer, entries: Mapping[str, CommandEntry]) -> LazyGroup:
    """The group that `application` declares, with the commands `entries`."""
    group = get_command(application)
    assert isinstance(group, LazyGroup)
    group.commands = LazyCommands(entries)
    return group


def _made(name: str, entry: CommandEntry) -> Command:
    """The command or group called `name`.

    The class of the command's parameters declares its options.
    """
    if entry.commands:
        return _made_group(name, entry)
    application = typer.Typer(**SETTINGS)
    application.command(name, help=_help(entry))(_caller(entry))
    return get_command(application)


def _made_group(name: str, entry: CommandEntry) -> Command:
    """A group within the command line. Without a command it runs its own function."""
    own = typer.Typer(
        name=name, help=entry.summary, cls=LazyGroup, invoke_without_command=True, **SETTINGS
    )

    @own.callback()
    def without_command(context: typer.Context) -> int | None:
        return _caller(entry)() if context.invoked_subcommand is None else None

    return lazy(own, entry.commands)


def _help(entry: CommandEntry) -> str:
    """The help of a command: its summary, and the `details` of the class of its parameters."""
    details = getattr(_parameters(entry), "details", "")
    return f"{entry.summary}\n\n{details}" if details else entry.summary


def _parameters(entry: CommandEntry) -> type | None:
    """The class of a command's parameters, if it has any."""
    if entry.parameters is None:
        return None
    found: type = resolve_name(f"aqmlab.cli.parameters.{entry.module}:{entry.parameters}")
    return found


def _caller(entry: CommandEntry) -> Callable[..., int]:
    """A function with the parameters of a command.

    It loads the command's module and runs the command.
    """
    parameters = _parameters(entry)

    def call(**values: object) -> int:
        function = resolve_name(f"aqmlab.cli.{entry.module}:{entry.function}")
        status: int = function() if parameters is None else function(parameters(**values))
        return status

    # Typer reads the parameters of a command from its signature.
    signature = inspect.Signature() if parameters is None else _signature(parameters)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def _signature(parameters: type) -> inspect.Signature:
    """The signature of the class's constructor, with evaluated annotations."""
    return inspect.signature(parameters, eval_str=True)
