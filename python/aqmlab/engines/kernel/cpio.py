"""Initramfs archives in the `newc` format of cpio, which Linux unpacks at boot.

Source: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Numbers have
eight hexadecimal digits. Names and contents are padded to multiples of four bytes. All times and
inode numbers are fixed, so equal contents give equal bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class ArchiveEntry:
    """A file, a folder or a device in an archive."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(data: bytes, *, executable: bool = False) -> ArchiveEntry:
    """The entry of a regular file with the contents `data`."""
    return ArchiveEntry(stat.S_IFREG | (0o755 if executable else 0o644), data)


def device(major: int, minor: int) -> ArchiveEntry:
    """The entry of a character device, such as major 5 and minor 1 for `/dev/console`."""
    return ArchiveEntry(stat.S_IFCHR | 0o666, device=(major, minor))


def archive(entries: Mapping[str, ArchiveEntry]) -> bytes:
    """The archive of `entries`, which are given by path, and of their parent folders.

    >>> archive({"a/b": file(b"x")})[:6]
    b'070701'
    """
    folders = {
        "/".join(parts[:depth])
        for parts in (path.split("/") for path in entries)
        for depth in range(1, len(parts))
    }
    whole = dict.fromkeys(folders, ArchiveEntry(stat.S_IFDIR | 0o755)) | dict(entries)
    members = [
        _member(number, path, whole[path]) for number, path in enumerate(sorted(whole), start=1)
    ]
    data = b"".join([*members, _member(0, _TRAILER, ArchiveEntry(0))])
    return data + b"\0" * (-len(data) % 512)


def _member(number: int, path: str, entry: ArchiveEntry) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    major, minor = entry.device
    size = len(entry.data)
    fields = [number, entry.mode, 0, 0, links, 0, size, 0, 0, major, minor, len(name), 0]
    head = b"070701" + "".join(f"{field:08x}" for field in fields).encode() + name
    return _padded(head) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
