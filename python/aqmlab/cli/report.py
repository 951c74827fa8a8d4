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
        typer.Option(
            parser=options.place, metavar="FILE", help="Report file; DIR/report.html if absent."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all-figures", help="Add figures that the scenario leaves out.")
    ] = False,
) -> int:
    """Write the report of a campaign, and its figures as PNG and SVG files."""
    from aqmlab.cli.progress import drawn
    from aqmlab.report import figures, page
    from aqmlab.results.results import load

    results = load(folder)
    names = figures.applicable(results) if every else None
    print(page.write(results, out or results.path / "report.html", names, drawn))
    return 0
