"""The reference for the command line, from the commands and their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aqmlab.cli import app

_HEAD = """# The command line

Data goes to standard output and messages to standard error. The exit status is 0 on success, 1 if
an operation or a trial failed, 2 for a wrong request and 130 after Ctrl-C.

"""


def page() -> str:
    """The reference as Markdown, with a section for each command."""
    return _HEAD + "\n".join(_sections(app.commands, "aqmlab"))


def _sections(commands: Any, prefix: str) -> Iterator[str]:
    for name, command in commands.items():
        called = f"{prefix} {name}"
        yield _section(command, called)
        yield from _sections(getattr(command, "commands", {}), called)


def _section(command: Any, called: str) -> str:
    context = command.make_context(called, [], resilient_parsing=True)
    usage = " ".join([called, *command.collect_usage_pieces(context)])
    lines = [f"## `{called}`\n", f"{command.help}\n", f"```console\n{usage}\n```\n"]
    records = (one.get_help_record(context) for one in command.get_params(context))
    rows = [_row(*record) for record in records if record and "--help" not in record[0]]
    if rows:
        lines += ["| Parameter | Meaning |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(name: str, meaning: str) -> str:
    escaped = meaning.replace("<", "&lt;").replace("*", "\\*")
    return f"| `{_cell(name)}` | {_cell(escaped)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
