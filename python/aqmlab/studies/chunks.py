"""The chunks of video streams as a capture shows them: from the request to the last byte.

A player's own samples leave out the time to the first byte (dash.js 2.0.0 does), so a chunk that
arrives in one burst after seconds in a queue looks fast to it. The achieved rate (AR) of the
papers comes from captures: a chunk's size over the time that getting it took, of which waiting
for the answer is a part.

The request's time follows from what the player notes: it asks for a chunk when the one before is
there, unless its buffer is full; then it looks again every second. Sizes are nominal: the
representation's rate times the length of a chunk.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results import Results

CHUNK_S = 2.0
"""The papers' chunks."""

_FULL_S, _FULL_AT_TOP_S = 12.0, 30.0
"""Buffer from which dash.js 2.0.0 waits: below and at the highest rate."""

_JUST_BELOW_TOP_MBIT = 4.2
"""The highest rate of the papers' Big Buck Bunny is 4.2199 Mbit/s."""

_POLL_S = 1.0


def of(results: Results) -> pl.DataFrame:
    """A row per chunk that arrived in the measured time: `ar_mbit`, `rr_mbit` and when.

    `player_ar_mbit` is the player's own sample, of the chunk's true size.
    """
    if "chunks" not in results.memo:
        results.memo["chunks"] = _chunks(results)
    frame: pl.DataFrame = results.memo["chunks"]
    return frame


def _chunks(results: Results) -> pl.DataFrame:
    import polars as pl

    kinds = results.manifest["apps"]
    noted = results.table("app_series").filter(
        pl.col("flow").is_in([name for name, kind in kinds.items() if kind == "dash"])
    )
    keys = [name for name in noted.columns if name not in ("metric", "value")]
    wide = noted.pivot(on="metric", index=keys, values="value", aggregate_function="first")
    start_s = float(results.manifest["measure_from_s"])
    rows: list[dict[str, Any]] = []
    for _, stream in wide.group_by(["trial", "flow"], maintain_order=True):
        own = stream.sort("t_s").rows(named=True)
        rows += (row for row in _with_rates(own) if row["t_s"] >= start_s)
    empty = wide.clear().with_columns(pl.lit(None, pl.Float64).alias("player_ar_mbit"))
    return pl.DataFrame(rows, schema=empty.schema)


def _with_rates(stream: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The chunks of a stream, the first left out, with AR as a capture has it."""
    for before, row in itertools.pairwise(stream):
        took_s = row["t_s"] - asked_s(before)
        if took_s > 0:
            yield {
                **row,
                "player_ar_mbit": row["ar_mbit"],
                "ar_mbit": row["rr_mbit"] * CHUNK_S / took_s,
            }


def asked_s(before: Mapping[str, Any]) -> float:
    """When the chunk after `before` was asked for.

    >>> asked_s({"t_s": 50.0, "buffer_s": 7.0, "rr_mbit": 0.4})
    50.0
    >>> asked_s({"t_s": 50.0, "buffer_s": 13.2, "rr_mbit": 0.4})
    52.0
    """
    full_s = _FULL_AT_TOP_S if before["rr_mbit"] > _JUST_BELOW_TOP_MBIT else _FULL_S
    wait_s = 0.0
    if before["buffer_s"] >= full_s:
        wait_s = _POLL_S * (math.floor((before["buffer_s"] - full_s) / _POLL_S) + 1)
    return float(before["t_s"]) + wait_s
