"""The parameters of `aqmlab claims`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options
from aqmlab.cli.parameters.reproduce import OneEngine

StudyArg = Annotated[
    Optional[str],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[STUDY]", help="A study's name or folder; every study if absent."),
]
Ids = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--id", metavar="ID", help="A claim such as 0-17; may be repeated."),
]
Folder = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="DIR",
        help="Folder for trials; for several studies, one subfolder each.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show the number of trials, and their cost.")
]


@dataclass(frozen=True, slots=True)
class ClaimsParameters:
    """The parameters of `aqmlab claims`."""

    details: ClassVar[str] = (
        "A claim holds, fails or cannot be judged. "
        "Each verdict comes with the measurements over seeds."
    )

    study: StudyArg = None
    ids: Ids = None
    engine: OneEngine = "sim"
    qdisc_source: options.QdiscSource = "kernel"
    discipline: options.OldDiscipline = None
    seeds: options.Seeds = None
    jobs: options.Jobs = None
    cluster: options.Cluster = None
    out: Folder = None
    as_json: options.AsJson = False
    strict: Annotated[
        bool, typer.Option("--strict", help="End with status 1 if a claim fails.")
    ] = False
    dry_run: DryRun = False
