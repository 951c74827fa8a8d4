"""The parameters of `aqmlab demo`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class DemoParameters:
    """The parameters of `aqmlab demo`."""

    configs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO]...", help="More scenarios, such as a TEACUP config."),
    ] = None
    out: Annotated[
        Path, typer.Option(parser=options.place, metavar="DIR", help="Folder for results.")
    ] = Path("demo")
    jobs: options.Jobs = None
