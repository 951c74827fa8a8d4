"""The names of the files in a campaign's folder, and of the table of trials.

Readers of single files import this module and not `folder`, which also reads manifests.
"""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.failures import DamagedError
from aqmlab.base.files import special_kind

MANIFEST = "manifest.json"
CATALOGUE = "catalogue.sql"
TABLES = "tables"
ROWS = "rows.parquet"
PARTS = "trials"
LOCK = "lock"
FIGURES = "figures"
"""The folder of the figures beside the report."""
EXPORT = "export"
"""The folder of exported files, unless the user names another folder."""

TRIALS = "trials"
"""The name of the table of trials."""

OF_TRIALS = ("digest", "events", "packets", "spec")
"""The columns of the table `trials` after the leading columns."""


def linked(path: Path, what: str = "folder", of: str = "campaign") -> DamagedError:
    """The error for a link in place of a folder, or other `what`, of the campaign or study."""
    return DamagedError(
        f"{path}: is a link, and not one of the {of}'s {what}s",
        f"remove it: a write to this {what} would change files outside the {of}",
    )


def refuse_links(folder: Path, *places: str, of: str = "campaign") -> None:
    """Raises `DamagedError` for a link to a folder at one of `places`, patterns below `folder`.

    The author of an untrusted folder could choose which files a campaign writes and removes.
    """
    for place in places:
        for path in folder.glob(place):
            if path.is_symlink() and path.is_dir():
                raise linked(path, of=of)


def damaged(folder: Path, path: Path, problem: str) -> DamagedError:
    """The error for a damaged file of the campaign in `folder`, with its remedy."""
    hint = "remove the folder and run the campaign again"
    part = path.parent
    if part == folder / PARTS:
        hint = "run the campaign's command again: it repeats the trials of that file"
        if special_kind(path) is not None:
            hint = f"remove it, and {hint}"
    elif part.parent.parent == folder / TABLES:
        hint = (
            f"remove {folder / TABLES}/*/{part.name} and run the campaign's command"
            " again: it repeats the trials of that part, and keeps the others"
        )
    return DamagedError(f"{path}: is damaged: {problem}", hint)
