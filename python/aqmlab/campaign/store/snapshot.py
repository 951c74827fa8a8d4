"""A campaign's folder as it is at one moment, also while another process writes to it.

A reader opens several files one after the other: the manifest, records of chunks, files of tables,
trials' own files. The campaign moves trials from one to another meanwhile. So a reader looks again
after it has read, and reads anew if something was moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.dataset import Dataset
from aqmlab.campaign.store.folder import Folder, recorded_trials
from aqmlab.campaign.store.parquet import Finished
from aqmlab.campaign.store.table_files import TableFiles, table_files

TRIES = 20
"""How often a reader reads anew; a campaign moves a chunk once in many seconds."""


class Snapshot:
    """What a manifest and the records of chunks say together, and the files that hold it."""

    def __init__(self, folder: Folder, manifest: Mapping[str, Any]) -> None:
        self.manifest = manifest
        self._folder = folder
        self._dataset = None
        if "files" not in manifest:
            self._dataset = Dataset(folder, recorded_trials(manifest), manifest["campaign"])

    @property
    def is_running(self) -> bool:
        """Whether the campaign runs, or was stopped before it wrote all tables."""
        return self._dataset is not None

    @cached_property
    def files(self) -> TableFiles:
        """The files of the tables: of sealed chunks only, while the campaign runs."""
        if self._dataset is None:
            return table_files(self._folder, self.manifest)
        return self._dataset.files()

    @cached_property
    def unsealed(self) -> list[Finished | None]:
        """Of each chunk the trials' own files, where no table has them."""
        if self._dataset is None:
            return []
        return [self._dataset.unsealed(chunk) for chunk in range(len(self._dataset.chunks))]

    @property
    def in_tables(self) -> frozenset[str]:
        """The names of the trials that are in the tables' files."""
        if self._dataset is not None:
            return frozenset(one.id for one in self._dataset.sealed())
        # Without digests it was stopped before any trial was recorded.
        trials = self.manifest["trials"]
        found = zip(trials, self.manifest.get("digests") or [None] * len(trials), strict=True)
        return frozenset(one["id"] for one, digest in found if digest is not None)

    @property
    def names(self) -> frozenset[str]:
        """The names of all trials that have a result."""
        own = (one.id for made in self.unsealed if made is not None for one in made.trials)
        return self.in_tables.union(own)

    @property
    def damage(self) -> list[RequestError]:
        """The error for each file of the running campaign that does not count."""
        if self._dataset is None:
            return []
        _ = self.unsealed  # which finds damage of trials' own files
        return [self._folder.damaged(path, text) for path, text in self._dataset.damaged.items()]

    def has_moved(self) -> bool:
        """Whether the folder says something else by now."""
        if self._folder.manifest()["checksum"] != self.manifest["checksum"]:
            return True
        return self._dataset is not None and self._dataset.has_moved()


def take(folder: Folder, *, whole: bool = True) -> Snapshot:
    """What the folder holds now; not `whole`, nothing is read of trials' own files.

    Raises `RequestError` if it cannot be read.
    """
    for _ in range(TRIES):
        snapshot = Snapshot(folder, folder.manifest())
        if not snapshot.is_running:
            return snapshot
        try:
            if whole:
                _ = snapshot.unsealed
        except RequestError:
            if not snapshot.has_moved():
                raise
        else:
            if not snapshot.has_moved():
                return snapshot
    raise RequestError(f"{folder.path}: changes faster than it can be read", "try again")
