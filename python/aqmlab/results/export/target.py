"""The folder of exported files. Writes are atomic; only `force` replaces existing files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.files import atomic_file
from aqmlab.campaign.store import own_files


class Target:
    """A folder for exported files, which is created before the first file."""

    def __init__(self, folder: Path, force: bool = False) -> None:
        if folder.exists() and not folder.is_dir():
            raise RequestError(
                f"{folder}: is a file, not a folder", "give another with `--out DIR`"
            )
        self.folder, self._force = folder, force
        self._written: set[Path] = set()
        self._folded: set[str] = set()
        """The names of the written files, case-folded, for file systems that ignore case."""

    def refuse_present(self, *names: str) -> None:
        """Raises `RequestError` if a file of one of these names exists, unless `force` is set."""
        for name in names:
            if not self._force and os.path.lexists(self.folder / name):
                raise RequestError(
                    f"{self.folder / name}: is there already",
                    "`--force` replaces it, `--out DIR` writes elsewhere",
                )

    def free_name(self, stem: str, suffix: str) -> str:
        """The name `stem` + `suffix`, with a number between them if the name is used."""
        name, count = f"{stem}{suffix}", 1
        while str(self.folder / name).casefold() in self._folded:
            count += 1
            name = f"{stem}_{count}{suffix}"
        return name

    def write(self, name: str, data: bytes) -> Path:
        """Writes a file and returns its path.

        Raises `RequestError` if the file existed before this export and `force` is not set, if
        `name` leads out of the folder, and for the path of a campaign's own file. Raises
        `DiskError` if the file cannot be written.
        """
        with self.stream(name) as file:
            file.write(data)
        return self.folder / name

    @contextmanager
    def stream(self, name: str) -> Iterator[BinaryIO]:
        """Yields a file for writing in pieces, which appears when it is complete.

        Raises the same errors as `write`.
        """
        path = self._prepare(name)
        try:
            with atomic_file(path) as file:
                yield file
        except DiskError as error:  # the same command would refuse the files that it has written
            if not error.is_full:
                raise
            raise error.hinting("with `--force`") from error

    def _prepare(self, name: str) -> Path:
        path = self.folder / name
        inside = path.parent.resolve().is_relative_to(self.folder.resolve())
        if not inside or path.name in ("", "..") or Path(name).is_absolute():
            raise RequestError(f"{path}: is outside {self.folder}, where files are to go")
        own_files.refuse(path)
        if path not in self._written:
            self.refuse_present(name)
        self._written.add(path)
        self._folded.add(str(path).casefold())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.of(error, path.parent) from None
        return path
