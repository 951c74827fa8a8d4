"""Protects a campaign's own files from exports and answers that would replace them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from aqmlab.base.failures import RequestError
from aqmlab.base.files import open_regular
from aqmlab.campaign.store.layout import CATALOGUE, MANIFEST, PARTS, TABLES

_ALONE = (MANIFEST, CATALOGUE)
_FOLDERS = (TABLES, PARTS)
_KEYS = {"format", "campaign", "trials"}
"""Members that every manifest of a campaign has, and other programs' manifests hardly have."""

_MOST_READ_BYTES = 2**26
"""The largest manifest whose members are read; a manifest of 100,000 trials has about 40 MB."""


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
    folder = _owner(path, is_folder=True)
    if folder is not None:
        problem = f"{path}: is reserved for files of the campaign in {folder}"
        raise RequestError(problem, "use another folder")


def _owner(path: Path, *, is_folder: bool = False) -> Path | None:
    """The folder of the campaign that reserves the file `path`, if any.

    If `path` is a folder, the campaign reserves all files in it.
    """
    try:
        whole = path.resolve()
    except (OSError, RuntimeError):  # the later write reports the error
        return None
    for folder in whole.parents:
        first, *rest = whole.relative_to(folder).parts
        reserved = _FOLDERS if rest or is_folder else _ALONE
        if first.casefold() in reserved and _is_campaign(folder):
            return folder
    return None


def _is_campaign(folder: Path) -> bool:
    """Returns whether a campaign has written in `folder`, even if its manifest is damaged.

    Other programs have files of the same name, such as the extensions of browsers.
    """
    try:
        if not (folder / MANIFEST).is_file():
            return False
        keys = _keys_of(folder / MANIFEST)
        if keys is not None and keys >= _KEYS:
            return True
        beside = (CATALOGUE,) if keys is not None else (CATALOGUE, TABLES, PARTS)
        return any((folder / name).exists() for name in beside)
    except OSError:  # the user may not search the folder
        return False


def _keys_of(manifest: Path) -> set[str] | None:
    """The keys of a JSON object; `None` if the file is too large, unreadable or no such object."""
    try:
        with open_regular(manifest) as file:
            if os.fstat(file.fileno()).st_size > _MOST_READ_BYTES:
                return None
            text = file.read()
        return set(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
    except (OSError, ValueError, RecursionError):  # errors of `msgspec` are `ValueError`
        return None
