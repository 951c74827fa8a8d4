"""Rows of numbers that only the figures of this study draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from aqmlab.results import spans
from aqmlab.studies.draw import Rows

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults

GATEWAY = "gateway"

LINE_MBIT = {
    "adsl": {"down": 16.0, "up": 2.4},
    "vdsl": {"down": 50.0, "up": 10.0},
    "docsis": {"down": 100.0, "up": 10.0},
    "ethernet": {"down": 100.0, "up": 100.0},
    "gpon": {"down": 500.0, "up": 100.0},
}
"""The rates of the access line of each scenario."""

BULK = {"down": ("mother-update", "teenager-download"), "up": ("mother-backup",)}
"""The transfers that use the capacity that other applications leave."""

_PARTS = {"least": 0.05, "low": 0.25, "middle": 0.5, "high": 0.75, "most": 0.95}


def worse(app: str, metric: str, pick: Literal["min", "max"]) -> Rows:
    """The value of a call's metric in the worse direction.

    In the name of the metric, such as "mos_{}", `{}` stands for the direction. `pick` states
    whether the minimum or the maximum is worse.
    """

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        names = [metric.format(way) for way in ("up", "down")]
        own = results.table("apps").filter((pl.col("flow") == app) & pl.col("metric").is_in(names))
        value = pl.col("value").min() if pick == "min" else pl.col("value").max()
        return _by_gateway(results, own, value)

    return rows


def line_share(way: str, flows: Mapping[str, Sequence[str]] | None = None) -> Rows:
    """The goodput of all data in a direction, or of `flows`, in per cent of the line's rate."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        own = _goodputs(results, way, None if flows is None else flows[way])
        line = pl.col("scenario").cast(pl.String).replace_strict(
            {name: rates[way] for name, rates in LINE_MBIT.items()}
        )  # fmt: skip
        return _by_gateway(results, own, (100 * pl.col("goodput_mbit") / line).sum())

    return rows


def host_share(one: str, many: str) -> Rows:
    """The share of the download `one` in the goodput of `one` and `many`, in per cent."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        own = _goodputs(results, "down", (one, many))
        rate = pl.col("goodput_mbit")
        share = 100 * rate.filter(pl.col("flow") == one).sum() / rate.sum()
        return _by_gateway(results, own, share)

    return rows


def sample_quantiles(app: str, metric: str) -> Rows:
    """Quantiles over an application's samples of a metric in the measured interval."""

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        own = results.table("app_series").filter(
            (pl.col("flow") == app) & (pl.col("metric") == metric) & _is_measured(results)
        )
        found = own.group_by(_trial(results), maintain_order=True).agg(_quantiles())
        return found.with_columns(pl.col(GATEWAY).cast(pl.String).alias("series"))

    return rows


def gauge_quantiles(link: str, gauges: Mapping[str, str], least: float) -> Rows:
    """Quantiles over the samples of gauges of a link's queue in the measured interval.

    A value below `least` counts as `least`, because a logarithmic axis has no zero.
    """

    def rows(results: CampaignResults) -> pl.DataFrame:
        import polars as pl

        shown = {gauge: name for name, gauge in gauges.items()}
        own = results.table("queue_gauges").filter(
            (pl.col("link") == link) & pl.col("gauge").is_in(list(shown)) & _is_measured(results)
        )
        order = {gauge: number for number, gauge in enumerate(shown)}
        own = own.sort(pl.col("gauge").replace_strict(order), maintain_order=True)
        found = (
            own.with_columns(pl.col("value").clip(lower_bound=least))
            .group_by(*_trial(results), "gauge", maintain_order=True)
            .agg(_quantiles())
        )
        return found.with_columns(pl.col("gauge").replace_strict(shown).alias("series"))

    return rows


def _trial(results: CampaignResults) -> list[str]:
    return ["trial", *results.manifest.conditions, "seed"]


def _is_measured(results: CampaignResults) -> pl.Expr:
    """Whether the time of a row is in the interval that the statistics of its trial cover."""
    import polars as pl

    found = spans.of_trials(results.manifest)
    trial = pl.col("trial").cast(pl.String)
    from_s = trial.replace_strict({name: span.measure_from_s for name, span in found.items()})
    to_s = trial.replace_strict({name: span.measure_to_s for name, span in found.items()})
    return pl.col("t_s").is_between(from_s, to_s)


def _quantiles() -> list[pl.Expr]:
    import polars as pl

    return [pl.col("value").quantile(part, "linear").alias(name) for name, part in _PARTS.items()]


def _goodputs(results: CampaignResults, way: str, flows: Sequence[str] | None) -> pl.DataFrame:
    """The rows of all flows, or of `flows`, that carry data in the direction `way`."""
    import polars as pl

    own = results.table("flows").filter((pl.col("direction") == way) & pl.col("primary"))
    return own if flows is None else own.filter(pl.col("flow").is_in(list(flows)))


def _by_gateway(results: CampaignResults, own: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """A row per trial with `value` over the rows of the trial; the gateways are the series."""
    import polars as pl

    found = own.group_by(_trial(results), maintain_order=True).agg(value.alias("middle"))
    return found.with_columns(pl.col(GATEWAY).cast(pl.String).alias("series"))
