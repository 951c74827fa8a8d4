"""The combinations of the values of loops, each with its scenario and its resolved trial.

`scenario.sweep` lists the combinations. The trials have no seed yet; `planner` makes one trial for
each seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.engines import registry
from aqmlab.engines.engine import Refusal
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning import source_map
from aqmlab.planning.lowering import Resolved, resolve
from aqmlab.scenario import conflicts, merge, sweep
from aqmlab.scenario.applications import App
from aqmlab.scenario.merge import Layer
from aqmlab.scenario.model import Scenario, build


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a plan. `build` permits them to build the program that checks trials."""

    names: tuple[str, ...]
    build: bool

    def refusal(self, spec: TrialSpec) -> Refusal | None:
        """The first reason why one of the engines cannot run a trial, if there is one."""
        asked = (registry.engine(name).refusal(spec, build=self.build) for name in self.names)
        return next(filter(None, asked), None)


def _refuse(scenario: Scenario, spec: TrialSpec, layer: Layer, engines: Engines) -> None:
    """Raises `ScenarioError` if one of the engines cannot run a trial."""
    refusal = engines.refusal(spec)
    if refusal is not None:
        where = layer.where(source_map.in_scenario(scenario, spec, refusal.at))
        raise ScenarioError(where, refusal.problem, refusal.hint)


def loop_place(layer: Layer, name: str) -> str:
    """The location of a loop, for messages about the loop's values."""
    return layer.where(("vary", name)).partition(": ")[0]


def check_whole(layer: Layer) -> Scenario:
    """Builds the scenario of `layer`.

    If the scenario is incomplete without its loops, the first step of each loop completes it.
    Raises `ScenarioError` if it is still invalid.
    """
    try:
        return build(layer)
    except ScenarioError as error:
        try:
            all_loops = sweep.loops(layer.data.get("vary") or {})
            first = layer
            for loop in all_loops:
                place = loop_place(layer, loop.name)
                for address, value in loop.steps[0].changes:
                    first = merge.merge(first, merge.from_address(address, value, place))
            first.data["vary"] = layer.data.get("vary") or {}
            return build(first)
        except (ScenarioError, BadValueError, AttributeError):
            raise error from None


class Combinations:
    """A scenario, the values of its loops, and the assignments of options, which override both.

    `folder` holds the scenario's delivery traces.
    """

    def __init__(self, layer: Layer, fixed: Layer, folder: Path) -> None:
        self._layer, self._fixed = layer, fixed
        self.folder = folder
        self._made: dict[tuple[str, int], Layer] = {}
        tables = layer.data.get("apps")
        self._own = set(map(id, tables.values())) if isinstance(tables, dict) else set()
        self._checked: dict[int, App] = {}

    def at(self, point: sweep.Point) -> Layer:
        """The layer of the combination `point`."""
        layer = self._layer
        for change in conflicts.in_order(self.of(*change) for change in point.changes):
            layer = merge.merge(layer, change)
        return merge.merge(layer, self._fixed) if self._fixed.data else layer

    def scenario(self, layer: Layer) -> Scenario:
        """The scenario of a layer. An application that no loop varies is checked only once."""
        tables = layer.data["apps"]
        if not isinstance(tables, dict):
            return build(layer)
        known = {name: self._checked.get(id(table), table) for name, table in tables.items()}
        scenario = build(Layer({**layer.data, "apps": known}, layer.origins, layer.source))
        for name, table in tables.items():
            if id(table) in self._own:  # only unvaried applications are cached
                self._checked[id(table)] = scenario.apps[name]
        return scenario

    def of(self, address: str, value: Any) -> Layer:
        """The layer that sets `address` to a value of a loop, cached for later combinations."""
        key = (address, id(value))  # the loops hold their values, so the id is unique
        if key not in self._made:
            place = loop_place(self._layer, address)
            self._made[key] = merge.from_address(address, value, place)
        return self._made[key]


def resolve_point(changes: Combinations, point: sweep.Point, engines: Engines) -> Resolved:
    """The trial of one combination; raises `ScenarioError` if an engine cannot run it."""
    layer = changes.at(point)
    scenario = changes.scenario(layer)
    try:
        resolved = resolve(scenario, changes.folder)
    except ScenarioError as error:
        raise error.at(layer.where(tuple(error.where.split(".")))) from None
    _refuse(scenario, resolved.spec, layer, engines)
    return resolved
