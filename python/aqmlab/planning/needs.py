"""The needs that a scenario states: tolerated round-trip times and lowest rates.

Those of the kinds are in the core (`crates/apps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from aqmlab.base.errors import shown
from aqmlab.planning.plan import Plan, PlannedTrial
from aqmlab.scenario import catalogue
from aqmlab.scenario.model import Report


def unused(trials: Iterable[PlannedTrial], report: Report) -> Iterator[str]:
    """Yields a warning for each stated need without an application."""
    names = {app.name for trial in trials for app in trial.spec.apps}
    families = names | {name.rpartition("-")[0] for name in names}
    for key, said in (("tolerances", report.tolerances), ("rates", report.rates)):
        for name in said:
            if name not in families:
                yield f"report.{key}.{shown(name)}: there is no such application"


def stated(trials: Iterable[PlannedTrial], said: Mapping[str, float]) -> dict[str, float]:
    """The facts `said` of applications, by the names of their copies."""
    return {
        app.name: said[family]
        for trial in trials
        for app in trial.spec.apps
        for family in said
        if app.name == family or app.name.rpartition("-")[0] == family
    }


def round_trip_limits_ms(plan: Plan) -> dict[str, float]:
    """The tolerable round-trip time of each application that is judged by it, in milliseconds."""
    of_kinds = {
        kind["name"]: need["tolerable"]
        for kind in catalogue.raw()["apps"]
        for need in kind["needs"]["needs"]
        if need["measure"] == ["rtt_p95_ms"]
    }
    apps = {app.name: app.app.kind for trial in plan.trials for app in trial.spec.apps}
    limits_ms = {name: of_kinds[kind] for name, kind in apps.items() if kind in of_kinds}
    return limits_ms | plan.stated_tolerances
