"""The campaigns of a folder, and the files of their tables: what must be known before a question.

Whoever asks finds it while the process that answers starts, so that process need not know what a
manifest may say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import MANIFEST, Folder
from aqmlab.campaign.store.table_files import table_files
from aqmlab.results.query.sources import File, Found

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""How deep in a folder campaigns are found: a study's are two below its own."""


def find(path: Path) -> Found:
    """The campaign in a folder, or all campaigns below it.

    Raises `RequestError` if there is no campaign, or nothing in its tables.
    """
    campaigns, deeper = _campaigns(path)
    manifests = {folder: folder.manifest() for folder in campaigns}
    files: dict[str, list[File]] = {}
    inside = path.resolve()
    for folder, manifest in manifests.items():
        own = table_files(folder, manifest)
        for name in own.names:
            for file, checksums in own.recorded(name):
                found = File(str(folder.path), str(_inside(file, inside)), checksums)
                files.setdefault(name, []).append(found)
    if not files:
        problem = f"{path}: no trial of the campaign is in its tables yet"
        hint = "they are written a hundred trials at a time, and at the end"
        raise RequestError(problem, hint)
    return Found(
        [str(folder.path) for folder in manifests],
        files,
        sum(map(_missing, manifests.values())),
        sum(len(manifest["trials"]) for manifest in manifests.values()),
        [str(folder) for folder in deeper],
    )


def _campaigns(path: Path) -> tuple[list[Folder], list[Path]]:
    """The campaigns that lie least deep, and the folders beside them that hold others."""
    for at, depth in enumerate(_DEPTHS):
        if found := [manifest.parent for manifest in sorted(path.glob(f"{depth}{MANIFEST}"))]:
            others = {
                path.joinpath(*manifest.relative_to(path).parts[:at])
                for below in _DEPTHS[at + 1 :]
                if at > 0  # within a campaign's own folder is nobody else's
                for manifest in path.glob(f"{below}{MANIFEST}")
            }
            return [Folder(one) for one in found], sorted(others.difference(found))
    Folder(path).manifest()  # which says what is missing
    return [], []


def _missing(manifest: Mapping[str, Any]) -> int:
    if manifest["complete"]:
        return 0
    digests = manifest.get("digests", ())
    return len(manifest["trials"]) - sum(digest is not None for digest in digests)


def _inside(file: Path, path: Path) -> Path:
    real = file.resolve()
    if not real.is_relative_to(path):
        raise RequestError(f"{file}: leads out of the folder, to {real}")
    return real
