"""Verdicts and the Quality of Outcome as tables.

The table of verdicts has one row per need of an application in a condition.

The conditions come first and have the same names as in the other tables. A condition with the name
of a column of the computed table becomes `condition.NAME`. There are no columns for trial and seed:
the judged numbers are medians over seeds. Unmeasured needs are omitted. If nothing was measured for
an application, all of its needs have rows with the word "no data". An application without needs has
one row. A transfer's time that is not judged also has a row, without a verdict. The verdict on an
application is therefore good if all of its rows with a verdict are good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from aqmlab.campaign.store.layout import TRIALS
from aqmlab.results.verdicts.columns import COMPUTED, NAME, QUALITY, conditions
from aqmlab.results.verdicts.comparison import Baseline, BaselineComparison
from aqmlab.results.verdicts.verdict import (
    NO_NEEDS,
    Estimate,
    Finding,
    TransferTime,
    Verdict,
)

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_TOOK, _WOULD_TAKE = "transferred in", "projected to take"


def frame_of(results: CampaignResults, baseline: Baseline | None = None) -> pl.DataFrame:
    """The table of a campaign's verdicts, in the campaign's order.

    The differences are from `baseline`; `None` stands for the default of `BaselineComparison`.
    """
    return _frame(results, NAME, _rows, baseline)


def quality_of(results: CampaignResults) -> pl.DataFrame:
    """The table of the Quality of Outcome, in the campaign's order.

    In each condition, it has a row for each application with a requirement. The differences are
    from the default baseline.
    """
    return _frame(results, QUALITY, _quality, None)


def _frame(
    results: CampaignResults,
    name: str,
    rows_of: Callable[[str, Verdict, BaselineComparison], Iterator[tuple[object, ...]]],
    baseline: Baseline | None,
) -> pl.DataFrame:
    """The computed table `name` with the rows that `rows_of` makes of each verdict."""
    import polars as pl

    types = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BOOLEAN": pl.Boolean, "BIGINT": pl.Int64}
    columns = COMPUTED[name]
    schema = {"trial": pl.String, **{column: types[kind] for column, kind in columns.items()}}
    scanned = results.scan(TRIALS)
    named = conditions(scanned.collect_schema().names(), name)
    # One read of the files: `named` leaves out the specifications, which are most of their bytes.
    front = scanned.select("trial", *(pl.col(old).alias(new) for old, new in named.items()))
    trials_read = results.collected(TRIALS, front)
    finished = trials_read["trial"].to_list()
    trials = {results.labels[trial]: trial for trial in reversed(finished)}
    comparison = BaselineComparison(results.judged, baseline)
    rows = [
        row
        for verdict in results.judged
        for row in rows_of(trials[verdict.label], verdict, comparison)
    ]
    made = pl.DataFrame(rows, schema=schema, orient="row")
    joined = made.join(trials_read, on="trial", how="left", maintain_order="left")
    return joined.select(*named.values(), *columns)


class VerdictRow(NamedTuple):
    """A row of `verdicts`: a trial of the row's condition, and `COLUMNS` in order."""

    trial: str
    flow: str
    kind: str
    need: str = ""
    value: float | None = None
    unit: str = ""
    good_limit: float | None = None
    tolerable_limit: float | None = None
    verdict: str | None = None
    decides: bool = False
    margin: float | None = None
    because: str = ""
    seeds: int = 0
    least: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None
    sure: bool | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


def _rows(trial: str, verdict: Verdict, comparison: BaselineComparison) -> Iterator[VerdictRow]:
    """Yields the rows of a verdict.

    Each measured need has a row. If no need is measured, every need has a row. An application
    without needs has one row. A transfer's time that is not judged also has a row.
    """
    bare = VerdictRow(trial, verdict.app, verdict.kind, seeds=verdict.seeds)
    measured = [one for one in verdict.findings if one.value is not None]
    for finding in measured or verdict.findings:
        yield _judged(bare, finding, comparison.of(verdict, finding))
    if not verdict.findings:
        yield bare._replace(verdict=NO_NEEDS, decides=True, because=verdict.because)
    if verdict.time is not None:
        yield _timed(bare, verdict.time, verdict.told)


def _judged(bare: VerdictRow, finding: Finding, apart: Estimate | None) -> VerdictRow:
    """The row of a need. `apart` is the difference from the baseline."""
    over = finding.over_seeds
    return bare._replace(
        need=finding.need,
        value=finding.value,
        unit=finding.unit,
        good_limit=finding.good,
        tolerable_limit=finding.tolerable,
        verdict=finding.word,
        decides=finding.decides,
        margin=finding.margin,
        because=finding.brief,
        least=finding.least,
        most=finding.most,
        low=None if over is None else over.low,
        high=None if over is None else over.high,
        sure=finding.is_sure,
        difference=None if apart is None else apart.median,
        difference_low=None if apart is None else apart.low,
        difference_high=None if apart is None else apart.high,
    )


class QualityRow(NamedTuple):
    """A row of `quality`: a trial of the row's condition, and `QUALITY_COLUMNS` in order."""

    trial: str
    flow: str
    kind: str
    requirement: str
    qoo_percent: float | None
    qoo_latency_percent: float | None
    qoo_loss_percent: float | None
    qoo_rate_percent: float | None
    because: str
    source: str
    seeds: int
    low_percent: float | None
    high_percent: float | None
    difference_percent: float | None
    difference_low_percent: float | None
    difference_high_percent: float | None


def _quality(trial: str, verdict: Verdict, comparison: BaselineComparison) -> Iterator[QualityRow]:
    """Yields the row of `quality` for an application, if a requirement applies."""
    found = verdict.quality
    if found is None:
        return
    over, apart = found.over_seeds, comparison.of_quality(verdict)
    yield QualityRow(
        trial=trial,
        flow=verdict.app,
        kind=verdict.kind,
        requirement=found.requirement,
        qoo_percent=found.percent,
        qoo_latency_percent=found.latency_percent,
        qoo_loss_percent=found.loss_percent,
        qoo_rate_percent=found.rate_percent,
        because=found.because,
        source=found.source,
        seeds=verdict.seeds,
        low_percent=None if over is None else over.low,
        high_percent=None if over is None else over.high,
        difference_percent=None if apart is None else apart.median,
        difference_low_percent=None if apart is None else apart.low,
        difference_high_percent=None if apart is None else apart.high,
    )


def _timed(bare: VerdictRow, time: TransferTime, told: str) -> VerdictRow:
    """The row of a transfer's time, which has no limits."""
    return bare._replace(
        need=_WOULD_TAKE if time.projected else _TOOK,
        value=time.ms,
        unit="ms",
        because=told,
        least=time.least_ms,
        most=time.most_ms,
    )
