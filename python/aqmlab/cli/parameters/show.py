"""The parameters of `aqmlab show`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class ShowParameters:
    """The parameters of `aqmlab show`."""

    folder: options.FolderArg
    as_json: options.AsJson = False
    everything: Annotated[bool, typer.Option("--all", help="Show every row.")] = False
    brief: options.Brief = False
    baseline: options.Baseline = None
