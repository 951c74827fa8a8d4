"""The parameters of `aqmlab cluster`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

Where = Annotated[
    Optional[str],  # noqa: UP045 (typer reads the annotation)
    typer.Argument(metavar="[WHERE]", help="local, ssh, slurm or kubernetes; all if absent."),
]


@dataclass(frozen=True, slots=True)
class ClusterParameters:
    """The parameters of `aqmlab cluster`."""

    where: Where = None
