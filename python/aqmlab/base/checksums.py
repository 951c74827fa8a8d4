"""Checksums: how a reader knows that a file is as it was written.

Parquet's page checksums do not cover a file's footer, and most readers ignore them. So a campaign
records the size and the SHA-256 of every file, and a document that holds such records ends with
the SHA-256 of its own text.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from aqmlab.base.files import open_regular

_LAST_MEMBER = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}\n\Z')


class FileChecksum(NamedTuple):
    """The size and the SHA-256 of a file."""

    size_bytes: int
    sha256: str


def checksum_of(path: Path) -> FileChecksum:
    """The checksum of the file at `path`; raises `OSError`."""
    with open_regular(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        return FileChecksum(size_bytes, hashlib.file_digest(file, "sha256").hexdigest())


def mismatch(path: Path, expected: Iterable[FileChecksum]) -> str | None:
    """How the file at `path` differs from every one of the `expected` checksums, if it does."""
    expected = tuple(expected)
    try:
        size_bytes = path.stat().st_size
        if path.is_file() and size_bytes not in {one.size_bytes for one in expected}:
            return f"it has {size_bytes} bytes, not the {expected[-1].size_bytes} recorded"
        # An expected size bounds how much is read.
        found = checksum_of(path)
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return str(error.strerror or error).lower()
    return None if found in expected else "its contents are not those recorded"


def with_checksum(text: str) -> bytes:
    """A JSON object, written with a member a line, with its own checksum as the last member."""
    body = text.removesuffix("\n}\n").encode()
    return body + b',\n "checksum": "%s"\n}\n' % hashlib.sha256(body).hexdigest().encode()


def is_intact(data: bytes) -> bool:
    """Whether `data` is the text of a document that `with_checksum` wrote."""
    found = _LAST_MEMBER.search(data[-100:])
    if found is None:
        return False
    body = data[: len(data) - len(found[0])]
    return hashlib.sha256(body).hexdigest().encode() == found[1]
