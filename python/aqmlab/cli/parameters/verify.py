"""The parameters of `aqmlab verify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aqmlab.cli.parameters import options


@dataclass(frozen=True, slots=True)
class VerifyParameters:
    """The parameters of `aqmlab verify`."""

    details: ClassVar[str] = (
        "Each command verifies the files that it reads. "
        "This one verifies all of them, for programs that read the tables directly."
    )

    folder: options.FolderArg
