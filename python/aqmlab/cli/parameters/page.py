"""The parameters of `aqmlab page`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class PageParameters:
    """The parameters of `aqmlab page`."""

    out: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads the annotation)
        typer.Option(
            parser=options.place, metavar="FILE", help="File for the page; page.html if absent."
        ),
    ] = None
    folder: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            parser=options.place,
            metavar="DIR",
            help="Write separate files for a static web host instead of one file.",
        ),
    ] = None
    is_opened: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True
