"""The parameters of `aqmlab list`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import typer

from aqmlab.cli.parameters import options

TOPICS = {
    "disciplines": "aqmlab.cli.list_kinds:entries",
    "presets": "aqmlab.cli.list_presets:entries",
    "tcp": "aqmlab.cli.list_kinds:entries",
    "apps": "aqmlab.cli.list_kinds:entries",
    "profiles": "aqmlab.cli.list_kinds:entries",
    "scenarios": "aqmlab.cli.list_scenarios:entries",
    "households": "aqmlab.cli.list_households:households",
    "activities": "aqmlab.cli.list_households:activities",
    "studies": "aqmlab.cli.list_studies:entries",
}
"""The name of the function that lists the entries of each topic.

A function is loaded when it is needed.
"""


@dataclass(frozen=True, slots=True)
class ListingParameters:
    """The parameters of `aqmlab list`."""

    topic: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[" + "|".join(TOPICS) + "]", help="A topic; all if absent."),
    ] = None
    name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[NAME]", help="An entry; a study may be given by its folder."),
    ] = None
    as_json: options.AsJson = False
