"""Reads regular files only, writes files atomically, and locks files and folders."""

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
    """Opens the regular file at `path` for reading; raises `OSError` for anything else.

    Reading from a pipe or a device could block for ever.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 (the caller closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def _at_once(path: str, flags: int) -> int:
    """Opens a file without blocking. A blocking open of a pipe would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_atomically(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Writes all of `data` to `path` or leaves `path` unchanged, even after a power cut.

    If `synced` is false, the function does not wait for the disk, and a power cut may truncate the
    file. On failure it removes its partial file and raises `DiskError`. If only the sync of the
    folder fails, `path` already has `data`, but a power cut may restore the previous file.
    """
    with atomic_file(path, needed=len(data), synced=synced) as file:
        file.write(data)


@contextmanager
def atomic_file(
    path: Path, *, needed: int | None = None, synced: bool = True
) -> Iterator[BinaryIO]:
    """A file that appears at `path` only after its data have been written without an error.

    `needed` is its size in bytes, if known. `synced` has the same meaning as in `write_atomically`.
    On any exception the function removes the partial file. Raises `DiskError` for an `OSError`.
    """
    refuse_special(path)
    made = unfinished(path)
    try:
        with create(made) as file:
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
        with suppress(OSError):  # the file was moved to its path, or was never created
            made.unlink()


def create(path: Path) -> BinaryIO:
    """Creates a file for writing, in place of any file or link at `path`; raises `OSError`.

    In a folder from a stranger, a link at `path` could lead to any file of the user.
    """
    try:
        return path.open("xb")
    except FileExistsError:
        path.unlink()
        return path.open("xb")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Converts an `OSError` within the context into a `DiskError` for `path`."""
    try:
        yield
    except OSError as error:
        raise DiskError.of(error, path) from error


def unfinished(path: Path) -> Path:
    """The hidden path beside `path` to which this process writes before the final move.

    `Folder.clear_unfinished` recognises the files of killed writers by this form of name.
    """
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def refuse_special(path: Path) -> None:
    """Raises `DiskError` if `path` exists and is not a regular file.

    An atomic write moves a file to `path`. With sufficient rights it would replace `/dev/null`.
    """
    kind = special_kind(path)
    if kind is not None:
        raise DiskError(f"{path}: cannot be written: it is {kind}", "name a file")


def special_kind(path: Path) -> str | None:
    """Names the kind of a path that is no file: "a folder" or "a pipe or a device".

    Returns `None` for a regular file and for a free path.
    """
    try:
        mode = path.stat().st_mode
    except OSError:  # the path is free, or a later read or write reports the error
        return None
    if stat.S_ISREG(mode):
        return None
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


@contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[None]:
    """Locks a folder for this process until the context or the process ends.

    If another process holds the lock, the function waits if `wait` is true, else raises
    `BlockingIOError`. On Windows it locks nothing.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no `flock`: the user must prevent concurrent processes
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


class FileLock:
    """A locked file that reserves its folder for one process.

    The lock is on a file because NFS cannot lock folders. The lock ends with its process. On
    Windows nothing is locked.
    """

    def __init__(self, path: Path) -> None:
        """Creates the file, if necessary, and locks it.

        Raises `BlockingIOError` if another process holds the lock, and `OSError` if the file cannot
        be opened or locked, or is a link.
        """
        self._path = path
        no_link = getattr(os, "O_NOFOLLOW", 0)  # Windows lacks it
        while True:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | no_link, 0o644)
            try:
                _lock(self._handle)
                is_held = self.is_held()
            except BaseException:
                os.close(self._handle)
                raise
            if is_held:
                return
            os.close(self._handle)  # the previous holder has removed the file

    def is_held(self) -> bool:
        """Returns whether the locked file is still at its path; raises `OSError`."""
        try:
            return os.path.samestat(os.fstat(self._handle), self._path.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """Removes the file, if it is still at its path, and releases the lock."""
        with suppress(OSError):
            if self.is_held():
                self._path.unlink()
        os.close(self._handle)


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no `flock`: the user must prevent concurrent processes
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def reason_of(error: Exception) -> str:
    """Formats an error as part of a sentence."""
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror.lower() if strerror else str(error)


def cache_folder() -> Path:
    """The path of the cache folder, which may not exist.

    Raises `DiskError` if the user has no home folder.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aqmlab"
    except RuntimeError:
        hint = "set HOME or XDG_CACHE_HOME to a folder"
        raise DiskError("there is no home folder to keep files in", hint) from None


def sync_folder(folder: Path) -> None:
    """Writes the directory entries of `folder` to the disk, if the system supports this."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders, and writes their entries to the disk itself
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
