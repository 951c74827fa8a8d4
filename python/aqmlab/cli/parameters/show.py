"""The parameters of `aqmlab show`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class ShowParameters:
    """The parameters of `aqmlab show`."""

    details: ClassVar[str] = "Without DIR, it lists the campaigns below `results`, newest first."

    folder: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads the annotation)
        typer.Argument(parser=options.place, metavar="DIR", help="The folder of a campaign."),
    ] = None
    as_json: options.AsJson = False
    everything: Annotated[bool, typer.Option("--all", help="Show every row.")] = False
    brief: options.Brief = False
    baseline: options.Baseline = None
