"""A table of the chunks of video streams, with one row per chunk.

In `app_series`, each measurement of a chunk has its own row. In this table, each measurement has a
column:

| Column        | Unit   | Meaning                                                     |
|---------------|--------|-------------------------------------------------------------|
| `t_s`         | s      | time of the last byte's arrival                             |
| `ar_mbit`     | Mbit/s | achieved rate (AR): bytes / time from request to last byte  |
| `rr_mbit`     | Mbit/s | representation rate (RR)                                    |
| `player_mbit` | Mbit/s | the player's own sample, without the time to the first byte |
| `fetch_s`     | s      | time from the request to the last byte                      |
| `chunk_bytes` | bytes  | length in the response's header                             |
| `buffer_s`    | s      | media in the player's buffer, including the chunk           |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aqmlab.report.figures import data

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import CampaignResults


def of(results: CampaignResults) -> pl.DataFrame:
    """The table of the chunks that arrived in the measured interval, of every stream.

    `results.memo` keeps the table for the next call.
    """
    if "chunks" not in results.memo:
        results.memo["chunks"] = _chunks(results)
    return results.memo["chunks"]


def _chunks(results: CampaignResults) -> pl.DataFrame:
    import polars as pl

    noted = results.table("app_series").filter(data.of_kind(results, "dash"))
    keys = [name for name in noted.columns if name not in ("metric", "value")]
    wide = noted.pivot(on="metric", index=keys, values="value", aggregate_function="first")
    return measured(results, wide, pl.col("t_s"), pl.col("t_s"))


def measured(
    results: CampaignResults, rows: pl.DataFrame, start_s: pl.Expr, end_s: pl.Expr
) -> pl.DataFrame:
    """The rows that lie wholly within the measured interval of their own trial."""
    import polars as pl

    spans = results.table("trials").select("trial", _second("from").fill_null(0.0), _second("to"))
    within = (start_s >= pl.col("_from")) & (end_s <= pl.col("_to").fill_null(float("inf")))
    joined = rows.join(spans, on="trial", maintain_order="left")
    return joined.filter(within).drop("_from", "_to")


def _second(name: str) -> pl.Expr:
    """The time `measure.NAME` of each trial in seconds, as the column `_NAME`.

    The column cannot be a condition, because no condition begins with "_".
    """
    import polars as pl

    path = f"$.measure.{name}_ns"
    return (pl.col("spec").str.json_path_match(path).cast(pl.Float64) / 1e9).alias(f"_{name}")
