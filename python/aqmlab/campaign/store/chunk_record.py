"""The record of a chunk: that all its trials are in the tables, and the checksums of these.

It stands beside the trials' own files while a campaign runs; the manifest of a complete campaign
holds the same and replaces it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from aqmlab.base.checksums import FileChecksum, is_intact, with_checksum
from aqmlab.base.files import open_regular, write_atomically
from aqmlab.campaign.store.folder import text_of
from aqmlab.campaign.store.manifest import STRICT, Count, FilePath, Sha256

_MOST_BYTES = 2**24
"""The largest record that is read; of a hundred trials it has some kilobytes."""

Alternatives = tuple[FileChecksum, ...]
"""The checksums that a file may have: two while it is being replaced."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """The results of a chunk of trials that stand in the tables."""

    campaign: str
    """The key of the campaign."""
    digests: Sequence[str]
    """The digest of each trial."""
    events: int
    packets: int
    files: Mapping[str, Alternatives]
    """The checksums of each table's file, by its path in the campaign's folder."""

    def write(self, path: Path) -> None:
        """Writes it to `path`; raises `DiskError`."""
        text = text_of(
            {
                "campaign": self.campaign,
                "digests": self.digests,
                "events": self.events,
                "packets": self.packets,
                "files": self.files,
            }
        )
        write_atomically(path, with_checksum(text))


@with_config(STRICT)
class _Written(TypedDict):
    campaign: str
    digests: list[str]
    events: Count
    packets: Count
    files: dict[FilePath, Annotated[list[tuple[Count, Sha256]], Field(min_length=1, max_length=2)]]
    checksum: Sha256


def read(path: Path) -> ChunkRecord | None:
    """The record at `path`; `None` if there is none, or if it is not as it was written."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES:
                return None
            text = file.read(_MOST_BYTES)
        found = _adapter().validate_json(text)
    except (OSError, ValidationError):
        return None
    if not is_intact(text):
        return None
    files = {
        name: tuple(FileChecksum(*one) for one in known) for name, known in found["files"].items()
    }
    return ChunkRecord(
        found["campaign"], found["digests"], found["events"], found["packets"], files
    )


@cache
def _adapter() -> TypeAdapter[_Written]:
    return TypeAdapter(_Written)
