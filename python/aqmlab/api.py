"""The interface for Python programs and the command line: runs scenarios and returns results."""

from __future__ import annotations

import json
import os
import shlex
import warnings
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
from aqmlab.campaign.executor import TrialExecutor
from aqmlab.campaign.runner import Campaign, Progress, Report
from aqmlab.campaign.store.folder import Trial
from aqmlab.campaign.trial_facts import group_apps, kinds_of, links_of
from aqmlab.engines import registry, renamed
from aqmlab.engines.engine import Say
from aqmlab.planning.overrides import split_values
from aqmlab.results import results as stored
from aqmlab.results import spans
from aqmlab.scenario.seeds import spelled

if TYPE_CHECKING:
    from aqmlab.planning.planner import Plan
    from aqmlab.planning.planner import Trial as Planned
    from aqmlab.report.figures.drawing import Drawing
    from aqmlab.scenario.model import Scenario

__all__ = [
    "Request",
    "Results",
    "campaign_for",
    "complete",
    "default_folder",
    "load",
    "run",
    "versions",
]


class Results(stored.Results):
    """The results of a campaign, with methods for figures and the report."""

    def figure(self, name: str) -> list[Drawing]:
        """The figure called `name` as drawings, each with a `matplotlib` figure and a caption.

        Raises `RequestError` if there is no such figure, or if it has no data.
        """
        from aqmlab.report import figures

        return figures.draw(self, name)

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the report as one self-contained HTML page; returns its path."""
        from aqmlab.report.page import write

        return write(self, Path(path) if path is not None else self.path / "report.html")


def load(path: Path | str) -> Results:
    """The results in a campaign's folder, which may be unfinished."""
    return Results(Path(path))


@dataclass(frozen=True, slots=True)
class Request:
    """A scenario with the requested changes."""

    scenario: str | Path | Scenario
    sets: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    seeds: str | int | Sequence[int] | None = None
    duration: str | None = None
    engine: str = "sim"
    qdisc_source: str = "kernel"
    """The source of the disciplines for the engine `kernel`: "kernel" or "sim"."""
    run_on: str = "vm"
    """The place where the engine `kernel` runs: "vm" or "host"."""
    build: bool = True
    """Whether to build a missing checker of an engine first, which takes minutes."""

    def engine_names(self) -> tuple[str, ...]:
        """The names of the engines that run the trials."""
        return registry.named(self.engine, self.qdisc_source, self.run_on)

    def plan(self) -> Plan:
        """Plans all trials of the request; raises `ScenarioError`."""
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
        """The command that repeats the request."""
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
            ("--qdisc-source", self.qdisc_source, "kernel"),
            ("--run-on", self.run_on, "vm"),
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
    qdisc_source: str = "kernel",
    run_on: str = "vm",
    executor: Executor | TrialExecutor | None = None,
    progress: Progress | None = None,
    discipline: str | None = None,
    place: str | None = None,
    **changes: Any,
) -> Results:
    """Runs every trial of `scenario` and returns the results.

    `scenario` is a file, the name of a built-in scenario, a TEACUP config or a `Scenario`. Each
    change names a parameter with dots or, as a keyword, with double underscores. A list varies it:
    `run("home", path__qdisc=["pfifo", "fq_codel"], path__rtt="20 ms")`. Without `out`, the results
    are in a temporary folder as long as they are used.

    `engine` is "sim", "kernel", or "sim,kernel" to run every trial on both. With "kernel",
    `qdisc_source` selects the disciplines between the kernel's TCPs: "kernel", or "sim" for the
    simulator's. `run_on` selects the place of the kernel: "vm", or "host" as root and in real time.
    Both may also be lists, such as "sim,kernel". Trials run in local processes, or on an `executor`
    with the interface of `concurrent.futures` or of `TrialExecutor`. `discipline` and `place` are
    the old names of `qdisc_source` and `run_on`.

    Raises `ScenarioError` for an invalid scenario, `MissingError` for missing requirements, and
    `TrialsError` if trials have no result.
    """
    _refuse_senseless(jobs, out)
    kernel = renamed.kernel_options(qdisc_source, run_on, discipline, place)
    for warning in kernel.warnings:
        warnings.warn(warning, DeprecationWarning, stacklevel=2)
    request = Request(
        scenario, *_changes(changes), seeds, duration, engine, kernel.qdisc_source, kernel.run_on
    )
    owned = None if out is not None else Scratch()
    folder = Path(out if out is not None else owned.name)  # type: ignore[union-attr]
    campaign = campaign_for(request, request.plan())
    report = campaigns.run(campaign, folder, jobs=jobs, executor=executor, progress=progress)
    complete(report)
    return Results(folder, owned)


