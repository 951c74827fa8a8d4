"""Runs the trials that figures and claims need, each only once.

Every repetition of a scenario is a separate campaign in a folder such as STUDY/home/seed-1. The
whole campaign is planned, but only the needed trials run. Another figure or more seeds add trials
to the folder.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from aqmlab.api import Request, campaign_for
from aqmlab.base.failures import RequestError
from aqmlab.base.versions import versions
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.costs import simulated_s
from aqmlab.campaign.executor import TrialExecutor
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.runner import Campaign, Progress, RunReport, Silence, cores
from aqmlab.campaign.same_campaign import refuse_other
from aqmlab.campaign.speed import Expected, Lot, expected, paces
from aqmlab.campaign.store import own_files
from aqmlab.campaign.store.dataset import Dataset, is_in_tables
from aqmlab.campaign.store.folder import Folder, Trial
from aqmlab.campaign.store.layout import MANIFEST, refuse_links
from aqmlab.engines import registry
from aqmlab.engines.engine import Say
from aqmlab.planning.overrides import Assignment
from aqmlab.planning.plan import Plan, PlannedTrial
from aqmlab.scenario.seeds import numbers, spelled
from aqmlab.studies.selection import Selection, Snapshots, Source
from aqmlab.studies.study import Study
from aqmlab.studies.trials import Trials

_FOLDERS = ("*", "*/seed-*")
"""The patterns of the folders of a study: its figures, its scenarios and their repetitions."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options with which the trials of a study run."""

    seeds: str | int = 1
    engine: str = "sim"
    sets: tuple[Assignment, ...] = ()
    """Changes of the scenarios, for experiments. They may violate the paper's conditions."""
    duration: str | None = None
    build: bool = True
    """Whether an engine may be built first if it is missing. This takes minutes."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """One repetition of a scenario: its campaign, its folder and its needed trials."""

    scenario: str
    seed: int
    campaign: Campaign
    folder: Path
    wanted: frozenset[str]

    def unrecorded(self) -> list[Trial]:
        """The needed trials without a result in the folder's manifest, or without tables."""
        known: dict[str, str | None] = {}
        folder = Folder(self.folder)
        if folder.exists():
            known = folder.manifest().digest_by_trial()
        return [
            one
            for one in self.needed()
            if known.get(one.id) is None or not is_in_tables(folder, one)
        ]

    def missing(self) -> list[Trial]:
        """The needed trials without a stored result."""
        unrecorded = self.unrecorded()
        if not unrecorded:
            return []
        dataset = Dataset(Folder(self.folder), self.campaign.trials, self.campaign.key)
        return [one for one in unrecorded if not dataset.has(one)]

    def needed(self) -> list[Trial]:
        """The trials of the campaign whose names are in `wanted`."""
        return [one for one in self.campaign.trials if one.id in self.wanted]

    def lots(self, trials: Sequence[Trial]) -> list[Lot]:
        """Groups `trials` by engine, for predictions of their run time."""
        return campaigns.lots(self.campaign, trials)


@dataclass(frozen=True, slots=True)
class Count:
    """The number of trials, and the expected cost of the missing trials."""

    trials: int
    missing: int | None
    """The number of missing trials, or `None` if it is unknown because the engine is not built."""
    simulated_s: float
    """The simulated seconds of the missing trials, or of all trials if `missing` is unknown."""
    expected: Expected | None = None
    """The expected run time of the missing trials, and size of their results, if known."""


