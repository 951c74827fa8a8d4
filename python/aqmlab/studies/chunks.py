"""The chunks of video streams, a row each.

What players note of a chunk has rows of its own in `app_series`; here they stand side by side:

| Column        | Unit   | Meaning                                                                 |
|---------------|--------|-------------------------------------------------------------------------|
| `t_s`         | s      | when its last byte came                                                 |
| `ar_mbit`     | Mbit/s | achieved rate (AR): its bytes over the time from request to last byte   |
| `rr_mbit`     | Mbit/s | representation rate (RR)                                                |
| `player_mbit` | Mbit/s | the player's own sample, which leaves out the time to the first byte    |
| `fetch_s`     | s      | from the request to the last byte                                       |
| `chunk_bytes` | bytes  | its length, as the response's header says it                            |
| `buffer_s`    | s      | what is buffered with it                                                |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import Results


def of(results: Results) -> pl.DataFrame:
    """A row per chunk of each stream that arrived in the measured time."""
    if "chunks" not in results.memo:
        results.memo["chunks"] = _chunks(results)
    frame: pl.DataFrame = results.memo["chunks"]
    return frame


def _chunks(results: Results) -> pl.DataFrame:
    import polars as pl

    kinds = results.manifest["apps"]
    streams = [name for name, kind in kinds.items() if kind == "dash"]
    noted = results.table("app_series").filter(pl.col("flow").is_in(streams))
    keys = [name for name in noted.columns if name not in ("metric", "value")]
    wide = noted.pivot(on="metric", index=keys, values="value", aggregate_function="first")
    spans = results.table("trials").select("trial", _second("from").fill_null(0.0), _second("to"))
    end_s = pl.col("to").fill_null(float("inf"))
    measured = wide.join(spans, on="trial", maintain_order="left").filter(
        pl.col("t_s").is_between(pl.col("from"), end_s)
    )
    return measured.drop("from", "to")


def _second(name: str) -> pl.Expr:
    """A time of `measure` in a resolved trial."""
    import polars as pl

    path = f"$.measure.{name}_ns"
    return (pl.col("spec").str.json_path_match(path).cast(pl.Float64) / 1e9).alias(name)
