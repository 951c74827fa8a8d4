"""The parameters of `aqmlab advise`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options
from aqmlab.cli.parameters.demand import HouseholdArg


@dataclass(frozen=True, slots=True)
class AdviseParameters:
    """The parameters of `aqmlab advise`."""

    details: ClassVar[str] = (
        "It runs the household at each tier with today's gateway and with others, and names the "
        "slowest tier that serves everyone with each. The same command resumes after an "
        "interruption."
    )

    household: HouseholdArg
    tiers: Annotated[
        str,
        typer.Option(
            metavar="TIERS", help="nbn, us, eu, a .toml file, or a list in Mbit/s: 25/5,50/20."
        ),
    ] = "nbn"
    gateways: Annotated[
        Optional[str],  # noqa: UP045 (typer reads the annotation)
        typer.Option(
            metavar="NAMES",
            help="modem-pie, sqm-up, sqm, codel, pie, fq-pie, piece-of-cake, layer-cake, provider, "
            "or a file.",
        ),
    ] = None
    line: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="LINE",
            help="cable, fibre, vdsl, adsl, ethernet, ip; own is a scenario's own path.",
        ),
    ] = None
    seeds: Annotated[
        str, typer.Option(metavar="N", help="Number of repetitions, or seeds: 5, 3-7.")
    ] = "10"
    jobs: options.Jobs = None
    out: options.Out = None
    as_json: options.AsJson = False
