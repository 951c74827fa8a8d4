"""The parameters of `aqmlab query`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from aqmlab.cli.parameters import options

Sql = Annotated[
    Optional[str],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[SQL]", help="A SELECT; - reads it from standard input."),
]
FolderArg = Annotated[
    Path,
    typer.Argument(
        parser=options.place,
        metavar="DIR",
        help="The folder of a campaign or study, or of several.",
    ),
]
Format = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--format", metavar="FORM", help="table, csv, json or parquet."),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        parser=options.place,
        metavar="FILE",
        help="File for the answer; its suffix sets the format.",
    ),
]


@dataclass(frozen=True, slots=True)
class QueryParameters:
    """The parameters of `aqmlab query`."""

    details: ClassVar[str] = (
        'For example: "SELECT rate, qdisc, median(rtt_p50_ms) FROM flows '
        'GROUP BY ALL ORDER BY ALL".'
    )

    folder: FolderArg
    sql: Sql = None
    form: Format = None
    out: Out = None
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory limit of the query.")] = "1GB"
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of the query.")] = (
        60.0
    )