class Laboratory:
    """The trials of a study in a folder, which run on demand."""

    def __init__(self, study: Study, asked: Asked, folder: Path | None = None) -> None:
        if len(registry.named(asked.engine)) != 1:
            raise RequestError("--engine: a study runs on one engine; give `sim` or `kernel`")
        self.study, self.asked = study, asked
        self.folder = folder or default_folder(study, asked.engine)
        _refuse_other_use(self.folder)
        refuse_links(self.folder, *_FOLDERS, of="study")
        self._plans: dict[str, Plan] = {}
        self._campaigns: dict[tuple[str, int], Campaign] = {}
        self._snapshots = Snapshots()

    def plan(self, scenario: str) -> Plan:
        """The plan of a scenario: every trial, with every requested seed."""
        if scenario not in self._plans:
            self._plans[scenario] = self._request(scenario, self.asked.seeds).plan()
        return self._plans[scenario]

    def planned(self, needs: Sequence[Trials]) -> dict[str, list[PlannedTrial]]:
        """The trials in `needs`, each once, by scenario."""
        found: dict[str, dict[str, PlannedTrial]] = {}
        for need in needs:
            own = need.of(self.plan(need.scenario))
            found.setdefault(need.scenario, {}).update((one.id, one) for one in own)
        return {scenario: list(own.values()) for scenario, own in found.items()}

    def count(self, needs: Sequence[Trials]) -> Count:
        """The number of trials in `needs`, how many have no result, and the cost of these."""
        if not self.asked.build and registry.unbuilt([self.asked.engine]):
            return self._count_unbuilt(needs)
        parts = self._parts(needs)
        missing = {part.folder: part.missing() for part in parts}
        left = [one for some in missing.values() for one in some]
        lots = [lot for one in parts for lot in one.lots(missing[one.folder])]
        return Count(
            sum(len(part.wanted) for part in parts),
            len(left),
            sum(map(simulated_s, left)),
            expected(lots) if left else None,
        )

    def paces(self, needs: Sequence[Trials]) -> dict[str, float]:
        """The seconds for one unit of cost on each engine, from earlier measurements."""
        return paces(lot for one in self._parts(needs) for lot in one.lots(one.needed()))

    def _count_unbuilt(self, needs: Sequence[Trials]) -> Count:
        """The count without the number of missing trials, which is unknown without the engine."""
        found = [one for own in self.planned(needs).values() for one in own]
        length_ns = sum(one.spec.duration_ns for one in found)
        return Count(len(found), None, length_ns / 1e9)

    def run(
        self,
        needs: Sequence[Trials],
        *,
        jobs: int | None = None,
        executor: Executor | TrialExecutor | None = None,
        progress: Progress | None = None,
        say: Say | None = None,
    ) -> RunReport:
        """Runs the missing trials of `needs`, in local processes or on `executor`."""
        parts = self._parts(needs, say)
        together = _Together(progress or Silence())
        open_parts = [part for part in parts if part.unrecorded()]
        together.start(parts, open_parts)
        report = RunReport()
        started = time.monotonic()
        # All parts share the processes because their start takes longer than many trials.
        with nullcontext(executor) if executor else Processes(jobs or cores()) as place:
            for part in open_parts:
                own = campaigns.run(
                    part.campaign, part.folder, executor=place, progress=together, only=part.wanted
                )
                report.run += own.run
                report.failed |= own.failed
        for part in parts:
            if part not in open_parts:
                campaigns.follow(part.campaign, part.folder)
        together.finish()
        report.seconds = time.monotonic() - started
        return report

    def results(self, *needs: Trials) -> Selection:
        """The results of the trials in `needs`."""
        parts = self._parts(needs)
        sources = [Source(part.folder, part.wanted, part.scenario) for part in parts]
        return Selection(sources, self.study.apps, self._snapshots)

    def _request(self, scenario: str, seeds: str | int) -> Request:
        path = self.study.scenario(scenario, self.asked.engine)
        asked = self.asked
        return Request(path, asked.sets, (), seeds, asked.duration, asked.engine, build=asked.build)

    def _parts(self, needs: Sequence[Trials], say: Say | None = None) -> list[Repetition]:
        return [
            self._part(scenario, seed, {one.id for one in trials}, say)
            for scenario, trials in self.planned(needs).items()
            for seed in numbers(self.asked.seeds)
        ]

    def _part(self, scenario: str, seed: int, wanted: set[str], say: Say | None) -> Repetition:
        campaign = self._campaign(scenario, seed, say)
        own = frozenset(one.id for one in campaign.trials if one.id in wanted)
        return Repetition(scenario, seed, campaign, self._place(scenario, seed), own)

    def _campaign(self, scenario: str, seed: int, say: Say | None) -> Campaign:
        """The complete campaign of one repetition."""
        key = scenario, seed
        if key not in self._campaigns:
            plan = self.plan(scenario)
            own = tuple(one for one in plan.trials if one.seed == seed)
            request = self._request(scenario, f"{seed}-{seed}")
            campaign = campaign_for(request, replace(plan, trials=own), say)
            # The key is checked, because the names of trials do not depend on the scenario's
            # content.
            refuse_other(campaign, Folder(self._place(scenario, seed)), self.folder / scenario)
            self._campaigns[key] = campaign
        return self._campaigns[key]

    def _place(self, scenario: str, seed: int) -> Path:
        return self.folder / scenario / f"seed-{seed}"


@dataclass(slots=True)
class _Together:
    """Reports the progress of several campaigns as a single campaign."""

    told: Progress

    def start(self, parts: Sequence[Repetition], open_parts: Sequence[Repetition]) -> None:
        """Reports the start of all campaigns."""
        trials = [one for part in parts for one in part.needed()]
        self.told.begin(trials, [one for part in open_parts for one in part.missing()])

    def finish(self) -> None:
        """Reports the end of all campaigns."""
        self.told.tables()

    def begin(self, trials: Sequence[Trial], missing: Sequence[Trial]) -> None:
        """Ignores the start of a single campaign."""

    def damaged(self, problem: str) -> None:
        """Forwards the message."""
        self.told.damaged(problem)

    def moved(self, trial: Trial, seconds: float) -> None:
        """Forwards the progress."""
        self.told.moved(trial, seconds)

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        """Forwards the result."""
        self.told.done(trial, problem, busy_s)

    def tables(self) -> None:
        """Ignores the end of a single campaign."""


def _refuse_other_use(folder: Path) -> None:
    """Raises `RequestError` if a study cannot write into `folder`.

    It cannot if `folder` is a file, the folder of a campaign, or within the tables or trial files
    of a campaign.
    """
    own = "give another with `--out DIR`"
    if folder.exists() and not folder.is_dir():
        raise RequestError(f"{folder}: is a file, not a folder", own)
    if (folder / MANIFEST).exists():
        raise RequestError(f"{folder}: is the folder of a campaign, not of a study", own)
    own_files.refuse_folder(folder)


def default_folder(study: Study, engine: str) -> Path:
    """The default folder of a study's trials. Each build of an engine has its own folder."""
    made_by = registry.identity(engine, versions())
    return (
        Path("results")
        / f"{study.name}-{engine}-{hashlib.sha256(made_by.encode()).hexdigest()[:8]}"
    )


def seeds_text(seeds: str | int) -> str:
    """The seeds in the words of a caption.

    >>> seeds_text(1), seeds_text(3), seeds_text("4-6"), seeds_text("7-7")
    ('seed 1', 'seeds 1 to 3', 'seeds 4-6', 'seed 7')
    """
    first, *others = numbers(seeds)
    if not others:
        return f"seed {first}"
    text = spelled(seeds)
    return f"seeds 1 to {text}" if isinstance(text, int) else f"seeds {text}"
