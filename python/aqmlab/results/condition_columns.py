"""Adds the numbers of conditions to tables that earlier versions wrote without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from aqmlab.campaign.store.columns import LABELS, LAST
from aqmlab.campaign.store.condition_numbers import PATH, RTT_BASE, columns
from aqmlab.campaign.store.manifest import Manifest

if TYPE_CHECKING:
    import polars as pl


def with_numbers(
    rows: pl.LazyFrame, manifest: Manifest, taken: Callable[[], Iterable[str]]
) -> pl.LazyFrame:
    """The rows of a table with the numbers of conditions.

    If the numbers are absent, they are computed from the manifest. `taken` returns the names of the
    columns of all tables.
    """
    import polars as pl

    own = rows.collect_schema().names()
    if PATH[0] in own:
        return rows
    folded = {name.casefold() for name in (*taken(), *LABELS)}
    numbers = columns(manifest.trials)
    bases = {RTT_BASE: numbers.pop(RTT_BASE, [])}
    named = {
        name if name in PATH or name.casefold() not in folded else f"condition.{name}": values
        for name, values in numbers.items()
    }
    of_trial = {"trial": [one.id for one in manifest.trials], **named}
    if RTT_BASE not in own and "flow" not in own:
        of_trial |= bases
    types = dict.fromkeys(of_trial, pl.Float64()) | {"trial": pl.String()}
    joined = rows.join(pl.LazyFrame(of_trial, types), "trial", "left", maintain_order="left")
    if RTT_BASE not in own and "flow" in own:
        keys = ["trial", "flow"]
        joined = joined.join(_of_flows(manifest), on=keys, how="left", maintain_order="left")
    added = [name for name in joined.collect_schema().names() if name not in own]
    place = own.index(LAST)
    return joined.select(*own[:place], *added, *own[place:])


def _of_flows(manifest: Manifest) -> pl.LazyFrame:
    """A frame with the base round-trip time of each application of each trial."""
    import polars as pl

    told = [(one.id, *base) for one in manifest.trials for base in one.rtt_base_ms.items()]
    types = {"trial": pl.String(), "flow": pl.String(), RTT_BASE: pl.Float64()}
    return pl.LazyFrame(told, types, orient="row")
