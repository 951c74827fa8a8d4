"""The interface for Python programs and the command line: runs scenarios and returns results."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError, TrialsError
from aqmlab.base.numerals import count_text
from aqmlab.base.python_words import of_arguments
from aqmlab.base.scratch import Scratch
from aqmlab.base.versions import versions
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.executor import TrialExecutor
from aqmlab.campaign.progress_lines import counted, receiver
from aqmlab.campaign.runner import Campaign, Progress, RunReport
from aqmlab.campaign.store.folder import Trial
from aqmlab.campaign.store.manifest import CampaignFacts, TrialEntry
from aqmlab.campaign.trial_facts import group_apps, kinds_of, links_of
from aqmlab.engines import registry, renamed
from aqmlab.engines.engine import Say
from aqmlab.households.household import Household
from aqmlab.planning import planner
from aqmlab.planning.change_text import assignment_text, variation_text, writable
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.report import figures, notebook
from aqmlab.report.page import write
from aqmlab.results import results as stored
from aqmlab.results import spans
from aqmlab.scenario.fields import plain
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.normalise import spelled as spelled_address
from aqmlab.scenario.notation import refuse_deep
from aqmlab.scenario.quantities import Duration
from aqmlab.scenario.seeds import spelled

if TYPE_CHECKING:
    from aqmlab.planning.plan import Plan, PlannedTrial
    from aqmlab.report.figures.drawing import Drawings

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


class Results(stored.CampaignResults):
    """The results of a campaign, with methods for figures and the report."""

    def _repr_html_(self) -> str:
        """The conclusion and the numbers of each application as HTML, for notebooks."""
        return notebook.html_of(self)

    def figure(self, name: str) -> Drawings:
        """Draws the figure called `name`, as one or more drawings.

        Each drawing has a `caption` and a `canvas`, which is a figure of `matplotlib`.
        A notebook displays the drawings. Raises `RequestError` if there is no such figure, or if
        the results have no data for it.
        """
        return figures.draw(self, name)

    def report(self, path: Path | str | None = None, *, progress: bool = False) -> Path:
        """Writes the report as one self-contained HTML page; returns its path.

        Without `path`, the page is `report.html` in the campaign's folder.
        With `progress`, the name of each figure is printed on standard error before it is drawn.
        """
        place = Path(path) if path is not None else self.path / "report.html"
        return write(self, place, watched=counted if progress else iter)


def load(path: Path | str) -> Results:
    """The results in a campaign's folder. The campaign may be unfinished."""
    with of_arguments((), ()):
        return Results(Path(path))


