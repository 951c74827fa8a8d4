"""Verdicts as a table: one row per need of an application and condition.

The conditions come first and have the names of the other tables. There are no columns for trial and
seed: the judged numbers are medians over seeds. Unmeasured needs are omitted. If nothing was
measured for an application, all of its needs have rows that say so. An application is therefore
good if all of its rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aqmlab.campaign.store.layout import TRIALS
from aqmlab.results.verdicts.columns import COLUMNS, conditions
from aqmlab.results.verdicts.criteria import TIME
from aqmlab.results.verdicts.verdict import Finding, Verdict

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_WOULD_TAKE = "projected to take"


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
    rows = [
        (trials[verdict.label], verdict.app, verdict.kind, *row)
        for verdict in results.verdicts
        for row in _rows(verdict)
    ]
    made = pl.DataFrame(rows, schema=schema, orient="row")
    joined = made.join(trials_read, on="trial", how="left", maintain_order="left")
    return joined.select(*named.values(), *COLUMNS)


def _rows(verdict: Verdict) -> Iterator[tuple[Any, ...]]:
    """A row for each need, and one for a transfer's time if that time has no limit."""
    measured = [one for one in verdict.findings if one.value is not None]
    for finding in measured or verdict.findings:
        yield _row(finding, finding is verdict.deciding, verdict.seeds)
    if (time := verdict.duration) is not None:
        need = _WOULD_TAKE if time.projected else TIME.what
        limits, judged, spread = (None, None), (None, False), (time.least_ms, time.most_ms)
        yield need, time.ms, TIME.unit, *limits, *judged, str(time), verdict.seeds, *spread


def _row(finding: Finding, decides: bool, seeds: int) -> tuple[Any, ...]:
    criterion = finding.criterion
    return (
        criterion.what,
        finding.value,
        criterion.unit,
        criterion.good,
        criterion.tolerable,
        finding.word,
        decides,
        finding.brief,
        seeds,
        finding.lowest,
        finding.highest,
    )
