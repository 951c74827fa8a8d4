"""The numbers that figures draw, as rows.

Every frame has the column `series` (the row's name in the legend), a column for each condition,
and `seed`. Rows about a trial have `middle`. Rows of quantiles have `least`, `low`, `middle`,
`high` and `most` (percentiles 5, 25, 50, 75 and 95). Rows over time have `t_s` and `value`. Rows of
a distribution have `value` and `share`. If an application is the series, `app` is its name in the
results, which determines its colour.

`apps` maps the figure's labels to applications, such as {"IoT_low": "iot_low"}. An application with
data in both directions is "video_call ↑" or "video_call ↓". With `by`, the value of this condition
names the series. With `by` and several applications, the label and the value name the series.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from aqmlab.base.failures import RequestError
from aqmlab.campaign.trial_facts import trials_with
from aqmlab.report.figures import data
from aqmlab.studies import chunks
from aqmlab.studies.numbers import refuse_unknown

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

Rows = Callable[["CampaignResults"], "pl.DataFrame"]
"""A function from results to rows."""

Apps = Mapping[str, str]
"""The application of each label in the figure."""

_PARTS = {"least": 5, "low": 25, "middle": 50, "high": 75, "most": 95}
DERIVED = frozenset(("series", *_PARTS, "value", "share", "app", "copy"))
"""The columns that rows add, so no condition of a figure may have their names."""

_SHARES = {"min": 0, "p1": 1, "p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99}


def flow_quantiles(quantity: str, unit: str, apps: Apps, by: str = "") -> Rows:
    """Quantiles of a quantity of `flows`: "throughput" in "mbit", "rtt" or "induced" in "ms"."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        frame = _carrying(results, "flows", apps, by)
        measured, less = (quantity, 0) if quantity != "induced" else ("rtt", frame["rtt_base_ms"])
        return frame.with_columns(
            (frame[f"{measured}_p{part}_{unit}"] - less).alias(name)
            for name, part in _PARTS.items()
        )

    return rows


def flow_numbers(column: str, apps: Apps, by: str = "") -> Rows:
    """A column of `flows`, such as "loss_percent"."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        frame = _carrying(results, "flows", apps, by)
        return frame.with_columns(frame[column].alias("middle"))

    return rows


def app_numbers(metric: str, apps: Apps, by: str = "") -> Rows:
    """The applications' own measurements, from `apps`, such as "completion_time_s"."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        own = _noted(results, "apps", metric, apps, by)
        return own.with_columns(own["value"].alias("middle"))

    return rows


def link_numbers(column: str, links: Apps, by: str = "") -> Rows:
    """A column of `queues`. `links` maps the figure's labels to links, such as {"uplink": "up"}."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        frame = results.table("queues")
        refuse_unknown("link", links.values(), data.ordered(frame, "link"))
        frame = _named(frame, "link", links, by)
        return frame.with_columns(frame[column].alias("middle"))

    return rows


def chunk_medians(flow: str, columns: Mapping[str, str]) -> Rows:
    """Quantiles over a stream's chunks, for series such as {"AR": "ar_mbit", "RR": "rr_mbit"}."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        frame = _chunks(results, {flow: flow})
        keys = ["trial", *results.manifest.conditions, "seed"]
        parts = [
            frame.group_by(keys, maintain_order=True)
            .agg(pl.col(column).quantile(part / 100, "linear").alias(name)
                 for name, part in _PARTS.items())
            .with_columns(pl.lit(shown).alias("series"), pl.lit(flow).alias("app"))
            for shown, column in columns.items()
        ]  # fmt: skip
        return pl.concat(parts)

    return rows


# --- Over time ---------------------------------------------------------------------------------


def rtt_over_time(apps: Apps, by: str = "", column: str = "rtt_mean_ms") -> Rows:
    """Round-trip times over time: the mean of each step, or another column of `rtt`."""
    return _over_time("rtt", column, apps, by)


def rate_over_time(apps: Apps, by: str = "") -> Rows:
    """Throughput over time, in windows."""
    return _over_time("windows", "throughput_mbit", apps, by)


