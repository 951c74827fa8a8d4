"""The agents that made a reference set, beside its cells: `agent-<digest>.xz`.

An agent's instructions take virtual time, so a result depends on every byte of the agent. Any
change of its sources or its compiler changes those bytes. The set therefore contains the exact
program that made it. Another build of the same sources can give other results.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Collection
from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically

_PATTERN = "agent-*.xz"
_RENEW = "`aqmlab validate --regenerate --renew` remakes its trials with another agent"


def digest_of(data: bytes) -> str:
    """Sixteen hexadecimal digits that identify a program, as in the recipes of trials."""
    return hashlib.sha256(data).hexdigest()[:16]


def packed(folder: Path, digest: str) -> Path:
    """The path of an agent in the set in `folder`, existing or not."""
    return folder / f"agent-{digest}.xz"


def keep(folder: Path, program: Path) -> None:
    """Copies an agent into `folder` unless it is already there."""
    data = program.read_bytes()
    path = packed(folder, digest_of(data))
    if not path.exists():
        write_atomically(path, lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def unpacked(folder: Path, digest: str) -> Path:
    """An agent of the set in `folder`, unpacked in the cache.

    Raises `RequestError` if it is missing or does not match its name.
    """
    from aqmlab.engines.kernel import image

    path = image.cache_dir() / f"agent-{digest}"
    if not path.exists() or digest_of(path.read_bytes()) != digest:
        image.keep(path, _unpack(packed(folder, digest), digest))
    image.note_use(path)
    return path


def check(folder: Path, digest: str) -> None:
    """Raises `RequestError` if an agent of the set in `folder` is missing or damaged."""
    _unpack(packed(folder, digest), digest)


def _unpack(path: Path, digest: str) -> bytes:
    try:
        data = lzma.decompress(path.read_bytes())
    except FileNotFoundError:
        problem = f"{path}: the agent that made trials of the set is missing"
        raise RequestError(problem, _RENEW) from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise RequestError(f"{path}: cannot be unpacked: {error}", _RENEW) from None
    if digest_of(data) != digest:
        raise RequestError(f"{path}: holds another agent, {digest_of(data)}", _RENEW)
    return data


def prune(folder: Path, named: Collection[str]) -> None:
    """Removes the agents that are not `named`."""
    wanted = {packed(folder, digest).name for digest in named}
    for path in folder.glob(_PATTERN):
        if path.name not in wanted:
            path.unlink()


def there(folder: Path) -> list[Path]:
    """The agents in the set in `folder`."""
    return sorted(folder.glob(_PATTERN)) if folder.is_dir() else []
