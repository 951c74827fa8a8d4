"""Plans TEACUP configs, which are read but not executed.

TEACUP (Zander and Armitage, CAIA-TR-150529A) runs TCP experiments on a testbed of PCs. Its
configs are Python 2 files. `aqmlab.planning.teacup.evaluate` reads the part of Python that they
use and executes nothing. One warning reports each statement without a meaning in the simulator.
Another reports each assumption about the rest.

An experiment lasts for `V_duration`, as in v1.0, or until the last generator starts. In a config
with names of v1.1 it lasts until the last generator ends. The five seconds that TEACUP waits before
and after are not simulated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs
from pydantic import ValidationError

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.base.text_files import file_text
from aqmlab.engines import core_check, trial_spec
from aqmlab.engines.trial_spec import AppSpec, MeasureSpec, TrialSpec
from aqmlab.planning import lowering
from aqmlab.planning.change_text import assignment_text
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.planning.plan import MOST_RESOLVED, Plan, PlannedTrial, tolerances
from aqmlab.planning.teacup import coverage, experiments, hosts, network, traffic
from aqmlab.planning.teacup.evaluate import Evaluator
from aqmlab.planning.teacup.functions import SCALARS
from aqmlab.planning.teacup.sizes import MOST_SAID, said
from aqmlab.planning.teacup.vocabulary import Arguments, Config
from aqmlab.scenario import links, model
from aqmlab.scenario import seeds as seed_numbers
from aqmlab.scenario.quantities import Duration

HOST_JITTER_NS = 50_000
"""The largest delay that a host adds to a packet: interrupts and scheduling. An assumption."""

START_JITTER_NS = 50_000_000
"""The largest delay of a generator's start, which TEACUP triggers over ssh. An assumption."""

_MOST_LISTED = 20
_SHAPER_BEHIND = ("name", "rate_bps", "qdisc", "overhead", "shaper", "pipe_delay_ns")
_OWN = ("measure.", "path.overhead", "path.host_jitter", "path.start_jitter")


@dataclass(frozen=True)
class _ConfigTrial(PlannedTrial):
    """A trial of a config. Its text has a link's overhead before its shaper.

    The order is part of a campaign's key, so it must stay.
    """

    @property
    def text(self) -> str:
        """The trial as JSON, in the form that campaigns store."""
        values = self.spec.members()
        values["links"] = [
            {name: link[name] for name in _SHAPER_BEHIND if name in link}
            for link in values["links"]
        ]
        return json.dumps(values, separators=(",", ":"))


def load(
    path: Path,
    sets: Sequence[Assignment] = (),
    vary: Sequence[Variation] = (),
    seeds: Any = None,
    duration: str | Duration | None = None,
) -> Plan:
    """Plans the config in `path` with changed values and loops of `V_` and `TPCONF_` names.

    Raises `ScenarioError` if the config is invalid.
    """
    return read(file_text(path), str(path), path.parent, sets, vary, seeds, duration)


def read(
    text: str,
    source: str,
    folder: Path | None = None,
    sets: Sequence[Assignment] = (),
    vary: Sequence[Variation] = (),
    seeds: Any = None,
    duration: str | Duration | None = None,
) -> Plan:
    """Plans the config `text`. The files that it includes are in `folder`."""
    asked = _ConfigChanges(sets, vary, seeds, duration)
    config = _config(text, Path(source).name, folder, asked)
    try:
        return replace(_plan(config, source, asked), text=text)
    except ScenarioError as error:
        unread = [
            warning
            for sign in ("did you mean", ": passed over")
            for warning in config.warnings
            if sign in warning
        ]
        if not unread or "did you mean" in (error.hint or ""):
            raise
        hint = "\n".join(filter(None, (error.hint, unread[0])))
        raise ScenarioError(error.where, error.problem, hint) from None


def _plan(config: Config, source: str, asked: _ConfigChanges) -> Plan:
    config.check()
    own_hosts = hosts.read(config)
    trials: list[PlannedTrial] = []
    left_out: dict[str, int] = {}
    resolved = 0
    loops = experiments.varied(config, asked.variables, asked.vary, asked.seeds)
    effects = experiments.effects(loops)
    for experiment in experiments.experiments(config, loops, asked.variables):
        resolved += len(config.rows("traffic_gens"))
        if resolved > MOST_RESOLVED:
            problem = f"more than {MOST_RESOLVED} traffic generators in all experiments"
            raise ScenarioError(config.where("traffic_gens"), problem, "vary less")
        try:
            spec = _spec(config, own_hosts, experiment, asked)
        except hosts.NotModelledError as missing:
            left_out[str(missing)] = left_out.get(str(missing), 0) + 1
            effects.note(experiment.picks, {"left out": experiment.id})
            continue
        effects.note(experiment.picks, trial_spec.values(spec))
        resolved += len(spec.apps) + len(spec.links)
        trials.append(_ConfigTrial(experiment.id, experiment.conditions, experiment.seed, spec))
    for what, number in left_out.items():
        config.warn(f"{config.source}: {number} experiments are left out: there is no {what} here")
    effects.refuse_none(lambda name: experiments.place(config, name))
    if not trials:
        raise ScenarioError(config.source, "no experiment is left", "\n".join(left_out) or None)
    return Plan(
        name=Path(source).stem,
        title=_title(config),
        description=f"TEACUP config {config.source}",
        source=source,
        trials=tuple(trials),
        conditions=tuple(trials[0].conditions),
        warnings=tuple(config.warnings),
        tolerances=tolerances(trials),
        scenario={"teacup": _kept(config), "sets": asked.said},
    )


