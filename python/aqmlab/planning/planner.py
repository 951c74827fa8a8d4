"""Plans the trials of a source.

A source is the name of a built-in scenario or household, a TOML file of either, a TEACUP config, a
`Scenario` or a `Household`. A plan is complete: all trials are resolved. Errors are therefore found
before the first trial runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.engines import registry
from aqmlab.households import loading as households
from aqmlab.households.household import Household
from aqmlab.households.loading import FoundHousehold
from aqmlab.households.traffic import scenario_of
from aqmlab.planning import household_changes, teacup_reader
from aqmlab.planning.combinations import (
    Combinations,
    Engines,
    check_whole,
    loop_place,
    resolve_point,
)
from aqmlab.planning.needs import stated, unused
from aqmlab.planning.overrides import (
    Assignment,
    Variation,
    checked_seeds,
    refuse_unknown_app,
    with_vary,
)
from aqmlab.planning.plan import MOST_RESOLVED, Plan, PlannedTrial, Seedless
from aqmlab.planning.without_defaults import without_defaults
from aqmlab.scenario import conflicts, merge, sweep, toml_writer
from aqmlab.scenario import seeds as seed_numbers
from aqmlab.scenario.column_names import TrialNames
from aqmlab.scenario.fields import plain
from aqmlab.scenario.loading import Found, builtin_names, find
from aqmlab.scenario.merge import Layer
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.notation import Table
from aqmlab.scenario.quantities import Duration

Source = str | Path | Scenario | Household


def load(
    source: Source,
    sets: Sequence[Assignment] = (),
    vary: Sequence[Variation] = (),
    seeds: Any = None,
    duration: str | Duration | None = None,
    engine: str = "sim",
    build: bool = True,
) -> Plan:
    """Plans `source` with the changes `sets` and `vary`.

    `seeds` is a number of repetitions or a list ("3-7"). Each of several engines ("sim,kernel")
    runs every trial, and the engine becomes an additional condition. If `build` is false, an engine
    without its checker builds no checker, and refuses only unsupported kinds. Raises
    `ScenarioError` for a source that cannot be planned.
    """
    engines = Engines(registry.named(engine), build)
    if build and registry.unbuilt(engines.names):
        # A build takes minutes, so unsupported kinds are refused before the build.
        load(source, sets, vary, seeds, duration, engine, build=False)
    asked = _Requested(tuple(sets), tuple(vary), seeds, duration, engines)
    return _on_engines(_planned(source, asked), engines.names)


def _planned(source: Source, asked: _Requested) -> Plan:
    if isinstance(source, Household):
        return _of_household(FoundHousehold(source, "", "", ""), asked)
    if isinstance(source, Scenario):
        return _from_layer(_found_value(source), asked)
    if Path(source).suffix == teacup_reader.SUFFIX:
        own = (asked.sets, asked.vary, asked.seeds, asked.duration)
        plan = teacup_reader.load(Path(source), *own)
        _refuse_config(plan, asked.engines)
        return plan
    if str(source) not in builtin_names():
        found = households.find_among_scenarios(source)
        if found is not None:
            return _of_household(found, asked)
    return _from_layer(find(source), asked)


def _found_value(scenario: Scenario) -> Found:
    layer = merge.expand(Layer(scenario.to_dict()))
    return Found(layer, _slug(scenario.title), "", "")


def _of_household(found: FoundHousehold, asked: _Requested) -> Plan:
    """Plans the scenario of a household, after the changes of the household itself."""
    household_changes.refuse_varied(asked.vary)
    household = household_changes.changed(found.household, asked.sets)
    asked = replace(asked, sets=household_changes.of_scenario(asked.sets))
    made = _found_value(scenario_of(household))
    if found.source:
        layer = replace(made.layer, source=Path(found.source).name)
        made = Found(layer, found.name, found.source, found.text)
    plan = _from_layer(made, asked)
    told = household_changes.queue_warnings(household, asked.sets, asked.vary)
    return replace(plan, warnings=(*plan.warnings, *told))


@dataclass(frozen=True, slots=True)
class _Requested:
    """The user's changes of a source, and the engines."""

    sets: tuple[Assignment, ...]
    vary: tuple[Variation, ...]
    seeds: Any
    duration: str | Duration | None
    engines: Engines


