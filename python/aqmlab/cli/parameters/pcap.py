"""The parameters of `aqmlab pcap`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.base.errors import shown
from aqmlab.cli.parameters import options


def _prefix(text: str) -> Path:
    """The prefix of file names; refuses the name of a folder, after which no name would follow."""
    if text.endswith(("/", os.sep)):
        problem = f"{shown(text)}: is a folder; add the beginning of the file names"
        raise typer.BadParameter(f"{problem}, as in `{shown(text)}a`")
    return options.place(text)


@dataclass(frozen=True, slots=True)
class PcapParameters:
    """The parameters of `aqmlab pcap`."""

    details: ClassVar[str] = (
        "The files hold the packets that `tcpdump` would capture "
        "at the home's and the internet's end."
    )

    source: Annotated[
        str,
        typer.Argument(metavar="SCENARIO|DIR", help="A scenario, or the folder of a campaign."),
    ]
    sets: options.Sets = None
    seeds: options.Seeds = None
    duration: options.Duration = None
    engine: options.Engine = "sim"
    qdisc_source: options.QdiscSource = "kernel"
    discipline: options.OldDiscipline = None
    trial: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="ID",
            help="The trial; the first if absent.",
            autocompletion=options.offered_trials,
        ),
    ] = None
    name: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            parser=_prefix,
            metavar="NAME",
            help="Prefix of the file names; may include a folder.",
        ),
    ] = None
