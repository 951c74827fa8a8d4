"""The parameters of `aqmlab kernel traces`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class TracesParameters:
    """The parameters of `aqmlab kernel traces`."""

    discipline: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
        typer.Option(metavar="NAME", help="A discipline; may be repeated; all if absent."),
    ] = None
    count: Annotated[
        int, typer.Option(parser=options.count, help="Number of traces of each discipline.")
    ] = 20
    packets: Annotated[
        int, typer.Option(parser=options.count, help="Number of packets in each trace.")
    ] = 10_000
    seed: Annotated[int, typer.Option(parser=options.count, help="Seed of the random packets.")] = 1
    jobs: options.Jobs = None
    as_json: options.AsJson = False
