"""Files: only regular ones are read, and what is written appears whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from aqmlab.base.failures import DiskError


def open_regular(path: Path) -> BufferedReader:
    """The file at `path`, for reading; raises `OSError` for what is no file.

    A pipe or a device that stands there in its place would never let go.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 (is the caller's to close)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def _at_once(path: str, flags: int) -> int:
    """Opens without waiting, as a pipe would for whoever writes into it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_atomically(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Writes `data` so that `path` holds all of it or is as it was, also after a power cut.

    Not `synced`, it does not wait for the disk, and a power cut may leave less. Raises
    `DiskError`, having removed what it had begun.
    """
    with atomic_file(path, needed=len(data), synced=synced) as file:
        file.write(data)


@contextmanager
def atomic_file(
    path: Path, *, needed: int | None = None, synced: bool = True
) -> Iterator[BinaryIO]:
    """A file that stands at `path` when it has been written without an error, and not before.

    `needed` is its size if that is known; `synced` as in `write_atomically`. Raises
    `DiskError`, having removed what it had begun.
    """
    refuse_special(path)
    made = unfinished(path)
    try:
        with made.open("wb") as file:
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
        made.replace(path)
        if synced:
            sync_folder(path.parent)
    except OSError as error:
        raise DiskError.of(error, path, needed) from error
    finally:
        with suppress(OSError):  # it stands in its place, or could not be begun
            made.unlink()


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Within, an error of the system is one of writing `path`: raises `DiskError`."""
    try:
        yield
    except OSError as error:
        raise DiskError.of(error, path) from error


def unfinished(path: Path) -> Path:
    """What a file that this process writes is called until it is whole: beside its place, hidden.

    `Folder.clear_unfinished` finds by it what killed writers have left.
    """
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def refuse_special(path: Path) -> None:
    """Raises `DiskError` if something stands at `path` that a file must not take the place of.

    A file is written beside its place and moved there: over `/dev/null` too, for who may.
    """
    try:
        mode = path.stat().st_mode
    except OSError:  # nothing is there, or writing will say what is wrong
        return
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise DiskError(f"{path}: cannot be written: it is {kind}", "give the name of a file")


@contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[None]:
    """Holds a folder for this process alone; the lock goes with the process.

    Raises `BlockingIOError` where another process has it, unless it may `wait` for that one.
    """
    try:
        import fcntl
    except ImportError:  # Windows: two processes at once are the user's care
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def cache_folder() -> Path:
    """Where what is worth keeping between runs goes; it need not exist.

    Raises `DiskError` for a user without a home.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aqmlab"
    except RuntimeError:
        hint = "set HOME or XDG_CACHE_HOME to a folder"
        raise DiskError("there is no home folder to keep files in", hint) from None


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows does not open folders, and keeps names by itself
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
