"""What figures draw: rows of flows with their labels, and choices where there is too much."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import polars as pl

    from aqmlab.results.results import Results

T = TypeVar("T")

MOST_RATES = 4
MOST_RTTS = 4
MOST_APPS = 16
MOST_QUEUES = 8
_MOST_NAMES = 12


def spread(values: Sequence[T], most: int) -> list[T]:
    """At most `most` of `values`, first and last among them, evenly apart.

    >>> spread([1, 2, 3, 4, 5, 6, 7], 3), spread("ab", 3)
    ([1, 4, 7], ['a', 'b'])
    """
    if len(values) <= most:
        return list(values)
    if most == 1:
        return [values[0]]
    return [values[round(n * (len(values) - 1) / (most - 1))] for n in range(most)]


def ordered(frame: pl.DataFrame, column: str) -> list[str]:
    """The values of a column in the order of the campaign."""
    return frame[column].unique(maintain_order=True).to_list()


def chosen(frame: pl.DataFrame, column: str, most: int, what: str) -> tuple[list[str], list[str]]:
    """At most `most` values of a column, and a note that names what is left out, if that is few."""
    values = ordered(frame, column)
    kept = spread(values, most)
    gone = [value for value in values if value not in kept]
    if not gone:
        return kept, []
    names = f", not {', '.join(gone)}" if len(gone) <= _MOST_NAMES else ""
    return kept, [f"{len(kept)} of {len(values)} {what} are shown{names}"]


def carrying(results: Results, name: str) -> pl.DataFrame:
    """A table of flows, only those that carry data, with labels and the columns `app` and `copy`.

    Copies of an application have the same `app`, and a `copy` each. An application that carries
    data both ways is shown as two, with an arrow.
    """
    key = f"carrying {name}"
    if key not in results.memo:
        results.memo[key] = _carrying(results, name)
    frame: pl.DataFrame = results.memo[key]
    return frame


def _carrying(results: Results, name: str) -> pl.DataFrame:
    import polars as pl

    keys = ["trial", "flow", "direction"]
    frame = results.labelled(name)
    if name != "flows":
        primary = results.table("flows").filter(pl.col("primary")).select(keys)
        frame = frame.join(primary, on=keys, how="inner", maintain_order="left")
    else:
        frame = frame.filter(pl.col("primary"))
    groups = results.manifest.get("app_groups", {})
    both = (
        frame.group_by("flow").agg(pl.col("direction").n_unique().alias("ways"))
        if frame.height
        else pl.DataFrame({"flow": [], "ways": []}, schema={"flow": pl.String, "ways": pl.UInt32})
    )
    arrow = pl.col("direction").replace({"up": " ↑", "down": " ↓"})
    way = pl.when(pl.col("ways") > 1).then(arrow).otherwise(pl.lit(""))
    return frame.join(both, on="flow", how="left", maintain_order="left").with_columns(
        (pl.col("flow").replace(groups) + way).alias("app"), (pl.col("flow") + way).alias("copy")
    )


def examples(results: Results, most: int) -> tuple[Results, list[str], list[str]]:
    """The first trial of each queue at a few places, those places, and what is left out.

    A table over time has thousands of rows a trial; only those that are drawn are read.
    """
    import polars as pl

    trials = results.table("trials").select("trial").to_series()
    labels = pl.DataFrame(
        [(one, results.labels[one].place, results.labels[one].queue) for one in trials],
        schema=["trial", "place_label", "queue_label"],
        orient="row",
    )
    places, notes = chosen(labels, "place_label", most, "conditions")
    first = labels.filter(pl.col("place_label").is_in(places)).unique(
        ["place_label", "queue_label"], keep="first"
    )
    return results.narrowed(first["trial"].to_list()), places, notes


def medians(frame: pl.DataFrame, columns: Sequence[str], *keys: str) -> pl.DataFrame:
    """The median of each column over seeds and copies, by `keys`."""
    import polars as pl

    return frame.group_by(list(keys), maintain_order=True).agg(
        pl.col(column).median() for column in columns
    )


def seeds_note(results: Results) -> str:
    """How many seeds stand behind a number."""
    seeds = {trial["seed"] for trial in results.manifest["trials"]}
    return "one seed" if len(seeds) == 1 else f"median over {len(seeds)} seeds"


def span_note(results: Results) -> str:
    """Which part of the trial statistics are about."""
    start, end = results.manifest.get("measure_from_s", 0), results.manifest.get("duration_s", 0)
    return f"{start:g} to {end:g} s"


def place_note(rtts: Sequence[str]) -> str:
    """The round-trip times in a caption."""
    named = [rtt for rtt in rtts if rtt]
    return f"; RTT {', '.join(named)}" if named else ""


def slug(text: str) -> str:
    """A label as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")
