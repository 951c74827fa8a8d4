"""Protects a campaign's own files from exports and answers that would replace them."""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.layout import CATALOGUE, MANIFEST, PARTS, TABLES

_ALONE = (MANIFEST, CATALOGUE)
_FOLDERS = (TABLES, PARTS)
_DEPTH = 5


def refuse(path: Path) -> None:
    """Raises `RequestError` if `path` is reserved for a campaign's own files."""
    try:
        whole = path.resolve()
    except (OSError, RuntimeError):  # the later write reports the error
        return
    for folder in list(whole.parents)[:_DEPTH]:
        if (folder / MANIFEST).is_file() and _is_own(folder, whole):
            problem = f"{path}: is reserved for a file of the campaign in {folder}"
            raise RequestError(problem, "use another name")


def _is_own(folder: Path, path: Path) -> bool:
    first, *rest = path.relative_to(folder).parts
    return first.casefold() in (_FOLDERS if rest else _ALONE)
