"""The parameters of `aqmlab export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class ExportParameters:
    """The parameters of `aqmlab export`."""

    details: ClassVar[str] = (
        "Flent's files of calls and all TEACUP files need packets, so their trials run again."
    )

    folder: options.FolderArg
    flent: Annotated[bool, typer.Option("--flent", help="A .flent.gz file for each trial.")] = False
    teacup: Annotated[
        bool,
        typer.Option("--teacup", help="Files with the contents and names of TEACUP's analysis."),
    ] = False
    csv: Annotated[bool, typer.Option("--csv", help="A CSV file for each table.")] = False
    trial: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
        typer.Option(
            metavar="ID",
            help="Only this trial; may be repeated.",
            autocompletion=options.offered_trials,
        ),
    ] = None
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            parser=options.place, metavar="DIR", help="Folder for the files; DIR/export if absent."
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False
