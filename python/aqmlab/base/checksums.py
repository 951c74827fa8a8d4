"""Checksums that show whether a file has changed since it was written.

Parquet's page checksums do not cover a file's footer, and most readers ignore these checksums. A
campaign therefore records the size and the SHA-256 of every table file and of `catalogue.sql`. A
document that holds such records ends with the SHA-256 of its own text.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

from msgspec import Meta

from aqmlab.base.failures import RequestError
from aqmlab.base.files import open_regular, reason_of

_NO_FILE = (errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENOTDIR, errno.ENXIO)
"""Error numbers for paths that are not regular files. Other read errors may be temporary."""

_LAST_MEMBER = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}\n\Z')


Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class FileChecksum(NamedTuple):
    """The size and the SHA-256 of a file."""

    size_bytes: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    sha256: Sha256


def checksum_of(path: Path) -> FileChecksum:
    """The checksum of the file at `path`; raises `OSError`."""
    with open_regular(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        return FileChecksum(size_bytes, hashlib.file_digest(file, "sha256").hexdigest())


def mismatch(
    path: Path,
    expected: Iterable[FileChecksum],
    measure: Callable[[Path], FileChecksum] = checksum_of,
) -> str | None:
    """Describes how the file at `path` differs from all `expected` checksums.

    Returns `None` if the file matches one of the checksums. A missing file and a path that is not
    a regular file also differ. Raises `RequestError` if the file cannot be read for any other
    reason, because its contents are then unknown. `measure` reads the file and returns its
    checksum; a regular file of an unexpected size is not read.
    """
    expected = tuple(expected)
    try:
        size_bytes = path.stat().st_size
        if path.is_file() and size_bytes not in {one.size_bytes for one in expected}:
            return f"it has {size_bytes} bytes, not the {expected[-1].size_bytes} recorded"
        # The file has an expected size, so the read is bounded.
        found = measure(path)
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise unreadable(path, error) from None
        return reason_of(error)
    return None if found in expected else "its contents are not those recorded"


def contents(path: Path, expected: Iterable[FileChecksum]) -> tuple[bytes, str | None]:
    """Reads the file at `path`. Returns its bytes and the result of `mismatch`.

    The bytes are empty if `path` is not a regular file, or if the file's size is not an expected
    size. Raises `RequestError` as `mismatch` does.
    """
    data = b""

    def measure(path: Path) -> FileChecksum:
        nonlocal data
        with open_regular(path) as file:
            data = file.read()
        return FileChecksum(len(data), hashlib.sha256(data).hexdigest())

    problem = mismatch(path, expected, measure)
    return data, problem


def unreadable(path: Path, error: OSError) -> RequestError:
    """The error for a file that cannot be read and may be intact."""
    hint = "run the command again when the file is readable; nothing was changed"
    return RequestError(f"{path}: cannot be read: {reason_of(error)}", hint)


def with_checksum(text: str) -> bytes:
    """Returns a JSON object with one more member: the checksum of the text before this member.

    `text` must end with the object's closing brace on a line of its own and a line feed.
    """
    body = text.removesuffix("\n}\n").encode()
    return body + b',\n "checksum": "%s"\n}\n' % hashlib.sha256(body).hexdigest().encode()


def is_intact(data: bytes) -> bool:
    """Returns whether `data` is an unchanged result of `with_checksum`."""
    found = _LAST_MEMBER.search(data[-100:])
    if found is None:
        return False
    body = data[: len(data) - len(found[0])]
    return hashlib.sha256(body).hexdigest().encode() == found[1]
