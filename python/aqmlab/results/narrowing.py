"""A subset of a campaign's trials, and the manifest for that subset."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import structs

from aqmlab.base.errors import shown, suggestion
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.manifest import Manifest, TrialEntry, digest_of


def trials_named(trials: Sequence[TrialEntry], names: Collection[str]) -> list[TrialEntry]:
    """The trials of these names, in the campaign's order.

    Raises `RequestError` for an unknown name, and for a text instead of a collection of names.
    """
    if isinstance(names, str):
        problem = f"`{shown(names)}` is a text, not a list of trial names"
        raise RequestError(problem, f'write ["{shown(names)}"] for one trial')
    known = {trial.id: trial for trial in trials}
    for name in names:
        if name not in known:
            problem = f"unknown trial `{shown(name)}`"
            raise RequestError(problem, suggestion(str(name), known))
    wanted = set(names)
    return [trial for name, trial in known.items() if name in wanted]


def of_trials(manifest: Manifest, own: Sequence[TrialEntry]) -> Manifest:
    """The manifest with only the trials `own`, without the sums `events` and `packets`."""
    names = [trial.id for trial in own]
    failed = {name: manifest.failed[name] for name in names if name in manifest.failed}
    some = structs.replace(manifest, trials=tuple(own), failed=failed, events=None, packets=None)
    if manifest.digests is None:
        return some
    known = manifest.digest_by_trial()
    return with_digests(some, [known[name] for name in names])


def with_digests(manifest: Manifest, digests: Sequence[str | None]) -> Manifest:
    """The manifest with these digests of its trials, and with `complete` and `digest` to match."""
    complete = bool(digests) and None not in digests
    names = (trial.id for trial in manifest.trials)
    digest = digest_of(names, digests) if complete else None
    return structs.replace(manifest, digests=tuple(digests), complete=complete, digest=digest)