def chunks_over_time(column: str, flows: Apps, by: str = "") -> Rows:
    """A column of each chunk of a stream: "ar_mbit", "rr_mbit" or "buffer_s"."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        frame = _chunks(results, flows, by)
        return frame.with_columns(frame[column].alias("value"))

    return rows


def _over_time(table: str, column: str, apps: Apps, by: str) -> Rows:
    def rows(results: CampaignResults) -> pl.DataFrame:
        frame = _carrying(results, table, apps, by)
        return frame.with_columns(frame[column].alias("value"))

    return rows


# --- Distributions -----------------------------------------------------------------------------


def rtt_shares(apps: Apps, by: str = "", *, induced: bool = False) -> Rows:
    """The distribution of round-trip times, or of induced RTTs, at the percentiles in `flows`."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        frame = _carrying(results, "flows", apps, by)
        less = frame["rtt_base_ms"] if induced else 0
        return pl.concat(
            frame.with_columns(
                (frame[f"rtt_{name}_ms"] - less).alias("value"), pl.lit(share / 100).alias("share")
            )
            for name, share in _SHARES.items()
        )

    return rows


def sample_shares(metric: str, flows: Apps, by: str = "") -> Rows:
    """The distribution of single samples of `app_series`, such as "rtt_ms" of a ping."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        own = _noted(results, "app_series", metric, flows, by)
        keys = ["series", "trial", *results.manifest.conditions, "seed"]
        samples = own.group_by(keys, maintain_order=True)
        return pl.concat(
            samples.agg(pl.col("value").quantile(part / 100, "linear")).with_columns(
                pl.lit(part / 100).alias("share")
            )
            for part in range(101)
        )

    return rows


def measured(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns `rows`; raises `RequestError` if there are none to draw."""
    if rows.is_empty():
        problem = "there are no measurements for this figure"
        raise RequestError(problem, "check `measure.from`, `measure.to` and the duration")
    return rows


# --- Selection of rows -------------------------------------------------------------------------


def _carrying(results: CampaignResults, table: str, apps: Apps, by: str) -> pl.DataFrame:
    """The rows of `table` for the data directions of `apps`, with the series of each row."""
    seen = data.ordered(data.carrying(results, "flows"), "app")
    shown = {name.rstrip(" ↑↓") for name in seen}
    groups = results.manifest.app_groups
    silent = [own for own in (groups.get(app, app) for app in _apps(results)) if own not in shown]
    known = [*seen, *(own + way for own in silent for way in ("", " ↑", " ↓"))]
    refuse_unknown("application", apps.values(), known)
    return _named(data.carrying(results, table), "app", apps, by)


def _noted(results: CampaignResults, table: str, metric: str, apps: Apps, by: str) -> pl.DataFrame:
    """The rows of a metric that the applications `apps` measure, with the series of each row."""
    refuse_unknown("application", apps.values(), _apps(results))
    frame = results.table(table)
    refuse_unknown("metric", [metric], data.ordered(frame, "metric"))
    return _named(frame.filter(frame["metric"] == metric), "flow", apps, by)


def _chunks(results: CampaignResults, flows: Apps, by: str = "") -> pl.DataFrame:
    """The rows of the chunks of the streams `flows`."""
    found = trials_with(results.manifest, "dash")
    streams = [name for name in _apps(results) if name in found]
    refuse_unknown("video stream", flows.values(), streams)
    return measured(_named(chunks.of(results), "flow", flows, by))


def _apps(results: CampaignResults) -> list[str]:
    """The applications of the trials, including applications without measurements."""
    trials = results.manifest.trials
    return list(dict.fromkeys(name for trial in trials for name in trial.rtt_base_ms))


def _named(frame: pl.DataFrame, column: str, apps: Apps, by: str) -> pl.DataFrame:
    """The rows of `apps`, in their order, with the series of each row."""
    import polars as pl

    shown = {app: name for name, app in apps.items()}
    order = {app: number for number, app in enumerate(shown)}
    own = frame.filter(pl.col(column).is_in(list(shown)))
    own = own.sort(pl.col(column).replace_strict(order, default=0), maintain_order=True)
    named = pl.col(column).replace(shown)
    if by:
        value = pl.col(by).cast(pl.String)
        named = value if len(apps) == 1 else pl.format("{}, {}", named, value)
    # Only a series that is an application's has the application's colour.
    is_app = not by and column != "link"
    app = pl.col(column).cast(pl.String) if is_app else pl.lit(None, pl.String)
    return own.with_columns(named.alias("series"), app.alias("app"))
