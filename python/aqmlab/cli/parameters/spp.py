"""The parameters of `aqmlab spp`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class SppParameters:
    """The parameters of `aqmlab spp`."""

    first: Annotated[
        Path,
        typer.Argument(parser=options.place, metavar="A.pcap", help="Capture at one end."),
    ]
    second: Annotated[
        Path,
        typer.Argument(parser=options.place, metavar="B.pcap", help="Capture at the other end."),
    ]
    synchronised: Annotated[
        bool, typer.Option("--synchronised", help="The clocks agree: also measure one-way delays.")
    ] = False
    translation: Annotated[
        str,
        typer.Option(metavar="WHAT", help="What a NAT rewrites: none, addresses or ports."),
    ] = "none"
    as_json: options.AsJson = False
