"""Runs cases on demand, in one campaign that holds all cases.

The whole campaign is planned, and only the cases that the search needs are run. The same request
continues in the same folder and repeats no trial.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from aqmlab import _core
from aqmlab.advise.cases import LOOP, GatewayCase
from aqmlab.api import Request, campaign_for, complete, default_folder
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.runner import Progress
from aqmlab.results.results import load
from aqmlab.results.verdicts.judge import judge
from aqmlab.results.verdicts.verdict import Verdict
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.seeds import numbers


class Service(NamedTuple):
    """The numbers of a case's applications by their verdicts, as the core counts them."""

    judged: int
    """The number of applications that can be judged."""
    bad: int
    not_good: int
    """The number of judged applications without a good verdict."""
    serves: bool
    """Whether applications were judged and none of them is bad."""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A case, with the verdict on each application over some seeds."""

    case: GatewayCase
    apps: Mapping[str, Verdict]

    @property
    def service(self) -> Service:
        """The numbers of the case's applications by their verdicts."""
        return Service(*_core.service([one.word for one in self.apps.values()]))


class Bench:
    """All cases of a search for advice as one campaign, which is run in parts."""

    def __init__(
        self,
        scenario: Scenario,
        name: str,
        cases: Sequence[GatewayCase],
        out: Path | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Plans the cases of `scenario`, which loops over them."""
        request = Request(scenario)
        self.plan = replace(request.plan(), name=f"advise-{name}")
        self.campaign = campaign_for(request, self.plan)
        self.folder = out or default_folder(self.campaign)
        self.seeds = numbers(scenario.seeds)
        self._jobs, self._progress = jobs, progress
        by_label = {one.label: one for one in cases}
        self._ids: dict[GatewayCase, dict[int, str]] = defaultdict(dict)
        for trial in self.plan.trials:
            self._ids[by_label[str(trial.conditions[LOOP])]][trial.seed] = trial.id
        self._ran: set[str] = set()
        self.trials = 0
        """The number of trials on which the advice is based so far."""

    def run(self, wanted: Iterable[tuple[GatewayCase, Sequence[int]]]) -> None:
        """Runs the missing trials of some cases, each with its own seeds."""
        ids = {self._ids[case][seed] for case, seeds in wanted for seed in seeds} - self._ran
        if not ids:
            return
        with Processes(self._jobs or campaigns.cores()) as place:
            report = campaigns.run(
                self.campaign, self.folder, executor=place, progress=self._progress, only=ids
            )
        complete(report)
        self._ran |= ids
        self.trials = len(self._ran)

    def outcomes(
        self, cases: Collection[GatewayCase], seeds: Sequence[int]
    ) -> dict[GatewayCase, CaseOutcome]:
        """The outcome of each case over `seeds`. The trials of these seeds must have run."""
        chosen = {self._ids[case][seed]: case for case in cases for seed in seeds}
        results = load(self.folder).narrowed(list(chosen))
        by_label = {results.labels[trial]: case for trial, case in chosen.items()}
        apps: dict[GatewayCase, dict[str, Verdict]] = {case: {} for case in cases}
        for one in judge(results):
            apps[by_label[one.label]][one.app] = one
        return {case: CaseOutcome(case, own) for case, own in apps.items()}
