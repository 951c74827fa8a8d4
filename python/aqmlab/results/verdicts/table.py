"""Verdicts as a table: a row for each need of an application, in each condition.

It begins with the conditions, called as in the other tables, and has no trial and no seed: numbers
are the medians over seeds that were judged. A need of which nothing was measured has a row only
where nothing was measured of any, so that all of an application's rows are good if it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import Results
    from aqmlab.results.verdicts.criteria import Finding, Verdict

NAME = "verdicts"
"""What the table is called; it is in no file."""

COLUMNS = {
    "flow": "VARCHAR",
    "kind": "VARCHAR",
    "need": "VARCHAR",
    "value": "DOUBLE",
    "unit": "VARCHAR",
    "good_limit": "DOUBLE",
    "tolerable_limit": "DOUBLE",
    "verdict": "VARCHAR",
    "decides": "BOOLEAN",
    "because": "VARCHAR",
    "seeds": "BIGINT",
    "least": "DOUBLE",
    "most": "DOUBLE",
}
"""The columns after the conditions, and their types as SQL calls them."""

_WOULD_TAKE = "projected to take"


def conditions(of_trials: Iterable[str]) -> dict[str, str]:
    """What the conditions in the columns of the table `trials` are called in that of verdicts."""
    from aqmlab.campaign.store.parquet import OF_TRIALS

    others = {"trial", "seed", *OF_TRIALS}
    found = [name for name in of_trials if name not in others]
    return {name: f"condition.{name}" if name.casefold() in COLUMNS else name for name in found}


def frame_of(results: Results) -> pl.DataFrame:
    """The table of a campaign's verdicts, in the campaign's order."""
    import polars as pl

    from aqmlab.campaign.store.parquet import TRIALS

    types = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BOOLEAN": pl.Boolean, "BIGINT": pl.Int64}
    schema = {"trial": pl.String, **{name: types[kind] for name, kind in COLUMNS.items()}}
    trials = {label: trial for trial, label in reversed(results.labels.items())}
    rows = [
        (trials[verdict.label], verdict.app, verdict.kind, *row)
        for verdict in results.verdicts
        for row in _rows(verdict)
    ]
    scanned = results.scan(TRIALS)
    named = conditions(scanned.collect_schema().names())
    front = scanned.select("trial", *(pl.col(old).alias(new) for old, new in named.items()))
    made = pl.DataFrame(rows, schema=schema, orient="row")
    joined = made.join(front.collect(), on="trial", how="left", maintain_order="left")
    return joined.select(*named.values(), *COLUMNS)


def _rows(verdict: Verdict) -> Iterator[tuple[Any, ...]]:
    """What is said of each need, and of how long a transfer takes where no limit is for that."""
    from aqmlab.results.verdicts.criteria import TIME  # not needed to know the columns

    measured = [one for one in verdict.findings if one.value is not None]
    for finding in measured or verdict.findings:
        yield _row(finding, finding is verdict.deciding, verdict.seeds)
    if (time := verdict.duration) is not None:
        need = _WOULD_TAKE if time.projected else TIME.what
        limits, judged, spread = (None, None), (None, False), (time.least_ms, time.most_ms)
        yield need, time.ms, TIME.unit, *limits, *judged, str(time), verdict.seeds, *spread


def _row(finding: Finding, decides: bool, seeds: int) -> tuple[Any, ...]:
    check = finding.check
    return (
        check.what,
        finding.value,
        check.unit,
        check.good,
        check.tolerable,
        finding.word,
        decides,
        finding.brief,
        seeds,
        finding.lowest,
        finding.highest,
    )
