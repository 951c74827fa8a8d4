"""Verdicts as a table: one row per need of an application and condition.

The conditions come first and have the same names as in the other tables. A condition with the name
of a column of this table becomes `condition.NAME`. There are no columns for trial and seed: the
judged numbers are medians over seeds. Unmeasured needs are omitted. If nothing was measured for an
application, all of its needs have rows with the word "no data". The verdict on an application is
therefore good if all of its rows are good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from aqmlab.campaign.store.layout import TRIALS
from aqmlab.results.verdicts.columns import COLUMNS, conditions
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

    The differences are from `baseline`, by default the first condition.
    """
    import polars as pl

    types = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BOOLEAN": pl.Boolean, "BIGINT": pl.Int64}
    schema = {"trial": pl.String, **{name: types[kind] for name, kind in COLUMNS.items()}}
    scanned = results.scan(TRIALS)
    named = conditions(scanned.collect_schema().names())
    # One read of the files: `named` leaves out the specifications, which are most of their bytes.
    front = scanned.select("trial", *(pl.col(old).alias(new) for old, new in named.items()))
    trials_read = front.collect()
    finished = trials_read["trial"].to_list()
    trials = {results.labels[trial]: trial for trial in reversed(finished)}
    comparison = BaselineComparison(results.judged, baseline)
    rows = [
        row
        for verdict in results.judged
        for row in _rows(trials[verdict.label], verdict, comparison)
    ]
    made = pl.DataFrame(rows, schema=schema, orient="row")
    joined = made.join(trials_read, on="trial", how="left", maintain_order="left")
    return joined.select(*named.values(), *COLUMNS)


class VerdictRow(NamedTuple):
    """A row of the table: the trial with the conditions, and the columns `COLUMNS` in order."""

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
    """A row for each measured need, and a row for a transfer's time if that time is not judged."""
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
