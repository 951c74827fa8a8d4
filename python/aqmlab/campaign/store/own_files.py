"""Protects a campaign's own files from exports and answers that would replace them."""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.layout import CATALOGUE, MANIFEST, PARTS, TABLES

_ALONE = (MANIFEST, CATALOGUE)
_FOLDERS = (TABLES, PARTS)


def refuse(path: Path) -> None:
    """Raises `RequestError` if `path` is reserved for a campaign's own files."""
    folder = _owner(path)
    if folder is not None:
        problem = f"{path}: is reserved for a file of the campaign in {folder}"
        raise RequestError(problem, "use another name")


def refuse_folder(path: Path) -> None:
    """Raises `RequestError` if a file in the folder `path` would be among a campaign's own files.

    Verification refuses every other file there, so the campaign could no longer be read.
    """
    folder = _owner(path / "file")
    if folder is not None:
        problem = f"{path}: is reserved for files of the campaign in {folder}"
        raise RequestError(problem, "use another folder")


def _owner(path: Path) -> Path | None:
    """The folder of the campaign that reserves `path`, if any."""
    try:
        whole = path.resolve()
    except (OSError, RuntimeError):  # the later write reports the error
        return None
    for folder in whole.parents:
        if _is_campaign(folder) and _is_own(folder, whole):
            return folder
    return None


def _is_campaign(folder: Path) -> bool:
    try:
        return (folder / MANIFEST).is_file()
    except OSError:  # the user may not search the folder
        return False


def _is_own(folder: Path, path: Path) -> bool:
    first, *rest = path.relative_to(folder).parts
    return first.casefold() in (_FOLDERS if rest else _ALONE)
