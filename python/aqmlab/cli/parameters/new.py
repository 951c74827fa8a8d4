"""The parameters of `aqmlab new`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class NewParameters:
    """The parameters of `aqmlab new`."""

    details: ClassVar[str] = (
        "For example: aqmlab new 'two adults in meetings, one teenager gaming, 4k film'. "
        "`aqmlab list activities` shows the words. Without words, it asks."
    )

    words: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
        typer.Argument(metavar="[WORDS]", help="People and what they do, with commas."),
    ] = None
    tier: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="RATES", help="The line's speed today, down/up in Mbit/s: 50/20."),
    ] = None
    line: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="LINE", help="cable, fibre, vdsl, adsl, ethernet or ip."),
    ] = None
    out: Annotated[
        Path,
        typer.Option(parser=options.place, metavar="FILE", help="The file to write."),
    ] = Path("household.toml")
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False
