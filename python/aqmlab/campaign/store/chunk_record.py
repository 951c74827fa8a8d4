"""The record of a chunk whose trials are all in the tables, with the tables' checksums.

A running campaign keeps it beside the trial files. The manifest of a complete campaign holds the
same data and replaces it. A record names its campaign, its chunk and only files of that chunk, so
one record cannot replace another.
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
"""The largest record that is read. The record of a hundred trials has a few kilobytes."""

Alternatives = tuple[FileChecksum, ...]
"""The valid checksums of a file: two while it is being replaced."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """The results of a chunk of trials in the tables."""

    campaign: str
    """The key of the campaign."""
    chunk: int
    digests: Sequence[str]
    """The digest of each trial."""
    events: int
    packets: int
    files: Mapping[str, Alternatives]
    """The checksums of each table file, by its path in the campaign's folder."""

    def fault(self, campaign: str, chunk: int, trials: int, folder: str) -> str | None:
        """The reason why this is not the record of this `chunk` with `trials` trials in `folder`.

        Returns `None` if it is.
        """
        if self.campaign != campaign:
            return "it is of another campaign"
        if self.chunk != chunk:
            return f"it is the record of chunk {self.chunk}"
        if len(self.digests) != trials:
            return f"it has {len(self.digests)} of {trials} trials"
        if any(name.split("/")[2] != folder for name in self.files):
            return "it names files of another chunk"
        return None

    def write(self, path: Path) -> None:
        """Writes the record to `path`; raises `DiskError`."""
        text = text_of(
            {
                "campaign": self.campaign,
                "chunk": self.chunk,
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
    chunk: Count
    digests: list[str]
    events: Count
    packets: Count
    files: dict[FilePath, Annotated[list[tuple[Count, Sha256]], Field(min_length=1, max_length=2)]]
    checksum: Sha256


def read(path: Path) -> ChunkRecord:
    """Reads the record at `path`.

    Raises `FileNotFoundError` if there is none, another `OSError` if it cannot be read, and
    `ValueError` if it has changed since it was written.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        text = file.read(_MOST_BYTES)
    if not is_intact(text):
        raise ValueError("its text does not match its `checksum`")
    try:
        found = _adapter().validate_json(text)
    except ValidationError:
        raise ValueError("it is not the record of a chunk") from None
    files = {
        name: tuple(FileChecksum(*one) for one in known) for name, known in found["files"].items()
    }
    return ChunkRecord(
        found["campaign"],
        found["chunk"],
        found["digests"],
        found["events"],
        found["packets"],
        files,
    )


@cache
def _adapter() -> TypeAdapter[_Written]:
    return TypeAdapter(_Written)
