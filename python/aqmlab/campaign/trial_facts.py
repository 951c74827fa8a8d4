"""Facts of a resolved trial that a manifest holds beside its conditions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, structs

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.base.unique_names import without_number
from aqmlab.campaign.store.manifest import DIRECTIONS, Direction, LinkFacts, Manifest, TrialEntry
from aqmlab.engines.trial_spec import AppSpec, LinkSpec, TrialSpec
from aqmlab.scenario import catalogue

_ENCODER = msgspec.json.Encoder(order="deterministic")


def stored_spec(text: str, trial: str) -> TrialSpec:
    """Decodes a resolved trial in a table. Raises `RequestError` if this version cannot read it."""
    try:
        return TrialSpec.read(text)
    except ValueError as error:
        problem = f"the specification of `{shown(trial)}` cannot be read: {shown(str(error))}"
        raise RequestError(problem, "use the version of aqmlab that made it") from None


def links_of(spec: TrialSpec) -> dict[Direction, LinkFacts]:
    """The rate and the discipline of the slowest link that any application uses, by direction.

    Links of a modem are excluded, because users compare settings of the gateway.
    """
    found: dict[Direction, LinkFacts] = {}
    for direction in DIRECTIONS:
        used = {index for app in spec.apps for index in app.route(direction).links}
        links = [spec.links[index] for index in sorted(used)]
        links = [link for link in links if link.name != f"modem-{direction}"]
        if links:
            slowest = min(links, key=lambda link: _mean_bps(link, spec.duration_ns))
            rate_bps = _mean_bps(slowest, spec.duration_ns)
            found[direction] = LinkFacts(rate_bps / 1e6, _queue(slowest, spec, direction))
    return found


def _queue(link: LinkSpec, spec: TrialSpec, direction: Direction) -> str:
    """The name of a link's discipline, and of the program that changes its rate, if any."""
    kinds = catalogue.load()["apps"]
    for app in spec.apps:
        kind = kinds.get(app.app.kind)
        used = [spec.links[index] for index in app.route(direction).links]
        if kind is not None and kind.on_gateway and link.shaper == "cake" and link in used:
            return f"{link.qdisc.kind} + {kind.name}"
    return link.qdisc.kind


def _mean_bps(link: LinkSpec, duration_ns: int) -> float:
    """The mean rate of a link in a trial. The rate of a trace is already a mean."""
    if link.rate_steps is UNSET:
        return link.rate_bps
    starts = [(0, link.rate_bps), *((step.at_ns, step.rate_bps) for step in link.rate_steps)]
    ends = [*(at for at, _ in starts[1:]), duration_ns]
    bits = sum(
        bps * max(0, min(end, duration_ns) - at)
        for (at, bps), end in zip(starts, ends, strict=True)
    )
    return bits / duration_ns


def kinds_of(apps: Iterable[AppSpec]) -> dict[str, str]:
    """The kind of each application of a resolved trial, by the application's name."""
    return {app.name: app.app.kind for app in apps}


def kinds_in(manifest: Manifest, trial: TrialEntry) -> dict[str, str]:
    """The kind of each application of a trial in a manifest. A trial may override the kinds."""
    return {**manifest.apps, **trial.apps}


def trials_with(manifest: Manifest, kind: str) -> dict[str, list[str]]:
    """For each application, the names of the trials in which the application is of `kind`."""
    found: dict[str, list[str]] = {}
    for trial in manifest.trials:
        for app, own in kinds_in(manifest, trial).items():
            if own == kind:
                found.setdefault(app, []).append(trial.id)
    return found


@dataclass(slots=True)
class _Copies:
    """Applications that are copies of each other."""

    stem: str
    names: list[str]
    by_trial: dict[int, bytes]
    """The digest of the application in each trial that has it, by the trial's number."""

    def are_like(self, other: _Copies) -> bool:
        """Returns whether `other` has the same stem and is equal in each trial that has both.

        If no trial has both, at least one digest must be common to both.
        """
        if self.stem != other.stem:
            return False
        if both := self.by_trial.keys() & other.by_trial.keys():
            return all(self.by_trial[one] == other.by_trial[one] for one in both)
        return not set(self.by_trial.values()).isdisjoint(other.by_trial.values())


def group_apps(specs: Iterable[TrialSpec]) -> dict[str, str]:
    """The name of each application in figures, by the application's own name.

    Copies share a name if they differ only in their number and their start. `web-1` to `web-4` are
    `web`, or `web-1 to 4` if another application is called `web-5`. Applications with another path,
    another host or another priority are no copies. Copies may change from trial to trial if all
    copies change together.
    """
    alike: dict[str, dict[int, bytes]] = {}
    for number, spec in enumerate(specs):
        for app in spec.apps:
            text = _text_without_start(app, spec)
            alike.setdefault(app.name, {})[number] = hashlib.sha256(text).digest()
    groups: list[_Copies] = []
    for name, by_trial in alike.items():
        own = _Copies(without_number(name), [name], by_trial)
        found = next((one for one in groups if one.are_like(own)), None)
        if found is None:
            groups.append(own)
        else:
            found.names.append(name)
            found.by_trial |= by_trial
    stems = Counter(one.stem for one in groups)
    shown_names: dict[str, str] = {}
    for one in groups:
        shared, last = one.names[0], one.names[-1]
        if shared != last:
            is_alone = stems[one.stem] == 1
            shared = one.stem if is_alone else f"{shared} to {last.rpartition('-')[2]}"
        shown_names.update(dict.fromkeys(one.names, shared))
    return shown_names


def _text_without_start(app: AppSpec, spec: TrialSpec) -> bytes:
    """Everything about an application except its name and its start, as JSON.

    Each station of a Wi-Fi has its own links. The text therefore holds the properties of the links
    and not their names.
    """
    span_ns = None if app.stop_ns is None else app.stop_ns - app.start_ns
    links = [
        [structs.replace(spec.links[one], name="") for one in app.route(direction).links]
        for direction in DIRECTIONS
    ]
    routes = [structs.replace(app.route(direction), links=()) for direction in DIRECTIONS]
    priority = None if app.priority is UNSET else app.priority
    own = tuple(None if value is UNSET else value for value in (app.host, app.dscp))
    told = (app.app, priority, own, app.home, app.wan, span_ns, links, routes)
    return _ENCODER.encode(told)
