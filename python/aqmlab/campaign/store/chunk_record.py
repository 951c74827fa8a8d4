"""The record of a chunk whose trials are all in the tables, with the checksums of these tables.

A running campaign keeps the record beside the trial files. The manifest of a complete campaign
holds the same data and replaces the record. A record names its campaign and its chunk, and only
files of this chunk. A record in the place of another record is therefore refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, to_builtins

from aqmlab.base.checksums import FileChecksum, is_intact, with_checksum
from aqmlab.base.files import open_regular, write_atomically
from aqmlab.campaign.store import json_record
from aqmlab.campaign.store.manifest import Count, FilePath

_MOST_BYTES = 2**24
"""The largest record that is read, in bytes. A record of a hundred trials has a few kilobytes."""

Alternatives = Annotated[tuple[FileChecksum, ...], Meta(min_length=1, max_length=2)]
"""The valid checksums of a file. Two checksums are valid while the file is being replaced."""


class ChunkRecord(Struct, frozen=True):
    """The results of a chunk of trials in the tables."""

    campaign: str
    """The key of the campaign."""
    chunk: Count
    digests: tuple[str, ...]
    """The digest of each trial."""
    events: Count
    packets: Count
    files: Mapping[FilePath, Alternatives]
    """The checksums of each table file, by the file's path in the campaign's folder."""

    def fault(self, campaign: str, chunk: int, trials: int, folder: str) -> str | None:
        """The reason why this is not the record of `chunk` with `trials` trials in `folder`.

        Returns `None` if the record is valid.
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
        """Writes the record to `path`, atomically and with a checksum; raises `DiskError`."""
        write_atomically(path, with_checksum(json_record.text_of(to_builtins(self))))


def read(path: Path) -> ChunkRecord:
    """Reads the record at `path`.

    Raises `FileNotFoundError` if there is none, another `OSError` if it cannot be read, and
    `ValueError` if it is too large or has changed since it was written.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        text = file.read(_MOST_BYTES)
    if not is_intact(text):
        raise ValueError("its text does not match its `checksum`")
    return json_record.decoded(text, ChunkRecord)
