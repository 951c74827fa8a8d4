"""The campaigns in a folder and the files of their tables.

The asking process finds them while the answering process starts, so the answering process reads no
manifests.
"""

from __future__ import annotations

from pathlib import Path

from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import Folder
from aqmlab.campaign.store.layout import MANIFEST
from aqmlab.campaign.store.snapshot import take
from aqmlab.results.query.sources import CampaignTables, File

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""The prefixes of the glob patterns that find campaigns, from the folder itself downwards.

The campaigns of a study are two folders below the study's results folder.
"""


def find(path: Path) -> CampaignTables:
    """The campaign in a folder, or the campaigns at the least depth below it that has any.

    Raises `RequestError` if there is no campaign, or if no campaign has table files yet.
    """
    campaigns, deeper = _campaigns(path)
    snapshots = {folder: take(folder, whole=False) for folder in campaigns}
    files: dict[str, list[File]] = {}
    for folder, snapshot in snapshots.items():
        own = snapshot.files
        for name in own.names:
            for file, checksums in own.recorded(name):
                found = File(str(folder.path), str(file), checksums)
                files.setdefault(name, []).append(found)
    if not files:
        problem = f"{path}: the tables of the campaign hold no trial yet"
        hint = "tables are written every hundred trials and at the end"
        raise RequestError(problem, hint)
    return CampaignTables(
        [str(folder.path) for folder in snapshots],
        files,
        sum(len(one.manifest.trials) - len(one.in_tables) for one in snapshots.values()),
        sum(len(one.manifest.trials) for one in snapshots.values()),
        [str(folder) for folder in deeper],
    )


def _campaigns(path: Path) -> tuple[list[Folder], list[Path]]:
    """The campaigns at the least depth, and the folders beside them that hold deeper campaigns.

    Raises `RequestError` if there is no campaign.
    """
    for at, depth in enumerate(_DEPTHS):
        if found := [manifest.parent for manifest in sorted(path.glob(f"{depth}{MANIFEST}"))]:
            others = {
                path.joinpath(*manifest.relative_to(path).parts[:at])
                for below in _DEPTHS[at + 1 :]
                if at > 0  # The folder of a campaign holds no other campaign.
                for manifest in path.glob(f"{below}{MANIFEST}")
            }
            return [Folder(one) for one in found], sorted(others.difference(found))
    Folder(path).manifest()  # Raises an error that names the missing file.
    return [], []