def _title(config: Config) -> str:
    return f"TEACUP {config.source.removesuffix('.py')}"


def _kept(config: Config) -> dict[str, Any]:
    """The plain names of a config for the manifest, up to a maximum size."""
    table, left = {}, MOST_SAID
    for name, value in sorted(config.names.items()):
        try:
            left -= said(value, left)
        except ValueError:
            continue
        if _is_plain(value):
            table[name] = value
    return table


def _is_plain(value: Any, depth: int = 5) -> bool:
    """Returns whether a manifest can hold a value of a config."""
    if isinstance(value, (list, tuple)) and depth:
        return len(value) < 1_000 and all(_is_plain(part, depth - 1) for part in value)
    if isinstance(value, dict) and depth:
        return all(
            isinstance(key, str) and _is_plain(part, depth - 1) for key, part in value.items()
        )
    return isinstance(value, SCALARS)


class _ConfigChanges:
    """The changes by the user, sorted by type."""

    def __init__(
        self,
        sets: Sequence[Assignment],
        vary: Sequence[Variation],
        seeds: Any,
        duration: str | Duration | None,
    ) -> None:
        self.said = dict(assignment_text(one).split("=", 1) for one in sets)
        self.variables: dict[str, Any] = {}
        self.names: dict[str, Any] = {}
        self.measure: dict[str, str] = {}
        self.overhead: str | None = None
        self.jitters = {"host_jitter_ns": HOST_JITTER_NS, "start_jitter_ns": START_JITTER_NS}
        for one in sets:
            self._set(one.address, one.value)
        self.vary = {one.address: _varied(one) for one in vary}
        for name in set(self.vary) & set(self.variables):
            raise ScenarioError("--vary", f"`{name}` is both set and varied", "choose one")
        self.seeds = _seeds(seeds)
        self.duration_ns = _duration(duration)
        if self.duration_ns is not None:
            self.variables["V_duration"] = self.duration_ns / 1e9
            if self.duration_ns % 1_000_000_000 == 0:
                self.variables["V_duration"] = self.duration_ns // 1_000_000_000

    def _set(self, name: str, value: Any) -> None:
        if name.startswith("V_"):
            self.variables[name] = value
        elif name.startswith("TPCONF_"):
            self.names[name] = value
        elif name.startswith("measure."):
            self.measure[name.removeprefix("measure.")] = value
        elif name == "path.overhead":
            if not isinstance(value, str) or value not in links.OVERHEADS:
                raise ScenarioError.unknown(f"--set {name}", "overhead", value, links.OVERHEADS)
            self.overhead = value
        elif name in ("path.host_jitter", "path.start_jitter"):
            try:
                self.jitters[f"{name.removeprefix('path.')}_ns"] = Duration.parse(value).ns
            except BadValueError as problem:
                raise problem.at(f"--set {name}") from None
        else:
            raise ScenarioError(
                "--set",
                f"`{shown(name)}` is not a name in a TEACUP config",
                f"set a V_ or TPCONF_ name, or one of {', '.join(_OWN)}",
            )


def _varied(one: Variation) -> list[Any]:
    name = one.address
    if not name.startswith("V_"):
        raise ScenarioError("--vary", f"`{shown(name)}` is not a variable", "vary a V_ name")
    if not one.values or not all(isinstance(value, SCALARS) for value in one.values):
        raise ScenarioError(f"--vary {name}", "expected values, separated by commas")
    return list(one.values)


def _seeds(seeds: Any) -> tuple[int, ...] | None:
    if seeds is None:
        return None
    try:
        numbers = seed_numbers.numbers(seeds)
    except BadValueError as problem:
        raise problem.at("--seeds") from None
    if 0 in numbers:
        raise ScenarioError("--seeds", "seeds of a TEACUP config count from 1", "run 0 is seed 1")
    return numbers


