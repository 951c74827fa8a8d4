"""From a scenario to its results: what the command line and Python programs call."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError, TrialsError
from aqmlab.base.scratch import Scratch
from aqmlab.base.versions import versions
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.runner import Campaign, Progress, Report
from aqmlab.campaign.store.folder import Trial
from aqmlab.engines import registry
from aqmlab.engines.registry import Say
from aqmlab.planning.overrides import split_values
from aqmlab.results.labels import group_apps, links_of
from aqmlab.results.results import Results, load
from aqmlab.scenario.seeds import spelled

if TYPE_CHECKING:
    from aqmlab.planning.planner import Plan
    from aqmlab.scenario.model import Scenario

__all__ = ["Request", "campaign_for", "complete", "default_folder", "load", "run", "versions"]


@dataclass(frozen=True, slots=True)
class Request:
    """A scenario, and the changes that were asked for."""

    scenario: str | Path | Scenario
    sets: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    seeds: str | int | Sequence[int] | None = None
    duration: str | None = None
    engine: str = "sim"
    discipline: str = "kernel"
    """Whose disciplines the engine `kernel` runs with."""
    place: str = "vm"
    """Where the engine `kernel` runs."""
    build: bool = True
    """Whether what an engine is asked by may be built first, which takes minutes."""

    def engine_names(self) -> tuple[str, ...]:
        """The names of the engines that run the trials."""
        return registry.named(self.engine, self.discipline, self.place)

    def plan(self) -> Plan:
        """Every trial that this stands for; raises `ScenarioError`."""
        from aqmlab.planning import planner

        return planner.load(
            self.scenario,
            self.sets,
            self.vary,
            self.seeds,
            self.duration,
            ",".join(self.engine_names()),
            self.build,
        )

    def command(self) -> str:
        """The command that asks for the same again."""
        named = isinstance(self.scenario, (str, Path))
        words = ["aqmlab", "run", _shareable(self.scenario) if named else "SCENARIO.toml"]
        for option, texts in (("--set", self.sets), ("--vary", self.vary)):
            for text in texts:
                words += [option, text]
        seeds = None if self.seeds is None else spelled(self.seeds)
        for option, value in (("--seeds", seeds), ("--duration", self.duration)):
            words += [option, str(value)] if value is not None else []
        for option, value, usual in (
            ("--engine", self.engine, "sim"),
            ("--discipline", self.discipline, "kernel"),
            ("--place", self.place, "vm"),
        ):
            words += [option, value] if value != usual else []
        return shlex.join(words)


def run(
    scenario: str | Path | Scenario,
    *,
    seeds: str | int | Sequence[int] | None = None,
    duration: str | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    engine: str = "sim",
    discipline: str = "kernel",
    place: str = "vm",
    executor: Executor | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> Results:
    """Runs every trial of `scenario` and returns what they found.

    `scenario` is a file, the name of a built-in one, a TEACUP config or a `Scenario`. A change
    names what it changes with dots or, as a keyword, with double underscores; a list varies:
    `run("home", path__qdisc=["pfifo", "fq_codel"], path__rtt="20 ms")`. Without `out` the
    results live in a temporary folder for as long as they are used. `engine` is "sim", "kernel",
    or "sim,kernel" to run every trial on both. With "kernel", `discipline` says whose disciplines
    wait between the kernel's TCPs, "kernel" or "ours", and `place` where the kernel is: "vm", or
    "host" as root and in real time; both may be lists too. Trials run in processes, or wherever
    an `executor` with the interface of `concurrent.futures` runs them. Raises `ScenarioError` for
    what cannot be run, `MissingError` for what must be installed, and `TrialsError` if trials have
    no result.
    """
    _refuse_senseless(jobs, out)
    request = Request(scenario, *_changes(changes), seeds, duration, engine, discipline, place)
    owned = None if out is not None else Scratch()
    folder = Path(out if out is not None else owned.name)  # type: ignore[union-attr]
    campaign = campaign_for(request, request.plan())
    report = campaigns.run(campaign, folder, jobs=jobs, executor=executor, progress=progress)
    complete(report)
    return Results(folder, owned)


def _refuse_senseless(jobs: object, out: object) -> None:
    """Raises `RequestError` for what the command line would refuse."""
    if jobs is not None and (not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1):
        raise RequestError(f"jobs: `{shown(jobs)}` is not a whole number of 1 or more")
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise RequestError(f"out: `{shown(out)}` is not the name of a folder")
    if out == "":
        raise RequestError("out: a name is expected", "`.` is the current folder")


def complete(report: Report) -> None:
    """Raises `TrialsError` if any trial of a campaign has no result."""
    if not report.failed:
        return
    name, problem = next(iter(report.failed.items()))
    count = len(report.failed)
    raise TrialsError(
        f"{count} trial{'s' * (count > 1)} failed; the first was `{name}`: {problem}",
        "the others are kept; the same command tries the failed ones again",
    )


def campaign_for(request: Request, plan: Plan, say: Say | None = None) -> Campaign:
    """The campaign that runs `plan`; `say` is told if making an engine ready takes long."""
    if not plan.trials:
        raise RequestError(f"{plan.name}: there is no trial to run")
    trials = [
        Trial(
            index,
            one.id,
            one.seed,
            one.conditions,
            json.dumps(one.spec, separators=(",", ":")),
            one.engine,
        )
        for index, one in enumerate(plan.trials)
    ]
    names = list(dict.fromkeys(one.engine for one in plan.trials))
    prepared = {
        name: registry.ENGINES[name].prepare(
            [one.spec for one in plan.trials if one.engine == name], say
        )
        for name in names
    }
    about = _about(request, plan)
    for engine in prepared.values():
        about["versions"] |= engine.versions
    options = {name: engine.options for name, engine in prepared.items()}
    return Campaign(trials, about, ",".join(names), options=options)


def default_folder(campaign: Campaign) -> Path:
    """Where a campaign goes unless somebody says otherwise."""
    return Path("results") / f"{campaign.about['name']}-{campaign.key[:8]}"


def _about(request: Request, plan: Plan) -> dict[str, Any]:
    about = plan.to_manifest()
    for entry, trial in zip(about["trials"], plan.trials, strict=True):
        entry["links"] = links_of(trial.spec)
        entry["rtt_base_ms"] = trial.rtt_base_ms
    about["apps"] = {
        app["name"]: app["app"]["kind"] for trial in plan.trials for app in trial.spec["apps"]
    }
    about["app_groups"] = group_apps(app for trial in plan.trials for app in trial.spec["apps"])
    about["stated_tolerances_ms"] = _stated(plan, about["apps"])
    if plan.rates:
        about["stated_rates_mbit"] = plan.rates
    first = plan.trials[0].spec
    about["duration_s"] = first["duration_ns"] / 1e9
    about["measure_from_s"] = first["measure"].get("from_ns", 0) / 1e9
    about["scenario_text"] = plan.text
    about["source"] = _shareable(plan.source)
    about["command"] = request.command()
    if any(trial.engine.startswith("kernel") for trial in plan.trials):
        about |= {"discipline": request.discipline, "place": request.place}
    about["versions"] = versions()
    return about


def _shareable(path: str | Path | Scenario) -> str:
    """A path for results that others get to read: it says nothing of this machine's folders.

    A file below the current folder is named from there; of others only the name stays.
    """
    named = Path(str(path))
    if not named.is_absolute():
        return str(path)
    here = Path.cwd()
    return str(named.relative_to(here)) if named.is_relative_to(here) else named.name


def _stated(plan: Plan, kinds: Mapping[str, str]) -> dict[str, float]:
    """The tolerances that the scenario itself states."""
    from aqmlab.planning.planner import TOLERANCES_MS

    return {
        app: limit_ms
        for app, limit_ms in plan.tolerances.items()
        if limit_ms != TOLERANCES_MS.get(kinds.get(app, ""))
    }


def _changes(changes: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts for `--set` and for `--vary`."""
    sets, vary = [], []
    for name, value in changes.items():
        address = name.replace("__", ".")
        if isinstance(value, (list, tuple)):
            vary.append(f"{address}={','.join(map(_of_list, value))}")
        else:
            sets.append(f"{address}={_inline(value)}")
    return tuple(sets), tuple(vary)


def _of_list(value: Any) -> str:
    """A value as it is written between commas, which may stand in it, too."""
    text = _inline(value)
    return text if len(split_values(text)) == 1 else _quoted(value)


def _inline(value: Any) -> str:
    """A value as it is written after an equals sign."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_quoted(one)}" for key, one in value.items()) + "}"
    return str(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _inline(value)
