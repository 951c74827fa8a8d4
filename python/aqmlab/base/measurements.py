"""Measured run times on this machine, in the user's cache. Their loss is harmless.

Other programs can also write to the cache. A file that is not regular, is too large or holds
impossible numbers counts as absent.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, TypeVar

import msgspec

from aqmlab.base.failures import DiskError
from aqmlab.base.files import cache_folder, open_regular, write_atomically

_MOST_BYTES = 2**24
"""The largest file of measurements that is read, in bytes. That of 200 scenarios has 50 kB."""

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
"""A measured amount. The limit excludes sums and quotients that a float cannot hold."""

_T = TypeVar("_T")


def read(name: str, form: type[dict[str, _T]]) -> dict[str, _T]:
    """The measurements in the cache's file `name`; empty if it is unreadable or not of `form`."""
    try:
        with open_regular(cache_folder() / name) as file:
            text = file.read(_MOST_BYTES + 1)
        return {} if len(text) > _MOST_BYTES else msgspec.json.decode(text, type=form)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError, DiskError):
        return {}


def store(name: str, measured: dict[str, _T]) -> None:
    """Replaces the measurements in the cache's file `name`, if the cache can be written."""
    with contextlib.suppress(OSError, DiskError):
        path = cache_folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(measured), indent=1)
        write_atomically(path, text, synced=False)
