"""The trials that a figure or a claim needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError

if TYPE_CHECKING:
    from aqmlab.planning.plan import Plan, PlannedTrial

Wanted = str | Sequence[str]
"""One value or several values of a condition."""


@dataclass(frozen=True)
class Trials:
    """The trials of a scenario under some conditions.

    A condition that is not named takes all values.

    >>> Trials("home", {"rate": "12/1 Mbit/s", "rtt": ("40 ms", "240 ms")}).scenario
    'home'
    """

    scenario: str
    where: Mapping[str, Wanted] = field(default_factory=dict)

    def of(self, plan: Plan) -> list[PlannedTrial]:
        """The matching trials of a plan; raises `RequestError` for unknown conditions or values."""
        wanted = {name: _several(value) for name, value in self.where.items()}
        for name, values in wanted.items():
            _check(plan, self.scenario, name, values)
        found = list(plan.trials)
        for name, values in wanted.items():
            found = [trial for trial in found if trial.texts[name] in values]
        return found


def _several(value: Wanted) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check(plan: Plan, scenario: str, name: str, values: Sequence[str]) -> None:
    if name not in plan.conditions:
        problem = f"scenario {scenario}: `{name}` does not vary"
        raise RequestError(problem, suggestion(name, plan.conditions))
    known = plan.values_of(name)
    for value in values:
        if value not in known:
            hint = f"there are {', '.join(known)}"
            raise RequestError(f"scenario {scenario}: `{name}` has no value `{value}`", hint)
