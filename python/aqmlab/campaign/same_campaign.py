"""Checks that a folder belongs to a campaign.

A campaign's folder holds trials by name, and trials of two campaigns may have equal names. The
campaign's key distinguishes campaigns. It is a digest of everything on which the trials depend.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import DiskError, RequestError
from aqmlab.base.numerals import count_text
from aqmlab.campaign.store import own_files
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import MANIFEST
from aqmlab.campaign.store.manifest import Manifest
from aqmlab.engines import registry

if TYPE_CHECKING:
    from aqmlab.campaign.runner import Campaign


def refuse_other(campaign: Campaign, folder: Folder, remove: Path | None = None) -> None:
    """Raises `RequestError` if `folder` cannot belong to `campaign`.

    It is then a file, the folder of another campaign, a folder within the tables or trial files of
    another campaign, or a folder with results and no manifest. The hint suggests removing the path
    `remove`, or the folder if `remove` is absent. Raises `DiskError` if the folder cannot be
    examined.
    """
    hint = f"give another folder with `--out DIR`, or remove {remove or 'this one'}"
    try:
        in_the_way = folder.path.exists() and not folder.path.is_dir()
        is_new = not folder.exists()
    except OSError as error:
        raise DiskError.of(error, folder.path) from None
    if in_the_way:
        raise RequestError(
            f"{folder.path}: is a file, not a folder", "give another with `--out DIR`"
        )
    own_files.refuse_folder(folder.path)
    if is_new:
        if folder.holds_results():
            raise RequestError(f"{folder.path}: holds results, but no {MANIFEST}", hint)
        return
    manifest = folder.manifest()
    if manifest.campaign == campaign.key:
        return
    raise RequestError(f"{folder.path}: holds another campaign: {_told(campaign, manifest)}", hint)


def _told(campaign: Campaign, manifest: Manifest) -> str:
    """Describes the campaign in a folder, as text for an error.

    If `campaign` has another engine or version, the text also names these. Otherwise, if name and
    command are equal, it adds that the scenario has changed.
    """
    about = campaign.about
    made_by = registry.made_by(manifest.engine, manifest.versions)
    own = registry.made_by(campaign.engine, about.versions)
    told = (
        f"{manifest.name}, {count_text(len(manifest.trials), 'trial')},"
        f" made by `{manifest.command}` with {made_by}"
    )
    if made_by != own:
        return f"{told}; this is {own}"
    alike = (manifest.name, manifest.command) == (about.name, about.command)
    return f"{told}; the scenario has changed since" if alike else told
