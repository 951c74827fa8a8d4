"""Laws of the table of hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..trials import Row, Run


def hosts_are_sums_of_their_applications(run: Run) -> Iterator[str]:
    """A host's bytes are the sum over its applications.

    The host's active time spans the active times of the applications. The host's share is its part
    of the bytes of all flows in the direction.
    """
    for row in run.tables["hosts"]:
        place = f"{row['host']} {row['direction']}"
        flows = [flow for flow in run.tables["flows"] if flow["direction"] == row["direction"]]
        own = [flow for flow in flows if run.apps[flow["flow"]].get("host") == row["host"]]
        if row["apps"] != len(own):
            yield f"{place}: {row['apps']} applications, {len(own)} have rows"
        arrived = sum(map(_bytes, own))
        if not math.isclose(row["bytes_arrived"], arrived, rel_tol=1e-6, abs_tol=1):
            yield f"{place}: {row['bytes_arrived']} B, of its applications {arrived} B"
        span = (
            min(flow["active_from_s"] for flow in own),
            max(flow["active_to_s"] for flow in own),
        )
        if (row["active_from_s"], row["active_to_s"]) != span:
            yield f"{place}: active from {row['active_from_s']} to {row['active_to_s']} s"
        if not math.isclose(_bytes(row), row["bytes_arrived"], rel_tol=1e-6, abs_tol=1):
            yield f"{place}: {row['throughput_mean_mbit']} Mbit/s of {row['bytes_arrived']} B"
        total = sum(map(_bytes, flows))
        share = 100 * row["bytes_arrived"] / total if total else math.nan
        if not _equal(row["share_percent"], share):
            yield f"{place}: a share of {row['share_percent']} %, not {share} %"


def _bytes(row: Row) -> float:
    """The bytes that arrived in the active time, computed from the mean throughput."""
    active_s = row["active_to_s"] - row["active_from_s"]
    return row["throughput_mean_mbit"] * active_s * 1e6 / 8 if active_s else 0.0


def _equal(value: float, other: float) -> bool:
    """Returns whether two shares are equal. A share of a total of zero is NaN."""
    if math.isnan(other):
        return math.isnan(value)
    return math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-6)
