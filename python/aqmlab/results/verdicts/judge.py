"""Verdicts on each application of a campaign, from the tables.

A tolerance that the scenario states (`report.tolerances`, `report.rates`) replaces the limit of the
kind. `criteria.Criterion.word` compares a value with its limits.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aqmlab.campaign.store.manifest import Manifest, TrialEntry
from aqmlab.campaign.trial_facts import kinds_in
from aqmlab.results.export import FlowNumbers, trials_alone
from aqmlab.results.labels import Label
from aqmlab.results.verdicts.criteria import TIME, checks_for, is_transfer
from aqmlab.results.verdicts.transfers import Speeds, TransferTime
from aqmlab.results.verdicts.verdict import Criterion, Finding, Measured, Verdict

if TYPE_CHECKING:
    from aqmlab.results.results import CampaignResults


def judge(results: CampaignResults) -> list[Verdict]:
    """The verdict for every application in every condition, in the campaign's order."""
    entries = {trial.id: trial for trial in results.manifest.trials}
    kinds: dict[tuple[Label, str], str] = {}
    checks: dict[tuple[Label, str], tuple[Criterion, ...]] = {}
    values: dict[tuple[Label, str], list[_Seed]] = defaultdict(list)
    for part in results.by_chunk():
        speeds = Speeds(part)
        for trial in trials_alone(part):
            label, found = results.labels[trial["id"]], _measured(trial["flows"])
            entry = entries[trial["id"]]
            own_kinds = kinds_in(results.manifest, entry)
            transfers = {app for app in found.keys() & own_kinds if is_transfer(own_kinds[app])}
            if transfers:
                for app, speed in speeds.of(trial, transfers).items():
                    found[app] |= speed
            for app, measured in found.items():
                if app in own_kinds:
                    key = label, app
                    if key not in checks:
                        kinds[key] = own_kinds[app]
                        checks[key] = _checks(results.manifest, entry, app)
                    values[key].append(_Seed.of(measured, checks[key]))
    return [
        Verdict(*key, kinds[key], _findings(checks[key], seeds), len(seeds), _duration(seeds))
        for key, seeds in values.items()
    ]


def _checks(manifest: Manifest, trial: TrialEntry, app: str) -> tuple[Criterion, ...]:
    """The needs of an application in a trial. A trial may override the limits of its campaign."""
    limits_ms, rates_mbit = trial.stated_tolerances_ms, trial.stated_rates_mbit
    if limits_ms is None:
        limits_ms = manifest.stated_tolerances_ms
    if rates_mbit is None:
        rates_mbit = manifest.stated_rates_mbit
    return checks_for(kinds_in(manifest, trial)[app], limits_ms.get(app), rates_mbit.get(app))


@dataclass(frozen=True, slots=True)
class _Seed:
    """The values of an application in one trial that a verdict needs, and no others."""

    values: tuple[float | None, ...]
    """The values that its checks use."""
    duration: TransferTime | None

    @classmethod
    def of(cls, measured: Measured, checks: Sequence[Criterion]) -> _Seed:
        took_ms, projected_ms = measured.get("took_ms"), measured.get("projected_ms")
        ms, size_bytes = took_ms or projected_ms, measured.get("size_bytes")
        is_judged = took_ms is not None and TIME in checks and TIME.value(measured) is not None
        duration = None
        if ms and size_bytes and not is_judged:  # Otherwise the time would appear twice.
            duration = TransferTime(int(size_bytes), ms, took_ms is None)
        return cls(tuple(check.value(measured) for check in checks), duration)


def _measured(flows: Sequence[FlowNumbers]) -> dict[str, dict[str, float | None]]:
    """The measurements of each application: its own, and the worst of its flows that carry data."""
    found: dict[str, dict[str, float | None]] = {}
    for flow in flows:
        own = found.setdefault(flow["name"], dict(flow["app"]))
        if flow["primary"]:
            own["flow_rtt_p95_ms"] = _larger(own.get("flow_rtt_p95_ms"), flow["rtt_ms"]["p95"])
            own["flow_loss_percent"] = _larger(own.get("flow_loss_percent"), flow["loss_percent"])
            rates = (own.get("flow_rate_mbit"), flow["throughput_mbit"]["mean"])
            own["flow_rate_mbit"] = min((mbit for mbit in rates if mbit is not None), default=None)
    return found


def _findings(checks: Sequence[Criterion], seeds: Sequence[_Seed]) -> tuple[Finding, ...]:
    by_check = zip(*(seed.values for seed in seeds), strict=True)
    return tuple(map(_find, checks, by_check))


def _find(check: Criterion, seeds: Sequence[float | None]) -> Finding:
    values = [value for value in seeds if value is not None]
    if not values:
        return Finding(check, None)
    return Finding(check, statistics.median(values), min(values), max(values))


def _duration(seeds: Sequence[_Seed]) -> TransferTime | None:
    """The median over seeds; marked as projected if any seed is."""
    known = [seed.duration for seed in seeds if seed.duration is not None]
    if not known:
        return None
    times_ms = [one.ms for one in known]
    return TransferTime(
        known[0].size_bytes,
        statistics.median(times_ms),
        any(one.projected for one in known),
        min(times_ms),
        max(times_ms),
    )


def _larger(one: float | None, other: float | None) -> float | None:
    return max((value for value in (one, other) if value is not None), default=None)
