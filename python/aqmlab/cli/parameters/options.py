"""Options and arguments that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Optional

import typer

from aqmlab.base.errors import shown
from aqmlab.base.failures import LabError


def place(text: str) -> Path:
    """The path of a file or folder, existing or not; refuses a text that cannot be a path."""
    if not text:
        raise typer.BadParameter("empty; give a name (`.` is the current folder)")
    path = Path(text)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # The path may be created later; commands that need it report it.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise typer.BadParameter(f"{shown(text)}: {reason.lower()}") from None
    return path


def count(value: str | int) -> int:
    """A whole number above zero, from an option's text or default."""
    text = str(value).strip()
    if re.fullmatch("[0-9]{1,9}", text) is None or int(text) == 0:
        raise typer.BadParameter(f"`{shown(text)}` is not a whole number from 1 to 999999999")
    return int(text)


_MOST_OFFERED = 1_000


def offered_trials(context: typer.Context, incomplete: str) -> list[str]:
    """The names of a campaign's trials that begin with `incomplete`, for a shell's completion.

    Returns at most `_MOST_OFFERED` names, and no names for an unreadable folder.
    """
    # The parser stops at the option whose value is completed, so DIR may not have been parsed yet.
    given = (context.params.get("folder"), context.params.get("source"), *context.args)
    folder = next(filter(None, given), None)
    load = resolve_name("aqmlab.campaign.store.folder:Folder")  # Only completion needs it.
    try:
        entries = load(Path(folder or ".")).manifest().trials
    except (LabError, OSError, ValueError):
        return []
    names = (one.id for one in entries if one.id.startswith(incomplete))
    return [name for name, _ in zip(names, range(_MOST_OFFERED), strict=False)]


ScenarioArg = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A TOML file, a TEACUP config (.py), or the name of a built-in scenario or household.",
    ),
]
FolderArg = Annotated[
    Path, typer.Argument(parser=place, metavar="DIR", help="The folder of a campaign.")
]
Sets = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Option("--set", metavar="PATH=VALUE", help="Change a value; may be repeated."),
]
Vary = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--vary", metavar="PATH=A,B", help="Run with each value; may be repeated."),
]
Seeds = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="N", help="Number of repetitions, or seeds: 5, 3-7, 1,4, 7-7."),
]
Duration = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="T", help="Length of each trial, such as '60 s'."),
]
Jobs = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(parser=count, metavar="N", help="Number of parallel trials; all cores if absent."),
]
Cluster = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="ADDRESS",
        help="Run trials on a Dask cluster, such as tcp://HOST:8786; see `aqmlab cluster`.",
    ),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=place, metavar="DIR", help="Folder for results; results/NAME-HASH if absent."
    ),
]
Engine = Annotated[
    str,
    typer.Option(metavar="ENGINE", help="Engines for the trials: sim, kernel, or sim,kernel."),
]
QdiscSource = Annotated[
    str,
    typer.Option(
        metavar="SOURCE",
        help="With --engine kernel, whose disciplines: kernel, sim, or sim,kernel.",
    ),
]
RunOn = Annotated[
    str,
    typer.Option(
        metavar="PLACE",
        help="With --engine kernel: vm, or host (this kernel, as root, in real time).",
    ),
]
OldDiscipline = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--discipline", hidden=True, help="The old name of --qdisc-source."),
]
OldPlace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--place", hidden=True, help="The old name of --run-on."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Brief = Annotated[bool, typer.Option("--brief", help="Show only verdicts, one line per condition.")]
Baseline = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="CONDITION",
        help="Show differences from this condition, as the table names it, or from this queue, "
        "rate or round-trip time with all else equal. The default is the first queue with all else "
        "equal if queues vary beside rates or round-trip times and each of these has the first "
        "queue, or else the first condition.",
    ),
]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show the trials that would run, and their cost.")
]
