"""Refusal to write over a campaign's own files."""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.failures import RequestError

_MANIFEST = "manifest.json"
_ALONE = (_MANIFEST, "catalogue.sql")
_FOLDERS = ("tables", "trials")
_DEPTH = 5


def refuse(path: Path) -> None:
    """Raises `RequestError` if `path` is, or would be, a file of a campaign's own."""
    try:
        whole = path.resolve()
    except (OSError, RuntimeError):  # writing says what is wrong
        return
    for folder in list(whole.parents)[:_DEPTH]:
        if (folder / _MANIFEST).is_file() and _is_own(folder, whole):
            problem = f"{path}: is the place of a file of the campaign in {folder}"
            raise RequestError(problem, "give another name")


def _is_own(folder: Path, path: Path) -> bool:
    first, *rest = path.relative_to(folder).parts
    return first.casefold() in (_FOLDERS if rest else _ALONE)
