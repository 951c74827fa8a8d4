"""A consistent view of a campaign's folder, also while another process writes to it.

A reader opens several files in sequence: the manifest, records of chunks, table files, trial files.
Meanwhile the campaign may move trials from one file to another. After a read, the reader therefore
checks the folder again, and repeats the read if the folder has changed.
"""

from __future__ import annotations

from functools import cached_property

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.dataset import Dataset
from aqmlab.campaign.store.folder import Folder, recorded_trials
from aqmlab.campaign.store.manifest import Manifest
from aqmlab.campaign.store.parquet import Finished
from aqmlab.campaign.store.table_files import TableFiles, table_files

TRIES = 20
"""The maximum number of attempts to read. A campaign moves a chunk only once in many seconds."""


class Snapshot:
    """The contents of a manifest and of the chunk records, and the files that hold the results."""

    def __init__(self, folder: Folder, manifest: Manifest) -> None:
        self.manifest = manifest
        self._folder = folder
        self._dataset = None
        if manifest.files is None:
            self._dataset = Dataset(folder, recorded_trials(manifest), manifest.campaign)

    @property
    def is_running(self) -> bool:
        """Whether the campaign is running, or stopped before its tables were written."""
        return self._dataset is not None

    @cached_property
    def files(self) -> TableFiles:
        """The table files. While the campaign runs, these are the files of sealed chunks."""
        if self._dataset is None:
            return table_files(self._folder, self.manifest)
        return self._dataset.files()

    @cached_property
    def unsealed(self) -> list[Finished | None]:
        """For each chunk, the trials in its trial files, or `None` if its trials are in the tables.

        The list is empty if all tables of the campaign are written.
        """
        if self._dataset is None:
            return []
        return [self._dataset.unsealed(chunk) for chunk in range(len(self._dataset.chunks))]

    @property
    def in_tables(self) -> frozenset[str]:
        """The names of the trials in the table files."""
        if self._dataset is not None:
            return frozenset(one.id for one in self._dataset.sealed())
        found = self.manifest.digest_by_trial()
        return frozenset(name for name, digest in found.items() if digest is not None)

    @property
    def names(self) -> frozenset[str]:
        """The names of all trials that have a result."""
        own = (one.id for made in self.unsealed if made is not None for one in made.trials)
        return self.in_tables.union(own)

    @property
    def damage(self) -> list[RequestError]:
        """The error for each damaged trial file or record of an unfinished campaign."""
        if self._dataset is None:
            return []
        _ = self.unsealed  # this detects damaged trial files
        return [self._folder.damaged(path, text) for path, text in self._dataset.damaged.items()]

    def has_moved(self) -> bool:
        """Returns whether the folder has changed since this snapshot."""
        if self._folder.manifest().checksum != self.manifest.checksum:
            return True
        return self._dataset is not None and self._dataset.has_moved()


def take(folder: Folder, *, whole: bool = True) -> Snapshot:
    """Takes a snapshot of a folder. If `whole` is false, trial files are not read.

    Raises `RequestError` if the folder cannot be read.
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
