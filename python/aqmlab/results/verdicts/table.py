"""Verdicts as a table: one row per need of an application and condition.

The conditions come first and have the names of the other tables. There are no columns for trial and
seed: the judged numbers are medians over seeds. Unmeasured needs are omitted. If nothing was
measured for an application, all of its needs have rows with the word "no data". An application is
therefore good if all of its rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aqmlab.campaign.store.layout import TRIALS
from aqmlab.results.verdicts.columns import COLUMNS, conditions
from aqmlab.results.verdicts.comparison import BaselineComparison
from aqmlab.results.verdicts.verdict import NO_NEEDS, Finding, TransferTime, Verdict

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_TOOK, _WOULD_TAKE = "transferred in", "projected to take"


def frame_of(results: CampaignResults) -> pl.DataFrame:
    """The table of a campaign's verdicts, in the campaign's order."""
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
    comparison = BaselineComparison(results.judged)
    rows = [
        (trials[verdict.label], verdict.app, verdict.kind, *row)
        for verdict in results.judged
        for row in _rows(verdict, comparison)
    ]
    made = pl.DataFrame(rows, schema=schema, orient="row")
    joined = made.join(trials_read, on="trial", how="left", maintain_order="left")
    return joined.select(*named.values(), *COLUMNS)


def _rows(verdict: Verdict, comparison: BaselineComparison) -> Iterator[tuple[Any, ...]]:
    """A row for each need, and one for a transfer's time if that time has no limit."""
    measured = [one for one in verdict.findings if one.value is not None]
    for finding in measured or verdict.findings:
        yield _row(verdict, finding, comparison)
    if not verdict.findings:
        yield _unjudged("", None, "", (NO_NEEDS, True, None, verdict.because), verdict.seeds)
    if verdict.time is not None:
        yield _time_row(verdict.time, verdict)


def _row(verdict: Verdict, finding: Finding, comparison: BaselineComparison) -> tuple[Any, ...]:
    over, apart = finding.over_seeds, comparison.of(verdict, finding)
    return (
        finding.need,
        finding.value,
        finding.unit,
        finding.good,
        finding.tolerable,
        finding.word,
        finding.decides,
        finding.margin,
        finding.brief,
        verdict.seeds,
        finding.least,
        finding.most,
        *((None, None) if over is None else (over.low, over.high)),
        finding.is_sure,
        *((None, None, None) if apart is None else (apart.median, apart.low, apart.high)),
    )


def _time_row(time: TransferTime, verdict: Verdict) -> tuple[Any, ...]:
    need = _WOULD_TAKE if time.projected else _TOOK
    row = _unjudged(need, time.ms, "ms", (None, False, None, verdict.told), verdict.seeds)
    return (*row[:10], time.least_ms, time.most_ms, *row[12:])


def _unjudged(
    need: str, value: float | None, unit: str, judged: tuple[Any, ...], seeds: int
) -> tuple[Any, ...]:
    """A row without limits."""
    return (need, value, unit, None, None, *judged, seeds, *(None,) * 8)
