"""The resolved trial of one experiment of a TEACUP config."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs
from pydantic import ValidationError

from aqmlab.base.errors import ScenarioError
from aqmlab.engines import core_check
from aqmlab.engines.trial_spec import AppSpec, MeasureSpec, TrialSpec
from aqmlab.planning import lowering
from aqmlab.planning.teacup import coverage, experiments, hosts, network, traffic
from aqmlab.planning.teacup.config_changes import ConfigChanges
from aqmlab.planning.teacup.generators import Traffic
from aqmlab.planning.teacup.vocabulary import Arguments, Config
from aqmlab.scenario import model
from aqmlab.scenario.quantities import Duration

_MOST_LISTED = 20

Addresses = Mapping[str, Mapping[str, object]]
"""The addresses of the ends of each application: see `generators.Traffic.addresses`."""


def resolved_trial(
    config: Config,
    own_hosts: hosts.Hosts,
    experiment: experiments.Experiment,
    asked: ConfigChanges,
) -> tuple[TrialSpec, Addresses]:
    """The trial of an experiment, and the addresses of its applications.

    Raises `NotModelledError` for an unsupported experiment.
    """
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
    return spec, found.addresses


def _within(app: AppSpec, duration_ns: int) -> AppSpec:
    """The application, without a stop time at or after the end of the trial."""
    if app.stop_ns is None or app.stop_ns < duration_ns:
        return app
    return structs.replace(app, stop_ns=None)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _refuse_impossible(config: Config, found: Traffic, spec: TrialSpec) -> None:
    """Raises `ScenarioError`, with the location in the config, if the core refuses `spec`."""
    wrong = core_check.refusal(spec)
    if wrong is None:
        return
    family, *keys = wrong.at
    if family == "apps" and keys and isinstance(keys[0], int):
        place = ": ".join((found.places[keys[0]], *map(str, keys[2:])))
    elif family == "links":
        place = f"{config.where('router_queues')}: {keys[-1]}"
    elif family == "duration_ns":
        place = f"{config.source}: V_duration"
    else:
        place = f"{config.source}: {'.'.join(map(str, wrong.at))}"
    raise ScenarioError(place, wrong.problem, wrong.hint)


def _length(config: Config, variables: Mapping[str, object], found: Traffic) -> int:
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
