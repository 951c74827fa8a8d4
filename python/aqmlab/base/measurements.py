"""Measured run times on this machine, in the user's cache. Their loss is harmless."""

from __future__ import annotations

import contextlib
from typing import TypeVar

import msgspec

from aqmlab.base.failures import DiskError
from aqmlab.base.files import cache_folder, write_atomically

_T = TypeVar("_T")


def read(name: str, form: type[dict[str, _T]]) -> dict[str, _T]:
    """The measurements in the cache's file `name`; empty if it is unreadable or not of `form`."""
    try:
        return msgspec.json.decode((cache_folder() / name).read_bytes(), type=form)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError, DiskError):
        return {}


def store(name: str, measured: dict[str, _T]) -> None:
    """Replaces the measurements in the cache's file `name`, if the cache can be written."""
    with contextlib.suppress(OSError, DiskError):
        path = cache_folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(measured), indent=1)
        write_atomically(path, text, synced=False)
