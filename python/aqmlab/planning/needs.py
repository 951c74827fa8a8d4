"""The needs that a scenario states: tolerated round-trip times and lowest rates.

The needs of each kind of application are in `crates/apps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from aqmlab.base.errors import shown
from aqmlab.planning.plan import PlannedTrial
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
    """The value of each application of `trials`. In `said`, a value may belong to all copies."""
    return {
        app.name: said[family]
        for trial in trials
        for app in trial.spec.apps
        for family in said
        if app.name == family or app.name.rpartition("-")[0] == family
    }
