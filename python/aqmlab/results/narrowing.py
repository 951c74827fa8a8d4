"""A subset of a campaign's trials, and the manifest for that subset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.folder import Trial, digest_of

_OF_ALL = ("events", "packets")
"""Members of a manifest that are sums over all trials."""


def trials_named(trials: Sequence[dict[str, Any]], names: Collection[str]) -> list[dict[str, Any]]:
    """The trials of these names, in the campaign's order; raises `RequestError` for others."""
    if isinstance(names, str):
        problem = f"`{shown(names)}` is a text, not a list of trial names"
        raise RequestError(problem, f'write ["{shown(names)}"] for one trial')
    known = {trial["id"]: trial for trial in trials}
    for name in names:
        if name not in known:
            problem = f"unknown trial `{shown(name)}`"
            raise RequestError(problem, suggestion(str(name), known))
    wanted = set(names)
    return [trial for name, trial in known.items() if name in wanted]


def of_trials(manifest: dict[str, Any], own: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of a campaign with only these trials."""
    names = [trial["id"] for trial in own]
    told = {name: value for name, value in manifest.items() if name not in _OF_ALL}
    failed = manifest.get("failed", {})
    told |= {"trials": list(own), "failed": {one: failed[one] for one in names if one in failed}}
    if (digests := manifest.get("digests")) is None:
        return told
    known = dict(zip((one["id"] for one in manifest["trials"]), digests, strict=True))
    found = [known[name] for name in names]
    complete = bool(found) and None not in found
    return told | {
        "digests": found,
        "complete": complete,
        "digest": digest_of_entries(own, found) if complete else None,
    }


def digest_of_entries(trials: Sequence[dict[str, Any]], digests: Sequence[str | None]) -> str:
    """The digest of the given trials, which may come from several manifests."""
    known = [
        Trial(index, one["id"], one["seed"], one["conditions"], "", recorded=one["spec"])
        for index, one in enumerate(trials)
    ]
    return digest_of(known, digests)
