"""Resolves scenarios to trials in the simulator's form: all values explicit and in base units."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import (
    MeasureSpec,
    TrialSpec,
)
from aqmlab.planning.apps_spec import lowered_apps, start_warnings
from aqmlab.planning.links_spec import TraceReader, lowered_links, target_warnings
from aqmlab.planning.unlikely import unlikely
from aqmlab.scenario.model import Measure, Scenario
from aqmlab.scenario.quantities import Duration


@dataclass(frozen=True, slots=True)
class Resolved:
    """A trial with the seed 0, and its warnings."""

    spec: TrialSpec
    warnings: tuple[str, ...] = ()


def rtt_base_ms(spec: TrialSpec) -> dict[str, float]:
    """The round-trip propagation delay of each application of a trial, in milliseconds."""
    return {app.name: (app.up.delay_ns + app.down.delay_ns) / 1e6 for app in spec.apps}


def resolve(scenario: Scenario, folder: Path = Path()) -> Resolved:
    """The trial of `scenario` without its loops. `folder` holds the scenario's delivery traces.

    Raises `ScenarioError` if values are valid separately but not in combination.
    """
    duration_ns = scenario.duration.ns
    warnings: list[str] = []
    links = lowered_links(scenario.path, TraceReader(folder, duration_ns))
    apps = lowered_apps(scenario, links)
    spec = TrialSpec(
        seed=0,
        duration_ns=duration_ns,
        links=links,
        apps=apps,
        measure=measure(scenario.measure, duration_ns, warnings),
        host_jitter_ns=scenario.path.host_jitter.ns,
        start_jitter_ns=scenario.path.start_jitter.ns,
    )
    own = (*start_warnings(spec, scenario), *target_warnings(links), *warnings)
    return Resolved(spec, (*own, *unlikely(spec)))


def measure(stated: Measure, duration_ns: int, warnings: list[str]) -> MeasureSpec:
    """The settings of measurement `stated` in the form of a resolved trial of `duration_ns`.

    If the statistics interval ends after the trial, the function adds a warning to `warnings`.
    Raises `ScenarioError` if the interval does not begin before the end of the trial.
    """
    from_ns = stated.from_.ns
    to_ns = stated.to.ns if stated.to is not None else None
    end = Duration(duration_ns)
    if from_ns >= duration_ns:
        raise ScenarioError(
            "measure.from",
            f"`{stated.from_}` is not before the end of the trial, {end}",
            "make the trial longer, or set measure.from",
        )
    if to_ns is not None and to_ns > duration_ns:
        warnings.append(
            f"measure.to is {stated.to}, after the end of the trial; statistics end at {end}"
        )
        to_ns = duration_ns
    return MeasureSpec(
        enabled=stated.enabled,
        from_ns=from_ns,
        to_ns=to_ns,
        window_ns=stated.window.ns,
        step_ns=stated.step.ns,
        sample_ns=stated.sample.ns,
        packets=stated.packets,
        series=stated.series,
        points=stated.points,
    )
