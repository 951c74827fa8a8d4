"""The parameters of `aqmlab report`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class ReportParameters:
    """The parameters of `aqmlab report`."""

    folder: options.FolderArg
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            parser=options.place, metavar="FILE", help="Report file; DIR/report.html if absent."
        ),
    ] = None
    every: Annotated[
        bool, typer.Option("--all-figures", help="Add figures that the scenario leaves out.")
    ] = False
    figure: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME", help="Only draw this figure, without the report; may be repeated."
        ),
    ] = None
