"""Whether a folder is a campaign's own.

A campaign's folder holds its trials by their names, and trials of two campaigns may be called
alike: what they are is known by the campaign's key, which folds all that they depend on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.failures import DiskError, RequestError
from aqmlab.campaign.store.folder import MANIFEST, Folder
from aqmlab.engines import registry

if TYPE_CHECKING:
    from aqmlab.campaign.runner import Campaign


def refuse_other(campaign: Campaign, folder: Folder, remove: Path | None = None) -> None:
    """Raises `RequestError` if `folder` holds anything but `campaign`, or what is left of it.

    `remove` is what to remove for a fresh start, the folder itself if absent.
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
    if is_new:
        if folder.holds_results():
            raise RequestError(f"{folder.path}: holds results, but no {MANIFEST}", hint)
        return
    manifest = folder.manifest()
    if manifest["campaign"] == campaign.key:
        return
    raise RequestError(f"{folder.path}: holds another campaign: {_told(campaign, manifest)}", hint)


def _told(campaign: Campaign, manifest: dict[str, Any]) -> str:
    """What a folder holds, and how that differs from `campaign` where it does not show."""
    name, command = manifest.get("name", "?"), manifest.get("command", "?")
    made_by = registry.made_by(str(manifest.get("engine", "sim")), manifest["versions"])
    own = registry.made_by(campaign.engine, campaign.about["versions"])
    told = f"{name}, {len(manifest['trials'])} trials, made by `{command}` with {made_by}"
    if made_by != own:
        return f"{told}; this is {own}"
    alike = (name, command) == (campaign.about["name"], campaign.about["command"])
    return f"{told}; the scenario has changed since" if alike else told
