"""Results as plain values, for other programs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from aqmlab.results import summary
from aqmlab.results.labels import Label
from aqmlab.results.verdicts.comparison import Baseline, BaselineComparison
from aqmlab.results.verdicts.verdict import Finding, Quality, Verdict

if TYPE_CHECKING:
    from aqmlab.campaign.store.manifest import ConditionValue
    from aqmlab.results.results import CampaignResults

_THROUGHPUT = ("mean", "p5", "p25", "p50", "p75", "p95")
_RTT = ("p5", "p25", "p50", "p75", "p95", "p99")

_Row = dict[str, Any]
"""A row of a table: its values by the names of their columns."""

Values = dict[str, float | None]
"""Numbers by name; `None` for a number that is unknown."""


class SpreadNumbers(TypedDict):
    """The median of a number over seeds, with the ends of its range or of its interval."""

    median: float | None
    least: float
    most: float


class FlowNumbers(TypedDict):
    """The numbers of an application in one direction of a trial."""

    name: str
    direction: str
    primary: bool
    active_from_s: float | None
    active_to_s: float | None
    throughput_mbit: Values
    goodput_mbit: float | None
    rtt_ms: Values
    rtt_base_ms: float | None
    loss_percent: float | None
    app: Values
    """The application's own measurements."""
    over_seeds: NotRequired[dict[str, int | SpreadNumbers]]
    """The number of seeds, and the median and the range of each number over the seeds.

    It is absent if there is one seed, or if the application carries no data in this direction.
    """


class TrialNumbers(TypedDict):
    """A finished trial and its numbers, in the form of `--json`."""

    id: str
    conditions: Mapping[str, ConditionValue]
    seed: int
    digest: str
    flows: list[FlowNumbers]
    verdicts: NotRequired[dict[str, VerdictValues]]
    """The verdict on each application in the trial's condition, over all seeds."""


class NeedValues(TypedDict):
    """A need of an application in a condition, over all seeds."""

    need: str
    unit: str
    value: float | None
    good_limit: float
    tolerable_limit: float
    verdict: str
    margin: float | None
    interval: tuple[float, float] | None
    difference: SpreadNumbers | None
    """The paired difference from the baseline, with its interval.

    It is `None` in the baseline itself, and if no seed has a value in both conditions.
    """


class VerdictValues(TypedDict):
    """The verdict on an application in a condition, over all seeds."""

    verdict: str
    because: str
    sure: bool
    quality: QualityValues | None
    needs: list[NeedValues]


class QualityValues(TypedDict):
    """The Quality of Outcome of an application in a condition, from 0 to 100, over all seeds."""

    requirement: str
    source: str
    percent: float | None
    latency_percent: float | None
    loss_percent: float | None
    rate_percent: float | None
    because: str
    interval: tuple[float, float] | None


def trials_as_json(
    results: CampaignResults, baseline: Baseline | None = None
) -> list[TrialNumbers]:
    """One object per finished trial, in the campaign's order.

    Differences are from `baseline`; `None` stands for the default of `BaselineComparison`.
    """
    trials, spreads = trials_alone(results), _spreads(results)
    for trial in trials:
        for flow in trial["flows"]:
            key = results.labels[trial["id"]], flow["name"], flow["direction"]
            if key in spreads:
                flow["over_seeds"] = spreads[key]
    verdicts = _verdicts(results, baseline)
    for trial in trials:
        trial["verdicts"] = verdicts.get(results.labels[trial["id"]], {})
    return trials


def trials_alone(results: CampaignResults) -> list[TrialNumbers]:
    """The objects of `trials_as_json` without values over seeds and without verdicts."""
    flows = _rows_by_trial(results, "flows")
    apps = _apps(results)
    trials = results.table("trials")
    digests = dict(zip(trials["trial"], trials["digest"], strict=True))
    return [
        {
            "id": trial.id,
            "conditions": trial.conditions,
            "seed": trial.seed,
            "digest": digests[trial.id],
            "flows": [_flow(row, apps[trial.id]) for row in flows[trial.id]],
        }
        for trial in results.manifest.trials
        if trial.id in digests
    ]