def _refuse_senseless(jobs: object, out: object) -> None:
    """Raises `RequestError` for arguments that the command line would refuse."""
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
        "the others are kept; the same command repeats the failed ones",
    )


def campaign_for(request: Request, plan: Plan, say: Say | None = None) -> Campaign:
    """The campaign that runs `plan`. `say` receives a message before a slow preparation."""
    if not plan.trials:
        raise RequestError(f"{plan.name}: there is no trial to run")
    trials = [
        Trial(
            index,
            one.id,
            one.seed,
            one.conditions,
            one.text,
            one.engine,
        )
        for index, one in enumerate(plan.trials)
    ]
    names = list(dict.fromkeys(one.engine for one in plan.trials))
    prepared = {
        name: registry.engine(name).prepare(
            [one.spec for one in plan.trials if one.engine == name], say or (lambda _: None)
        )
        for name in names
    }
    about = _about(request, plan)
    for engine in prepared.values():
        about["versions"] |= engine.versions
    options = {name: engine.options for name, engine in prepared.items()}
    return Campaign(trials, about, ",".join(names), options=options)


def default_folder(campaign: Campaign) -> Path:
    """The default folder of a campaign."""
    return Path("results") / f"{campaign.about['name']}-{campaign.key[:8]}"


def _about(request: Request, plan: Plan) -> dict[str, Any]:
    about = plan.to_manifest()
    for entry, trial in zip(about["trials"], plan.trials, strict=True):
        entry["links"] = links_of(trial.spec)
        entry["rtt_base_ms"] = trial.rtt_base_ms
    about["apps"] = _own_facts(about["trials"], plan.trials)
    about["app_groups"] = group_apps(app for trial in plan.trials for app in trial.spec.apps)
    about["stated_tolerances_ms"] = plan.stated_tolerances
    if plan.rates:
        about["stated_rates_mbit"] = plan.rates
    about |= spans.of_spec(plan.trials[0].spec)
    about["scenario_text"] = plan.text
    about["source"] = _shareable(plan.source)
    about["command"] = request.command()
    if any(trial.engine.startswith("kernel") for trial in plan.trials):
        about |= {"qdisc_source": request.qdisc_source, "run_on": request.run_on}
    about["versions"] = versions()
    return about


def _shareable(path: str | Path | Scenario) -> str:
    """A path for published results, which does not reveal folders of this machine.

    It is relative for a file below the current folder. For other files it is only the name.
    """
    named = Path(str(path))
    if not named.is_absolute():
        return str(path)
    here = Path.cwd()
    return str(named.relative_to(here)) if named.is_relative_to(here) else named.name


def _own_facts(entries: list[dict[str, Any]], trials: Sequence[Planned]) -> dict[str, str]:
    """The kind of each application. Entries record differences from the first trial."""
    kinds: dict[str, str] = {}
    first = spans.of_spec(trials[0].spec)
    for entry, trial in zip(entries, trials, strict=True):
        own = kinds_of(trial.spec.apps)
        kinds = own | kinds
        if others := {name: kind for name, kind in own.items() if kinds[name] != kind}:
            entry["apps"] = others
        span = spans.of_spec(trial.spec)
        entry |= {name: value for name, value in span.items() if value != first[name]}
    return kinds


def _changes(changes: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Converts changes to arguments of `--set` and `--vary`."""
    sets, vary = [], []
    for name, value in changes.items():
        address = name.replace("__", ".")
        if isinstance(value, (list, tuple)):
            vary.append(f"{address}={','.join(map(_of_list, value))}")
        else:
            sets.append(f"{address}={_inline(value)}")
    return tuple(sets), tuple(vary)


def _of_list(value: Any) -> str:
    """Formats a value of a comma-separated list. It may itself contain commas."""
    text = _inline(value)
    return text if len(split_values(text)) == 1 else _quoted(value)


def _inline(value: Any) -> str:
    """Formats a value after an equals sign."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_quoted(one)}" for key, one in value.items()) + "}"
    return str(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else _inline(value)
