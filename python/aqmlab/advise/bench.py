"""Runs cases on demand, in one campaign that holds all cases.

The whole campaign is planned, and only the cases that the search needs are run. The same request
continues in the same folder and repeats no trial.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aqmlab.advise.cases import LOOP, GatewayCase
from aqmlab.api import Request, campaign_for, complete, default_folder
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.local_executor import Processes
from aqmlab.campaign.runner import Progress
from aqmlab.results.results import CampaignResults, load
from aqmlab.results.verdicts.judge import judge
from aqmlab.results.verdicts.verdict import BAD, GOOD, NO_NEEDS
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.seeds import numbers

ROUND_TRIPS = "round trips"
"""The name of the need that limits round-trip times."""


@dataclass(frozen=True, slots=True)
class AppOutcome:
    """An application in one case: its verdict, and the medians over seeds of its measurements."""

    word: str
    because: str
    missed: tuple[str, ...]
    """The needs with the verdict bad."""
    rtt_limit_ms: float | None
    """The limit of tolerable round trips, if the application has such a need."""
    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    mbit: float | None


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The outcome of a case over some seeds."""

    case: GatewayCase
    seeds: int
    apps: Mapping[str, AppOutcome]

    @property
    def bad(self) -> list[str]:
        """The applications with the verdict bad."""
        return [name for name, one in self.apps.items() if one.word == BAD]

    @property
    def unserved(self) -> list[str]:
        """The applications without a good verdict, except applications that cannot be judged."""
        return [name for name, one in self.apps.items() if one.word not in (GOOD, NO_NEEDS)]

    @property
    def serves(self) -> bool:
        """Whether no application has the verdict bad."""
        return not self.bad


class Bench:
    """All cases of an advice as one campaign, which is run in parts."""

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
        """The number of trials behind the advice."""

    def run(self, wanted: Iterable[tuple[GatewayCase, Sequence[int]]]) -> None:
        """Runs the missing trials of some cases, each with its seeds."""
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
        """The outcome of each case over `seeds`, which have run."""
        chosen = {self._ids[case][seed]: case for case in cases for seed in seeds}
        results = load(self.folder).narrowed(list(chosen))
        by_label = {results.labels[trial]: case for trial, case in chosen.items()}
        measured = _measured(results, chosen)
        apps: dict[GatewayCase, dict[str, AppOutcome]] = {case: {} for case in cases}
        for one in judge(results):
            case = by_label[one.label]
            known = measured.get((case, one.app), (None, None, None))
            missed = tuple(need.need for need in one.findings if need.word == BAD)
            need = one.finding(ROUND_TRIPS)
            limit_ms = None if need is None else need.tolerable
            apps[case][one.app] = AppOutcome(one.word, one.because, missed, limit_ms, *known)
        return {case: CaseOutcome(case, len(seeds), own) for case, own in apps.items()}

    def seeds_served(self, case: GatewayCase) -> int:
        """The number of seeds that, judged singly, show that a case serves everyone."""
        return sum(self.outcomes([case], [seed])[case].serves for seed in self.seeds)


_Numbers = tuple[float | None, float | None, float | None]


def _measured(
    results: CampaignResults, chosen: Mapping[str, GatewayCase]
) -> dict[tuple[GatewayCase, str], _Numbers]:
    """The medians over seeds of round-trip times and rates, each in its worst direction."""
    rows: dict[tuple[GatewayCase, str], dict[str, dict[str, list[float]]]] = {}
    columns = ("rtt_p50_ms", "rtt_p95_ms", "throughput_mean_mbit")
    flows = results.table("flows").filter("primary").select("trial", "flow", *columns)
    for trial, flow, *values in flows.iter_rows():
        own = rows.setdefault((chosen[trial], flow), {name: {} for name in columns})
        for name, value in zip(columns, values, strict=True):
            if value is not None:
                own[name].setdefault(trial, []).append(value)
    return {
        key: (
            _median(max(one) for one in own["rtt_p50_ms"].values()),
            _median(max(one) for one in own["rtt_p95_ms"].values()),
            _median(min(one) for one in own["throughput_mean_mbit"].values()),
        )
        for key, own in rows.items()
    }


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None