def _duration(value: str | Duration | None) -> int | None:
    if value is None:
        return None
    try:
        span_ns = Duration.parse(value).ns
    except BadValueError as problem:
        raise problem.at("--duration") from None
    if span_ns == 0:
        raise ScenarioError("--duration", f"`{shown(value)}` is zero")
    return span_ns


def _config(text: str, source: str, folder: Path | None, asked: _ConfigChanges) -> Config:
    evaluator = Evaluator(source, folder, asked.names)
    evaluator.read(text)
    for name, value in asked.names.items():
        evaluator.names.setdefault(name, value)
    config = Config(
        source, evaluator.names, evaluator.lines, list(evaluator.warnings), evaluator.used
    )
    _refuse_endless(config)
    if any(name.startswith("env") for name in evaluator.names):
        config.warn(f"{source}: no meaning here: env (the accounts of the testbed's machines)")
    if evaluator.asked_for_date:
        config.warn(
            f"{evaluator.asked_for_date}: the date is taken for 2000-01-01, so that the same "
            f"command always makes the same names"
        )
    return config


def _refuse_endless(config: Config) -> None:
    """Refuses values that nested shared lists make too large to write out."""
    left = MOST_SAID
    for name, value in config.names.items():
        if name.startswith("TPCONF_"):
            try:
                left -= said(value, left)
            except ValueError:
                place = config.where(name.removeprefix("TPCONF_"))
                problem = f"with what is before it, this holds more than {MOST_SAID} members and"
                raise ScenarioError(
                    place, f"{problem} characters, or is nested too deeply"
                ) from None


def _spec(
    config: Config,
    own_hosts: hosts.Hosts,
    experiment: experiments.Experiment,
    asked: _ConfigChanges,
) -> TrialSpec:
    variables = experiment.variables
    net = network.build(config, own_hosts, variables, asked.overhead)
    found = traffic.read(config, own_hosts, net, variables)
    apps = found.apps
    coverage.check(config, net, found.ways)
    duration_ns = asked.duration_ns or _length(config, variables, found)
    length = Duration(duration_ns)
    never = dict.fromkeys(app.name for app in apps if app.start_ns >= duration_ns)
    if never:
        config.warn(
            f"{config.source}: starts after the end of the run, {length}: {_listed(list(never))}"
        )
    late = [
        name for name, end_ns in found.ends_ns.items() if end_ns > duration_ns and name not in never
    ]
    if late:
        config.warn(f"{config.source}: cut at the end of the run, {length}: {_listed(late)}")
    spec = TrialSpec(
        seed=experiment.seed,
        duration_ns=duration_ns,
        links=tuple(net.links),
        apps=tuple(_within(app, duration_ns) for app in apps),
        measure=_measure(asked.measure, duration_ns),
        **asked.jitters,
    )
    _refuse_impossible(config, found, spec)
    return spec


def _within(app: AppSpec, duration_ns: int) -> AppSpec:
    """The application, without a stop time after the end of the trial."""
    if app.stop_ns is None or app.stop_ns < duration_ns:
        return app
    return structs.replace(app, stop_ns=None)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _refuse_impossible(config: Config, found: traffic.Traffic, spec: TrialSpec) -> None:
    """Raises `ScenarioError` if no engine can run `spec`, at the location in the config."""
    wrong = core_check.refusal(spec)
    if wrong is None:
        return
    family, *keys = wrong.at
    if family == "apps" and keys and isinstance(keys[0], int):
        place = ": ".join((found.places[keys[0]], *map(str, keys[2:])))
    elif family == "links":
        place = f"{config.where('router_queues')}: {keys[-1]}"
    else:
        place = f"{config.source}: {'.'.join(map(str, wrong.at))}"
    raise ScenarioError(place, wrong.problem, wrong.hint)


def _length(config: Config, variables: Mapping[str, Any], found: traffic.Traffic) -> int:
    last_start = max(app.start_ns for app in found.apps)
    last_stop = max([last_start, *found.ends_ns.values()])
    said = variables.get("V_duration", config.get("duration"))
    if said is None:
        return max(last_stop, 1_000_000_000)
    where = Arguments(config.source, "", {"V_duration": said})
    span_ns = where.nanoseconds("V_duration", 1_000_000_000)
    if span_ns == 0:
        raise ScenarioError(f"{config.source}: V_duration", "`0` is not above zero")
    return max(span_ns, last_stop if config.is_1_1 else last_start)


def _measure(said: Mapping[str, str], duration_ns: int) -> MeasureSpec:
    try:
        said_measure = model.Measure.model_validate(dict(said))
    except ValidationError as error:
        keys, problem = model.first_problem(error, model.Measure)
        raise problem.at(".".join(("--set measure", *keys))) from None
    return lowering.measure(said_measure, duration_ns, [])
