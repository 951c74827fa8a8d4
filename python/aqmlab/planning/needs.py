"""The needs that a scenario states: tolerated round-trip times, lowest rates and requirements.

The needs of each kind of application are in `crates/apps`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from aqmlab.base.errors import shown
from aqmlab.base.unique_names import without_number
from aqmlab.planning.plan import PlannedTrial
from aqmlab.scenario.model import Report

_Stated = TypeVar("_Stated")


def unused(trials: Iterable[PlannedTrial], report: Report) -> Iterator[str]:
    """Yields a warning for each stated need that matches no application."""
    known: set[str] = set()
    for trial in trials:
        names = _names(trial)
        known |= names | {_family(name, names) for name in names}
    for key in ("tolerances", "rates", "requirements"):
        for name in getattr(report, key):
            if name not in known:
                yield f"report.{key}.{shown(name)}: there is no such application"


def stated(trials: Iterable[PlannedTrial], said: Mapping[str, _Stated]) -> dict[str, _Stated]:
    """The values that a scenario states for applications of `trials`, by the application's name.

    `said` holds the values as the scenario states them: each for one application, or for all copies
    of an application. The value of a single copy takes precedence.
    """
    found: dict[str, _Stated] = {}
    for trial in trials if said else ():
        names = _names(trial)
        for app in trial.spec.apps:
            family = _family(app.name, names)
            if app.name in said:
                found[app.name] = said[app.name]
            elif family in said:
                found[app.name] = said[family]
    return found


def _names(trial: PlannedTrial) -> set[str]:
    return {app.name for app in trial.spec.apps}


def _family(name: str, names: Collection[str]) -> str:
    """The application of which `name` is a numbered copy. For any other name, `name` itself.

    If copies exist, no application has the name without a number (`apps_spec`).
    """
    plain = without_number(name)
    return name if plain in names else plain