@dataclass(frozen=True, slots=True)
class Request:
    """A scenario, the requested changes, and the engines that run the trials.

    `sets` and `vary` are changes of the scenario. `seeds` and `duration` replace those of the
    scenario. `engine` is "sim", "kernel" or "sim,kernel".
    """

    scenario: str | Path | Scenario | Household
    sets: tuple[Assignment, ...] = ()
    vary: tuple[Variation, ...] = ()
    seeds: str | int | Sequence[int] | None = None
    duration: str | Duration | None = None
    engine: str = "sim"
    qdisc_source: str = "kernel"
    """The source of the disciplines for the engine `kernel`: "kernel", "sim" or "sim,kernel"."""
    run_on: str = "vm"
    """The machine on which the engine `kernel` runs: "vm" or "host"."""
    build: bool = True
    """Whether to build the program with which an engine checks trials, if the program is missing.

    The build takes minutes.
    """

    def engine_names(self) -> tuple[str, ...]:
        """The names of the engines that run the trials."""
        return registry.named(self.engine, self.qdisc_source, self.run_on)

    def plan(self) -> Plan:
        """Plans all trials of the request; raises `ScenarioError`."""
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
        """The command that repeats the request.

        `SCENARIO.toml` stands for a `Scenario` or a `Household` object.
        """
        named = isinstance(self.scenario, (str, Path))
        words = ["aqmlab", "run", _shareable(self.scenario) if named else "SCENARIO.toml"]
        for change in self.sets:
            words += ["--set", assignment_text(change)]
        for loop in self.vary:
            words += ["--vary", variation_text(loop)]
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
    scenario: str | Path | Scenario | Household,
    *,
    seeds: str | int | Sequence[int] | None = None,
    duration: str | Duration | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    engine: str = "sim",
    qdisc_source: str = "kernel",
    run_on: str = "vm",
    executor: Executor | TrialExecutor | None = None,
    progress: Progress | bool | None = None,
    discipline: str | None = None,
    place: str | None = None,
    **changes: Any,
) -> Results:
    """Runs every trial of `scenario` and returns the results.

    `scenario` is a file, the name of a built-in scenario or household, a TEACUP config, a
    `Scenario` or a `Household`. Each of `changes` names a parameter, with double underscores for
    dots, and gives its value. A list of values varies the parameter:
    `run("rrul", path__qdisc=["pfifo", "fq_codel"], path__rtt="20 ms")`. Without `out`, the results
    are in a temporary folder, which exists as long as the returned object.

    `engine` is "sim", "kernel", or "sim,kernel" to run every trial on both engines. For the engine
    "kernel", `qdisc_source` is the source of the disciplines: "kernel" for the kernel's own, "sim"
    for the simulator's, or "sim,kernel" for both in turn. `run_on` selects the machine:
    "vm" for a virtual machine, or "host" for this machine, as root and in real time. Trials run in
    local processes, or on an `executor` with the interface of `concurrent.futures` or of
    `TrialExecutor`. `progress=True` prints the progress on standard error. An object with
    the methods of `aqmlab.campaign.runner.Progress` receives the progress instead. `discipline` and
    `place` are the old names of `qdisc_source` and `run_on`.

    Raises `ScenarioError` for an invalid scenario, `MissingError` for missing requirements, and
    `TrialsError` if trials have no result.
    """
    _refuse_senseless(scenario, jobs, out)
    reported = receiver(progress)
    kernel = renamed.kernel_options(qdisc_source, run_on, discipline, place)
    for warning in kernel.warnings:
        warnings.warn(warning, DeprecationWarning, stacklevel=2)
    with of_arguments(changes, _ARGUMENTS):
        request = Request(
            scenario,
            *_changes(changes),
            seeds,
            duration,
            engine,
            kernel.qdisc_source,
            kernel.run_on,
        )
        owned = None if out is not None else Scratch()
        folder = Path(out if out is not None else owned.name)  # type: ignore[union-attr]
        campaign = campaign_for(request, request.plan())
        report = campaigns.run(campaign, folder, jobs=jobs, executor=executor, progress=reported)
    complete(report)
    return Results(folder, owned)


_ARGUMENTS = [
    name for name, one in signature(run).parameters.items() if one.kind is one.KEYWORD_ONLY
]


def _refuse_senseless(scenario: object, jobs: object, out: object) -> None:
    """Raises `RequestError` for arguments of a wrong type, `jobs` below 1, and an empty `out`."""
    if not isinstance(scenario, Scenario | Household | str | os.PathLike):
        raise RequestError(
            f"scenario: `{shown(scenario)}` is not a scenario",
            "give a file, a name, a `Scenario` or a `Household`; `Scenario.from_dict` reads a"
            " dictionary",
        )
    if jobs is not None and (not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1):
        raise RequestError(f"jobs: `{shown(jobs)}` is not a whole number of 1 or more")
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise RequestError(f"out: `{shown(out)}` is not the name of a folder")
    if out == "":
        raise RequestError("out: a name is expected", "`.` is the current folder")


def complete(report: RunReport) -> None:
    """Raises `TrialsError` if any trial of a campaign has no result."""
    if not report.failed:
        return
    name, problem = next(iter(report.failed.items()))
    raise TrialsError(
        f"{count_text(len(report.failed), 'trial')} failed; the first was `{name}`: {problem}",
        "the others are kept; the same command repeats the failed ones",
    )


