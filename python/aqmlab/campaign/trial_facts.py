"""Facts of a resolved trial that a manifest holds beside its conditions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.manifest import DIRECTIONS, Direction, LinkFacts, Manifest, TrialEntry
from aqmlab.engines.trial_spec import AppSpec, KindSpec, TrialSpec, members


def stored_spec(text: str, trial: str) -> TrialSpec:
    """The resolved trial that a table holds; `RequestError` if this version cannot read it."""
    try:
        return TrialSpec.read(text)
    except ValueError as error:
        problem = f"the specification of `{shown(trial)}` cannot be read: {shown(str(error))}"
        raise RequestError(problem, "use the version of aqmlab that made it") from None


def links_of(spec: TrialSpec) -> dict[Direction, LinkFacts]:
    """The rate and the discipline of the slowest link of applications, for each direction.

    Links of a modem are excluded, because users compare settings of the gateway.
    """
    found: dict[Direction, LinkFacts] = {}
    for direction in DIRECTIONS:
        used = {index for app in spec.apps for index in app.route(direction).links}
        links = [spec.links[index] for index in sorted(used)]
        links = [link for link in links if link.name != f"modem-{direction}"]
        if links:
            slowest = min(links, key=lambda link: link.rate_bps)
            found[direction] = LinkFacts(slowest.rate_bps / 1e6, slowest.qdisc.kind)
    return found


def kinds_of(apps: Iterable[AppSpec]) -> dict[str, str]:
    """The kind of each application of a resolved trial."""
    return {app.name: app.app.kind for app in apps}


def kinds_in(manifest: Manifest, trial: TrialEntry) -> dict[str, str]:
    """The kind of each application of a trial in a manifest. A trial may override the kinds."""
    return {**manifest.apps, **trial.apps}


def trials_with(manifest: Manifest, kind: str) -> dict[str, list[str]]:
    """The trials in which each application is of a given `kind`, by application."""
    found: dict[str, list[str]] = {}
    for trial in manifest.trials:
        for app, own in kinds_in(manifest, trial).items():
            if own == kind:
                found.setdefault(app, []).append(trial.id)
    return found


def group_apps(apps: Iterable[AppSpec]) -> dict[str, str]:
    """The name of each application in figures.

    Copies that differ only in their number and their start share a name: `web-1` to `web-4`
    are `web`, or `web-1 to 4` if other applications are called `web-5`.
    """
    likes: dict[tuple[str, str], list[str]] = {}
    before: dict[str, tuple[KindSpec, int | None]] = {}
    for app in apps:
        stem, _, number = app.name.rpartition("-")
        stem = stem if re.fullmatch("[0-9]+", number) and stem else app.name
        span_ns = None if app.stop_ns is None else app.stop_ns - app.start_ns
        if before.get(app.name) == (app.app, span_ns):
            continue  # the usual case
        before[app.name] = (app.app, span_ns)
        likeness = json.dumps([members(app.app), span_ns], sort_keys=True)
        names = likes.setdefault((stem, likeness), [])
        if app.name not in names:
            names.append(app.name)
    stems = Counter(stem for stem, _ in likes)
    groups = {}
    for (stem, _), names in likes.items():
        shown = names[0]
        if len(names) > 1:
            shown = stem if stems[stem] == 1 else f"{names[0]} to {names[-1].rpartition('-')[2]}"
        groups.update(dict.fromkeys(names, shown))
    return groups
