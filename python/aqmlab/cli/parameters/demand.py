"""The parameters of `aqmlab demand`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from aqmlab.cli.parameters import options

HouseholdArg = Annotated[
    str,
    typer.Argument(metavar="HOUSEHOLD", help="A household's file or a built-in name."),
]


@dataclass(frozen=True, slots=True)
class DemandParameters:
    """The parameters of `aqmlab demand`."""

    household: HouseholdArg
    as_json: options.AsJson = False