def campaign_for(request: Request, plan: Plan, say: Say | None = None) -> Campaign:
    """Makes the campaign that runs `plan`. `say` receives a message before a slow preparation.

    Raises `RequestError` if `plan` has no trial.
    """
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
            links=links_of(one.spec),
            rtt_base_ms=one.rtt_base_ms,
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
    made_by = versions()
    for engine in prepared.values():
        made_by |= engine.versions
    options = {name: engine.options for name, engine in prepared.items()}
    about = _facts(request, plan, _entries(plan, trials), made_by)
    return Campaign(trials, about, ",".join(names), options=options)


def default_folder(campaign: Campaign) -> Path:
    """The default folder below `results`: the campaign's name and the first 8 digits of its key."""
    return Path("results") / f"{campaign.about.name}-{campaign.key[:8]}"


def _facts(
    request: Request, plan: Plan, entries: tuple[TrialEntry, ...], made_by: Mapping[str, str]
) -> CampaignFacts:
    """The facts of a campaign that are known before its trials run."""
    on_kernel = any(trial.engine.startswith("kernel") for trial in plan.trials)
    return CampaignFacts(
        name=plan.name,
        title=plan.title,
        description=plan.description,
        source=_shareable(plan.source),
        conditions=plan.conditions,
        warnings=plan.warnings,
        figures=plan.figures,
        notes=plan.notes,
        scenario=plan.scenario,
        trials=entries,
        apps=_kinds(plan.trials),
        app_groups=group_apps(trial.spec for trial in plan.trials),
        stated_tolerances_ms=plan.stated_tolerances,
        stated_rates_mbit=plan.rates,
        stated_requirements=plan.requirements,
        **spans.of_spec(plan.trials[0].spec)._asdict(),
        scenario_text=plan.text,
        command=request.command(),
        qdisc_source=request.qdisc_source if on_kernel else None,
        run_on=request.run_on if on_kernel else None,
        versions=made_by,
    )


def _entries(plan: Plan, trials: Sequence[Trial]) -> tuple[TrialEntry, ...]:
    """The entry of each trial in the manifest."""
    kinds, first = _kinds(plan.trials), spans.of_spec(plan.trials[0].spec)._asdict()
    entries = []
    for planned, trial in zip(plan.trials, trials, strict=True):
        apps, span = kinds_of(planned.spec.apps), spans.of_spec(planned.spec)._asdict()
        entries.append(
            TrialEntry(
                id=trial.id,
                conditions=planned.conditions,
                seed=trial.seed,
                condition=planned.condition_digest,
                engine=trial.engine,
                links=trial.links,
                rtt_base_ms=trial.rtt_base_ms,
                apps={name: kind for name, kind in apps.items() if kinds[name] != kind},
                **{name: value for name, value in span.items() if value != first[name]},
                spec=trial.spec_digest,
            )
        )
    return tuple(entries)


def _kinds(trials: Sequence[PlannedTrial]) -> dict[str, str]:
    """The kind of each application in the first trial that has it."""
    kinds: dict[str, str] = {}
    for trial in trials:
        kinds = kinds_of(trial.spec.apps) | kinds
    return kinds


def _shareable(path: str | Path | Scenario | Household) -> str:
    """The form of a path in published results, which does not reveal folders of this machine.

    An absolute path below the current folder becomes relative. Any other absolute path is reduced
    to its name. Names and relative paths do not change.
    """
    named = Path(str(path))
    if not named.is_absolute():
        return str(path)
    here = Path.cwd()
    return str(named.relative_to(here)) if named.is_relative_to(here) else named.name


def _changes(
    changes: Mapping[str, Any],
) -> tuple[tuple[Assignment, ...], tuple[Variation, ...]]:
    """Sorts changes into assignments and variations. A list is a variation.

    `None` becomes "off", as on the command line, except for a name of a TEACUP config.
    """
    sets, vary = [], []
    for name, given in changes.items():
        address = spelled_address(name.replace("__", "."))
        refuse_deep(given, address)
        value = writable(address, plain(given))
        if isinstance(value, list):
            vary.append(Variation(address, tuple(value)))
        else:
            sets.append(Assignment(address, value))
    return tuple(sets), tuple(vary)
