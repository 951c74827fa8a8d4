"""`aqmlab report`: writes a campaign's report again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from aqmlab.cli import options


def command(
    folder: options.FolderArg,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Where it goes; DIR/report.html if absent."),
    ] = None,
) -> int:
    """Write the report of a campaign, and its figures as PNG and SVG files."""
    from aqmlab.results import load

    print(load(folder).report(out))
    return 0
