"""The parameters of `aqmlab validate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options

Names = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[CELL]...", help="Cells by name or pattern; all if absent."),
]
Globs = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--cells", metavar="GLOB", help="More cells; may be repeated."),
]
Metrics = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--metric", metavar="NAME", help="A metric; may be repeated."),
]
SeedCount = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(parser=options.count, metavar="N", help="At most N seeds of each cell."),
]
Page = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place, metavar="FILE", help="Write a report with figures of the worst cells."
    ),
]
Set = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="DIR",
        help="The reference set; the packaged one if absent.",
    ),
]
Peer = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="NAME", help="Another simulator to compare with the kernel."),
]


@dataclass(frozen=True, slots=True)
class ValidateParameters:
    """The parameters of `aqmlab validate`."""

    details: ClassVar[str] = (
        "The exit status is 1 if the acceptance rule is not met. "
        "With --regenerate the kernel runs the trials again, with the agent that made the set. "
        "The exit status is then 1 unless every trial is the same to the byte."
    )

    names: Names = None
    globs: Globs = None
    metric: Metrics = None
    seeds: SeedCount = None
    jobs: options.Jobs = None
    as_json: options.AsJson = False
    report: Page = None
    reference: Set = None
    peer: Peer = None
    listing: Annotated[bool, typer.Option("--list", help="Only list the cells.")] = False
    regenerate: Annotated[
        bool, typer.Option(help="Run the cells on the kernel; compare them, and keep new trials.")
    ] = False
    missing: Annotated[
        bool, typer.Option(help="With --regenerate: only trials that the set lacks.")
    ] = False
    renew: Annotated[
        bool,
        typer.Option(help="With --regenerate: replace trials that another agent made."),
    ] = False
    sample: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            parser=options.count,
            metavar="N",
            help="With --regenerate: N random cells, one trial each.",
        ),
    ] = None
    draw: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="SEED", help="With --sample: seed of the random choice."),
    ] = None
