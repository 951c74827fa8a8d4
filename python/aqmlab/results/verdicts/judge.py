"""Verdicts on each application of a campaign, from its tables.

The core judges (`crates/verdict`). This module passes it the specification and the rows of each
trial, and the needs that the scenario states (`report.tolerances`, `report.rates` and
`report.requirements`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from aqmlab import _core
from aqmlab.base.failures import RequestError
from aqmlab.campaign.store.manifest import Manifest, TrialEntry
from aqmlab.results.labels import Label
from aqmlab.results.verdicts.verdict import Verdict, VerdictReport

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

_FLOWS, _APPS, _TRIALS = "flows", "apps", "trials"

_Rows = dict[str, list[Any]]
"""The rows of each trial, by the trial's name."""


def judge(results: CampaignResults) -> list[Verdict]:
    """The verdict for every application in every condition, in the campaign's order.

    There are no verdicts without the table `flows`. Raises `RequestError` if the stored
    specification of a trial cannot be read.
    """
    if _FLOWS not in results.tables:
        return []
    judged, numbers = _core.Judge(), dict[Label, int]()
    entries = {trial.id: trial for trial in results.manifest.trials}
    for part in results.by_chunk():
        flows, apps = _flow_rows(part), _app_rows(part)
        trials = part.table(_TRIALS)
        for trial, spec in zip(trials["trial"], trials["spec"], strict=True):
            entry = entries[trial]
            condition = numbers.setdefault(results.labels[trial], len(numbers))
            stated = _stated(results.manifest, entry)
            try:
                judged.add((condition, entry.seed), spec, stated, flows[trial], apps[trial])
            except ValueError:
                raise RequestError(
                    f"{results.path}: table `trials` is damaged: the specification of `{trial}`"
                    " cannot be read",
                    "restore the file from a copy, or remove the folder and run the campaign again",
                ) from None
    return _verdicts(judged.verdicts_json(), list(numbers))


def _verdicts(text: str, labels: Sequence[Label]) -> list[Verdict]:
    """The core's verdicts, with the label of each condition."""
    reports = msgspec.json.decode(text, type=list[VerdictReport])
    return [Verdict(label=labels[one.condition], **structs.asdict(one)) for one in reports]


def _flow_rows(results: CampaignResults) -> _Rows:
    import polars as pl

    frame, names = results.table(_FLOWS), _core.flow_numbers()
    unknown = pl.lit(float("nan"))
    numbers = [
        (pl.col(name).cast(pl.Float64) if name in frame.columns else unknown).fill_null(unknown)
        for name in names
    ]
    kept = frame.select(
        "trial", "flow", "direction", "primary", pl.concat_list(numbers).alias("numbers")
    )
    return _by_trial(kept)


def _app_rows(results: CampaignResults) -> _Rows:
    import polars as pl

    if _APPS not in results.tables:
        return defaultdict(list)
    wanted = results.table(_APPS).filter(pl.col("metric").is_in(_core.app_metrics()))
    value = pl.col("value").fill_null(pl.lit(float("nan")))
    return _by_trial(wanted.select("trial", "flow", "metric", value))


def _by_trial(frame: pl.DataFrame) -> _Rows:
    rows: _Rows = defaultdict(list)
    for trial, *row in frame.iter_rows():
        rows[trial].append(tuple(row))
    return rows


def _stated(manifest: Manifest, trial: TrialEntry) -> str:
    """The stated needs of a trial as JSON. A trial may override the needs of its campaign."""
    limits_ms, rates_mbit = trial.stated_tolerances_ms, trial.stated_rates_mbit
    if limits_ms is None:
        limits_ms = manifest.stated_tolerances_ms
    if rates_mbit is None:
        rates_mbit = manifest.stated_rates_mbit
    requirements = trial.stated_requirements
    if requirements is None:
        requirements = manifest.stated_requirements
    stated = {
        "limits_ms": dict(limits_ms or {}),
        "rates_mbit": dict(rates_mbit or {}),
        "requirements": dict(requirements or {}),
    }
    return msgspec.json.encode(stated).decode()
