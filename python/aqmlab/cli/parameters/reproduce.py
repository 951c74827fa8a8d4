"""The parameters of `aqmlab reproduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options

StudyArg = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study's name, or the folder of one.")
]
Figures = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads the annotation)
    typer.Option("--figure", metavar="N", help="A figure such as 3 or 3b; may be repeated."),
]
OneEngine = Annotated[
    str, typer.Option(metavar="ENGINE", help="Engine for the trials: sim or kernel.")
]
Folder = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="DIR",
        help="Folder for results; results/STUDY-ENGINE-HASH if absent.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show the number of trials for each figure.")
]


@dataclass(frozen=True, slots=True)
class ReproduceParameters:
    """The parameters of `aqmlab reproduce`."""

    details: ClassVar[str] = (
        "Each trial runs once, even if several figures need it. "
        "After an interruption, the same command continues."
    )

    study: StudyArg
    figure: Figures = None
    engine: OneEngine = "sim"
    qdisc_source: options.QdiscSource = "kernel"
    discipline: options.OldDiscipline = None
    seeds: options.Seeds = None
    jobs: options.Jobs = None
    cluster: options.Cluster = None
    out: Folder = None
    dry_run: DryRun = False