# --- Engines ---------------------------------------------------------------------------------


def _on_engines(plan: Plan, names: Sequence[str]) -> Plan:
    """Repeats the trials of `plan` for each of its engines."""
    if len(names) == 1:
        return replace(plan, trials=tuple(replace(one, engine=names[0]) for one in plan.trials))
    trials = []
    taken = TrialNames()
    # The engines of one condition are adjacent, each with all seeds.
    for _, group in itertools.groupby(plan.trials, key=lambda one: one.conditions):
        for name, one in itertools.product(names, list(group)):
            conditions = {**one.conditions, "engine": name}
            own_id = taken.of(conditions, one.seed)
            trials.append(replace(one, id=own_id, conditions=conditions, engine=name))
    return replace(plan, trials=tuple(trials), conditions=(*plan.conditions, "engine"))


def _refuse_config(plan: Plan, engines: Engines) -> None:
    """Raises `ScenarioError` if an engine refuses a trial of a TEACUP config.

    The error names the trial, not a line.
    """
    for trial in plan.trials:
        refusal = engines.refusal(trial.spec)
        if refusal is not None:
            where = f"{plan.source}: trial {trial.id}: {'.'.join(map(str, refusal.at))}"
            raise ScenarioError(where, refusal.problem, refusal.hint)


def _from_layer(found: Found, asked: _Requested) -> Plan:
    layer = found.layer
    fixed: list[_Set] = []
    for one in asked.sets:
        change = merge.from_address(one.address, one.value, "--set")
        fixed.append(_Set(f"--set {one.address}", change))
        refuse_unknown_app(layer, one.address, "--set")
        merge.refuse_unknown_removals(layer, change)
    if asked.duration is not None:
        change = merge.from_address("duration", plain(asked.duration), "--duration")
        fixed.append(_Set("--duration", change))
    for varied in asked.vary:
        refuse_unknown_app(layer, varied.address, "--vary")
        _refuse_both(varied, fixed)
    over = merge.combine(conflicts.choosing_first(one.layer for one in fixed))
    layer = with_vary(merge.merge(layer, over), asked.vary)
    if asked.seeds is not None:
        layer = merge.merge(layer, Layer({"seeds": checked_seeds(asked.seeds)}))
    plan = _plan(found._replace(layer=layer), over, asked.engines)
    vary = layer.data.get("vary") or {}
    own = {one.address for one in asked.vary}
    of_file = {name: values for name, values in vary.items() if name not in own}
    return replace(plan, warnings=(*plan.warnings, *_overridden(of_file, fixed)))


class _Set(NamedTuple):
    """The change by an option such as `--set`, and the option for messages."""

    option: str
    layer: Layer


def _refuse_both(varied: Variation, fixed: Iterable[_Set]) -> None:
    """Raises `ScenarioError` if an option sets a parameter that `--vary` varies."""
    for value in varied.values:
        change = merge.from_address(varied.address, value, "--vary")
        for one in fixed:
            if conflicts.overlap(change, one.layer):
                problem = f"`{shown(varied.address)}` is both set and varied"
                if one.option != f"--set {varied.address}":
                    problem += f": {shown(one.option)} also sets it"
                raise ScenarioError("--vary", problem, "choose one")


def _overridden(vary: Table, fixed: Sequence[_Set]) -> Iterator[str]:
    """Yields a warning for each loop that an option overrides in part."""
    for loop in sweep.loops(vary) if fixed else ():
        changes = [
            merge.from_address(*change, "") for step in loop.steps for change in step.changes
        ]
        for one in fixed:
            if any(conflicts.overlap(change, one.layer) for change in changes):
                yield f"{one.option} applies to every value of the loop {shown(loop.name)}"