def _verdicts(
    results: CampaignResults, baseline: Baseline | None
) -> dict[Label, dict[str, VerdictValues]]:
    """The verdict on each application, by condition and by the application's name."""
    comparison = BaselineComparison(results.judged, baseline)
    found: dict[Label, dict[str, VerdictValues]] = defaultdict(dict)
    for verdict in results.judged:
        needs = [_need(verdict, finding, comparison) for finding in verdict.findings]
        found[verdict.label][verdict.app] = {
            "verdict": verdict.word,
            "because": verdict.because,
            "sure": verdict.is_sure,
            "quality": None if verdict.quality is None else _quality(verdict.quality),
            "needs": needs,
        }
    return found


def _quality(found: Quality) -> QualityValues:
    over = found.over_seeds
    return {
        "requirement": found.requirement,
        "source": found.source,
        "percent": found.percent,
        "latency_percent": found.latency_percent,
        "loss_percent": found.loss_percent,
        "rate_percent": found.rate_percent,
        "because": found.because,
        "interval": None if over is None else (over.low, over.high),
    }


def _need(verdict: Verdict, finding: Finding, comparison: BaselineComparison) -> NeedValues:
    over, apart = finding.over_seeds, comparison.of(verdict, finding)
    difference = None
    if apart is not None:
        difference = SpreadNumbers(median=apart.median, least=apart.low, most=apart.high)
    return {
        "need": finding.need,
        "unit": finding.unit,
        "value": finding.value,
        "good_limit": finding.good,
        "tolerable_limit": finding.tolerable,
        "verdict": finding.word,
        "margin": finding.margin,
        "interval": None if over is None else (over.low, over.high),
        "difference": difference,
    }


def _spreads(
    results: CampaignResults,
) -> dict[tuple[Label, str, str], dict[str, int | SpreadNumbers]]:
    """The medians and ranges over the seeds of a condition, for flows that carry data.

    Conditions with one seed have no entry.
    """
    return {
        (line.label, line.app, line.direction): {
            "seeds": line.seeds,
            **{
                name: SpreadNumbers(median=getattr(line, name), least=least, most=most)
                for name, (least, most) in line.ranges.items()
            },
        }
        for line in summary.lines(results)
        if line.seeds > 1
    }


def _rows_by_trial(results: CampaignResults, name: str) -> dict[str, list[_Row]]:
    rows: dict[str, list[_Row]] = defaultdict(list)
    if name in results.tables:
        for row in results.table(name).iter_rows(named=True):
            rows[row["trial"]].append(row)
    return rows


def _apps(results: CampaignResults) -> dict[str, dict[str, Values]]:
    found: dict[str, dict[str, Values]] = defaultdict(lambda: defaultdict(dict))
    for trial, rows in _rows_by_trial(results, "apps").items():
        for row in rows:
            found[trial][row["flow"]][row["metric"]] = number(row["value"])
    return found


def _flow(row: _Row, apps: dict[str, Values]) -> FlowNumbers:
    return {
        "name": row["flow"],
        "direction": row["direction"],
        "primary": row["primary"],
        "active_from_s": number(row.get("active_from_s")),
        "active_to_s": number(row.get("active_to_s")),
        "throughput_mbit": {q: number(row[f"throughput_{q}_mbit"]) for q in _THROUGHPUT},
        "goodput_mbit": number(row.get("goodput_mbit")),
        "rtt_ms": {q: number(row[f"rtt_{q}_ms"]) for q in _RTT},
        "rtt_base_ms": number(row["rtt_base_ms"]),
        "loss_percent": number(row["loss_percent"]),
        "app": apps.get(row["flow"], {}),
    }


def number(value: float | None) -> float | None:
    """`value` for JSON: `None` if it is not finite."""
    return value if value is not None and math.isfinite(value) else None
