"""The campaigns below a folder, newest first, as their manifests describe them.

Folders may come from untrusted sources, so the search is bounded and follows no links. A campaign
that cannot be read is listed with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs, to_builtins

from aqmlab.base.failures import LabError, size_text
from aqmlab.campaign.store import snapshot
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import MANIFEST, PARTS

MOST_LISTED = 1_000
"""The maximum number of campaigns in a list."""

_DEEPEST = 4
"""The maximum depth below the searched folder. A study's campaigns are two folders deep."""
_MOST_FOLDERS = 20_000
_MOST_FILES = 100_000
"""The maximum number of files whose sizes are added up."""
_LARGEST_BYTES = 2**26
"""The size of the largest manifest that is read for a list, in bytes."""


class CampaignLine(Struct, frozen=True, kw_only=True):
    """A campaign in a list, in the form of `--json`."""

    folder: str
    modified: str
    """The time at which the manifest was last changed, in UTC."""
    size_bytes: int
    name: str | None = None
    engine: str | None = None
    planned: int | None = None
    done: int | None = None
    digest: str | None = None
    problem: str | None = None
    """The reason why the campaign cannot be read."""

    def to_json(self) -> dict[str, object]:
        """The line as plain values."""
        made: dict[str, object] = to_builtins(self)
        return made


def below(path: Path) -> tuple[list[CampaignLine], bool]:
    """The campaigns below a folder, newest first, and whether the list may be incomplete."""
    folders, is_cut = _folders(path)
    found = sorted(((_changed(one), one) for one in folders), reverse=True)
    lines = [_line(folder, at) for at, folder in found[:MOST_LISTED]]
    return lines, is_cut or len(found) > MOST_LISTED


def _folders(path: Path) -> tuple[list[Path], bool]:
    """The folders with a manifest, and whether the search ended at `_MOST_FOLDERS`."""
    found: list[Path] = []
    waiting, seen = [(path, 0)], 0
    while waiting:
        folder, depth = waiting.pop()
        seen += 1
        if seen > _MOST_FOLDERS:
            return found, True
        inner = _subfolders(folder)
        if os.path.lexists(folder / MANIFEST):  # No campaign contains another.
            found.append(folder)
        elif depth < _DEEPEST:
            waiting += [(one, depth + 1) for one in inner]
    return found, False


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(one.path) for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _changed(folder: Path) -> float:
    try:
        return (folder / MANIFEST).lstat().st_mtime
    except OSError:
        return 0.0


def _line(folder: Path, changed: float) -> CampaignLine:
    modified = datetime.fromtimestamp(changed, UTC).strftime("%Y-%m-%d %H:%M:%S")
    line = CampaignLine(folder=str(folder), modified=modified, size_bytes=_size_bytes(folder))
    try:
        size = (folder / MANIFEST).stat().st_size
        if size > _LARGEST_BYTES:
            problem = f"its manifest has {size_text(size)}, too much for a list"
            return structs.replace(line, problem=problem)
        taken = snapshot.take(Folder(folder), whole=False)
        done, manifest = len(taken.in_tables), taken.manifest
    except LabError as error:
        return structs.replace(line, problem=error.problem)
    except OSError as error:
        return structs.replace(line, problem=f"cannot be read: {error.strerror or error}")
    waiting = len(list((folder / PARTS).glob("*.trial"))) if taken.is_running else 0
    planned = len(manifest.trials)
    return structs.replace(
        line,
        name=manifest.name,
        engine=manifest.engine,
        planned=planned,
        done=min(done + waiting, planned),
        digest=manifest.digest,
    )


def _size_bytes(folder: Path) -> int:
    """The total size of the files below a folder, or of `_MOST_FILES` files if there are more."""
    sizes = (size for size, _ in zip(_sizes(folder), range(_MOST_FILES), strict=False))
    return sum(sizes)


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield Path(place, name).lstat().st_size
            except OSError:
                yield 0