def _plan(found: Found, fixed: Layer, engines: Engines) -> Plan:
    layer = found.layer
    scenario = check_whole(layer)
    loops = sweep.loops(scenario.vary)
    if len(engines.names) > 1:
        _refuse_condition_of_engines(_names_of(loops))
    for loop in loops:
        for step in loop.steps:
            for address, value in step.changes:
                place = loop_place(layer, loop.name)
                refuse_unknown_app(layer, address, place)
                merge.refuse_unknown_removals(layer, merge.from_address(address, value, place))
    seeds = seed_numbers.numbers(scenario.seeds)
    try:
        count = sweep.combinations(loops, len(seeds), len(engines.names))
    except BadValueError as problem:
        raise problem.at(layer.where(("vary",) if loops else ("seeds",))) from None
    trials: list[PlannedTrial] = []
    warnings: dict[str, None] = {}
    taken = TrialNames()
    # The loops are omitted, because each change for each combination would copy them.
    bare = Layer({**layer.data, "vary": {}}, layer.origins, layer.source)
    changes = Combinations(bare, fixed, found.folder)
    conflicts.refuse_overlaps(loops, changes.of, lambda name: layer.where(("vary", name)))
    effects = conflicts.Effects(loops)
    for point in sweep.points(loops):
        resolved = resolve_point(changes, point, engines)
        effects.note(point.picks, without_defaults(resolved.spec))
        _refuse_too_much(len(resolved.spec.apps), count, layer.where(("vary",)))
        warnings.update(dict.fromkeys(resolved.warnings))
        seedless = Seedless(resolved.spec)
        for seed in seeds:
            own_id = taken.of(point.conditions, seed)
            spec = resolved.spec.with_seed(seed)
            trials.append(PlannedTrial(own_id, point.conditions, seed, spec, seedless=seedless))
    effects.refuse_none(lambda name: layer.where(("vary", name)))
    asked = scenario.to_dict()
    report = scenario.report
    tolerances_ms = {name: one.ns / 1e6 for name, one in report.tolerances.items()}
    rates_mbit = {name: one.bps / 1e6 for name, one in report.rates.items()}
    requirements = {name: one.to_core() for name, one in report.requirements.items()}
    stated_ms = stated(trials, tolerances_ms)
    warnings.update(dict.fromkeys(unused(trials, report)))
    return Plan(
        name=found.name,
        title=scenario.title or found.name,
        description=scenario.description,
        source=found.source,
        trials=tuple(trials),
        conditions=_names_of(loops),
        warnings=tuple(warnings),
        figures=report.figures,
        stated_tolerances=stated_ms,
        rates=stated(trials, rates_mbit),
        requirements=stated(trials, requirements),
        notes=report.notes,
        scenario=asked,
        text=found.text or toml_writer.write(asked),
    )


def _refuse_condition_of_engines(names: Iterable[str]) -> None:
    """Raises `ScenarioError` for a condition with the name of the condition of several engines."""
    for name in names:
        if name.casefold() == "engine":
            problem = f"the scenario already has a condition `{shown(name)}`"
            hint = (
                "several engines add a condition `engine`, and tables ignore case; rename the loop"
            )
            raise ScenarioError("--engine", problem, hint)


def _names_of(loops: Iterable[sweep.Loop]) -> tuple[str, ...]:
    """The names of the conditions, outermost loop first."""
    names = (name for loop in loops for step in loop.steps for name, _ in step.conditions)
    return tuple(dict.fromkeys(names))


def _refuse_too_much(apps: int, count: int, where: str) -> None:
    """Raises `ScenarioError` for too many applications, because a plan holds all combinations."""
    if apps * count > MOST_RESOLVED:
        raise ScenarioError(
            where,
            f"{count} combinations of {apps} applications are {apps * count} applications,"
            f" {MOST_RESOLVED} at most",
            "vary less, or use fewer applications",
        )


def _slug(title: str) -> str:
    words = "".join(char if char.isalnum() else " " for char in title.lower()).split()
    return "-".join(words)[:60] or "scenario"
