"""The agents that made a reference set, by their sources: `agent-<digest>.json`.

An agent's instructions take virtual time, so a result depends on every byte of the agent. The set
names the commit, the compiler and the C library of each agent, from which the same bytes are built.
A built agent stays in the cache. No other agent replaces it, because its bytes must have the digest
that the trials name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.base.files import write_atomically
from aqmlab.engines.kernel import agent_source, image
from aqmlab.engines.kernel.agent_source import AgentSource

_PATTERN = "agent-*.json"
_RENEW = "`aqmlab validate --regenerate --renew` remakes its trials with this version's agent"


def digest_of(data: bytes) -> str:
    """Sixteen hexadecimal digits that identify a program. Recipes of trials contain this digest."""
    return hashlib.sha256(data).hexdigest()[:16]


def record(folder: Path, digest: str) -> Path:
    """The path of the record of an agent's source in the set in `folder`, existing or not."""
    return folder / f"agent-{digest}.json"


def keep(folder: Path, program: Path) -> None:
    """Records the source of an agent in `folder` if needed, and keeps the agent in the cache.

    Raises `RequestError` if the agent's sources are not committed.
    """
    data = program.read_bytes()
    path = record(folder, digest_of(data))
    if not path.exists():
        source = json.dumps(asdict(agent_source.source_here()), indent=1) + "\n"
        write_atomically(path, source.encode())
    _cache(digest_of(data), data)


def program(folder: Path, digest: str, say: Callable[[str], None] = print) -> Path:
    """The path of an agent of the set in `folder`. The agent is built unless it is in the cache.

    Raises `RequestError` if its source is missing, or if this machine builds other bytes.
    """
    path = _cached(digest)
    if not path.exists() or digest_of(path.read_bytes()) != digest:
        _cache(digest, _rebuilt(folder, digest, say))
    image.note_use(path)
    return path


def source(folder: Path, digest: str) -> AgentSource:
    """The source of an agent; raises `RequestError` if it is missing or damaged."""
    path = record(folder, digest)
    try:
        return AgentSource(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        problem = f"{path}: the source of the agent that made trials of the set is missing"
        raise RequestError(problem, _RENEW) from None
    except (OSError, TypeError, ValueError) as error:
        raise RequestError(f"{path}: cannot be read: {error}", _RENEW) from None


def prune(folder: Path, named: Collection[str]) -> None:
    """Removes the records of agents whose digests are not in `named`."""
    wanted = {record(folder, digest).name for digest in named}
    for path in folder.glob(_PATTERN):
        if path.name not in wanted:
            path.unlink()


def there(folder: Path) -> list[Path]:
    """The records of agents in the set in `folder`."""
    return sorted(folder.glob(_PATTERN)) if folder.is_dir() else []


def _rebuilt(folder: Path, digest: str, say: Callable[[str], None]) -> bytes:
    wanted = source(folder, digest)
    data = agent_source.rebuild(wanted, say)
    if digest_of(data) != digest:
        differences = agent_source.differences_here(wanted) or ["nothing that is recorded differs"]
        raise RequestError(
            f"{record(folder, digest)}: this machine builds another agent, {digest_of(data)}:"
            f" {'; '.join(differences)}",
            _RENEW,
        )
    return data


def _cached(digest: str) -> Path:
    return image.cache_dir() / f"agent-{digest}"


def _cache(digest: str, data: bytes) -> None:
    path = _cached(digest)
    if not path.exists() or path.read_bytes() != data:
        image.keep(path, data)
