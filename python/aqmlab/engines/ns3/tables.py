"""Tables of a trial in ns-3, made from the times of packets at the hosts and the queue.

The definitions are in docs/reference/results.md. The tables have only the columns that the metrics
need.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from aqmlab.engines.ns3.plan import Ns3Plan
from aqmlab.engines.ns3.program import Made
from aqmlab.engines.trial_spec import AppSpec, TrialSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Passages = NDArray[np.void]
    Times = NDArray[np.float64]

Value = str | float | bool
Row = dict[str, Value]
Table = dict[str, list[Value]]

_WAYS = ("up", "down")


def of(spec: TrialSpec, plan: Ns3Plan, made: Made) -> dict[str, Table]:
    """The tables `flows`, `windows`, `rtt`, `queues`, `apps` and `tcp_series`."""
    ends_ns, apps = _apps(spec, plan, made)
    tables: dict[str, Table] = defaultdict(dict)
    for name, row in _flow_rows(spec, plan, made.packets, ends_ns):
        _add(tables[name], row)
    for row in _queue_rows(spec, made):
        _add(tables["queues"], row)
    tables["apps"] = apps
    tables["tcp_series"] = _windows(spec, made)
    for name in ("flows", "windows", "rtt"):
        tables.setdefault(name, {})
    for name, column in (("windows", "throughput_mbit"), ("rtt", "rtt_p50_ms")):
        for key in ("flow", "direction", "t_s", column):
            tables[name].setdefault(key, [])
    return dict(tables)


def _add(table: Table, row: Mapping[str, Value]) -> None:
    for name, value in row.items():
        table.setdefault(name, []).append(value)


# --- Flows -------------------------------------------------------------------------------------


def _flow_rows(
    spec: TrialSpec, plan: Ns3Plan, packets: Passages, ends_ns: list[int]
) -> Iterator[tuple[str, Row]]:
    for flow, app in enumerate(spec.apps):
        own = packets[packets["flow"] == flow]
        for way, direction in enumerate(_WAYS):
            mine, other = own[own["way"] == way], own[own["way"] != way]
            if not len(mine):
                continue
            names: Row = {"flow": app.name, "direction": direction}
            at_ns, rtt_ms = round_trips(mine, other)
            row = _flow(spec, mine, (plan.starts_ns[flow], ends_ns[flow]))
            row |= {"retransmissions": float(retransmissions(mine)), **_quantiles("rtt", rtt_ms)}
            yield "flows", names | {"primary": _primary(app, direction)} | row
            for t_s, value in _moving(spec, mine):
                yield "windows", names | {"t_s": t_s, "throughput_mbit": value}
            for t_s, value in _medians(spec, at_ns, rtt_ms):
                yield "rtt", names | {"t_s": t_s, "rtt_p50_ms": value}


def _primary(app: AppSpec, direction: str) -> bool:
    kind, params = app.app.kind, app.app.params
    if kind in ("irtt", "ping"):
        return True
    carries = params.get("direction", "up" if kind == "cbr" else "down")
    return carries in (direction, "both")


def _flow(spec: TrialSpec, mine: Passages, ran_ns: tuple[int, int]) -> Row:
    import numpy as np

    begin_ns, end_ns = spec.interval_ns
    counted = mine[(mine["sent"] >= begin_ns) & (mine["sent"] < end_ns)]
    arrived = counted["arrived"] > 0
    lost = int(np.count_nonzero(counted["lost"]))
    known = lost + int(np.count_nonzero(arrived))
    return {
        "packets_sent": len(counted),
        "packets_received": int(np.count_nonzero(arrived)),
        "lost": lost,
        "loss_percent": 100 * lost / known if known else math.nan,
        **_throughput(spec, mine, ran_ns),
    }


def _throughput(spec: TrialSpec, mine: Passages, ran_ns: tuple[int, int]) -> dict[str, float]:
    """The application's active time in the interval, and the throughput of `mine` in this time."""
    import numpy as np

    begin_ns, end_ns = spec.interval_ns
    start, end = (min(max(at, begin_ns), end_ns) for at in ran_ns)
    # The packet that arrives exactly at the end belongs to the transfer.
    inside = (mine["arrived"] > 0) & (mine["arrived"] >= start) & (mine["arrived"] <= end)
    bits = 8e3 * mine["length"][inside].astype(np.int64).sum()
    return {
        "active_from_s": start / 1e9,
        "active_to_s": end / 1e9,
        "throughput_mean_mbit": float(bits / (end - start)) if end > start else math.nan,
    }


def retransmissions(mine: Passages) -> int:
    """The number of segments that start below the highest sequence number sent before them."""
    import numpy as np

    count = 0
    data = mine[mine["payload"] > 0]
    for conn in np.unique(data["conn"]):
        own = data[data["conn"] == conn]
        ends = np.maximum.accumulate(own["sequence"].astype(np.int64) + own["payload"])
        count += int(np.count_nonzero(own["sequence"][1:] < ends[:-1]))
    return count


def round_trips(mine: Passages, other: Passages) -> tuple[Times, Times]:
    """Times (ns) and round-trip times (ms) of synthetic packet pairs at the sender of `mine`."""
    import numpy as np

    out, back = (packets[packets["arrived"] > 0] for packets in (mine, other))
    monitor = np.concatenate([out["arrived"], back["sent"]])
    reference = np.concatenate([out["sent"], back["arrived"]])
    inbound = np.repeat([0, 1], [len(out), len(back)])
    order = np.lexsort((inbound, monitor))
    monitor, reference, inbound = monitor[order], reference[order], inbound[order]
    # An inbound packet pairs with the outbound packet just before it. If another inbound packet is
    # directly before it, that packet has used the outbound packet.
    pairs = np.flatnonzero((inbound[1:] == 1) & (inbound[:-1] == 0))
    whole = reference[pairs + 1] - reference[pairs]
    away = monitor[pairs + 1] - monitor[pairs]
    return reference[pairs] + whole / 2, np.maximum(whole - away, 0) / 1e6


def _quantiles(name: str, values: Times) -> dict[str, float]:
    import numpy as np

    shares = (5, 50, 95, 99)
    found = np.percentile(values, shares) if len(values) else [math.nan] * len(shares)
    return {f"{name}_p{p}_ms": float(v) for p, v in zip(shares, found, strict=True)}


def _moving(spec: TrialSpec, mine: Passages) -> Iterator[tuple[float, float]]:
    """Yields the middle of each sliding window in seconds, and its throughput in Mbit/s."""
    import numpy as np

    step, wide = spec.measure.step_ns, spec.measure.window_ns
    at = mine["arrived"]
    steps = np.bincount(
        at[at > 0] // step, mine["length"][at > 0], minlength=spec.duration_ns // step
    )
    sums = np.convolve(steps, np.ones(wide // step), "valid")
    for first, size in enumerate(sums):
        yield (first * step + wide / 2) / 1e9, float(8e3 * size / wide)


def _medians(spec: TrialSpec, at_ns: Times, rtt_ms: Times) -> Iterator[tuple[float, float]]:
    import numpy as np

    step = spec.measure.step_ns
    places = (at_ns // step).astype(np.int64)
    for place in np.unique(places):
        yield (place + 0.5) * step / 1e9, float(np.median(rtt_ms[places == place]))


# --- Queues ------------------------------------------------------------------------------------


def _queue_rows(spec: TrialSpec, made: Made) -> Iterator[Row]:
    import numpy as np

    begin_ns, end_ns = spec.interval_ns
    for way, link in enumerate(spec.links):
        own = made.packets[(made.packets["way"] == way) & (made.packets["offered"] > 0)]
        out = own[own["out"] > 0]
        counted = out[(out["out"] >= begin_ns) & (out["out"] < end_ns)]
        sojourn_ms = (counted["out"] - counted["offered"]) / 1e6
        bits = 8 * int(out["length"].astype(np.int64).sum())
        yield {
            "link": link.name,
            "packets_offered": float(len(own)),
            "packets_out": float(len(out)),
            "utilisation": bits / link.rate_bps / spec.duration_s,
            **_reasons(link.name, made),
            **_quantiles("sojourn", sojourn_ms),
        }


def _reasons(link: str, made: Made) -> dict[str, float]:
    """The numbers of drops and marks of a link, by the columns of `queues` for ns-3's reasons."""
    found = dict.fromkeys(
        (
            "drops_overlimit", "drops_sojourn", "drops_early", "drops_forced", "drops_filtered",
            "marks",
        ), 0.0,
    )  # fmt: skip
    for said, *words in made.said:
        if said == "reason" and words[0] == link:
            found[_column(" ".join(words[2:]))] += int(words[1])
    return found


def _column(reason: str) -> str:
    """The column of `queues` for a reason of ns-3.

    >>> _column("Target exceeded drop"), _column("+Unforced mark"), _column("Forced drop")
    ('drops_sojourn', 'marks', 'drops_forced')
    """
    if reason.startswith("+"):
        return "marks"
    known = {"Target exceeded": "sojourn", "Unforced": "early", "Forced": "forced"}
    for part, column in known.items():
        if part in reason:
            return f"drops_{column}"
    return "drops_overlimit"


# --- Applications and windows ------------------------------------------------------------------


def _apps(spec: TrialSpec, plan: Ns3Plan, made: Made) -> tuple[list[int], Table]:
    """The end time of each application, and the table `apps` of the applications' own metrics."""
    done: dict[int, dict[int, int]] = defaultdict(dict)
    for said, *words in made.said:
        if said == "done":
            done[int(words[0])][int(words[1])] = int(words[2])
    opened = {
        (int(words[1]), int(words[2])): int(words[3])
        for words in map(str.split, plan.lines)
        if words[0] == "tcp"
    }
    table: Table = {"flow": [], "metric": [], "value": []}
    ends_ns = []
    for flow, app in enumerate(spec.apps):
        took_ms = [(at - opened[flow, conn]) / 1e6 for conn, at in sorted(done[flow].items())]
        over = app.app.kind == "bulk" and took_ms
        ends_ns.append(max(done[flow].values()) if over else _told_end(spec, app))
        for metric, value in _own(app, flow, took_ms, made):
            _add(table, {"flow": app.name, "metric": metric, "value": value})
    return ends_ns, table


def _told_end(spec: TrialSpec, app: AppSpec) -> int:
    return spec.duration_ns if app.stop_ns is None else app.stop_ns


def _own(app: AppSpec, flow: int, took_ms: list[float], made: Made) -> Iterator[tuple[str, float]]:
    import numpy as np

    kind = app.app.kind
    if kind == "bulk" and took_ms:
        yield "completion_time_s", max(took_ms) / 1e3
    elif kind == "bursts" and took_ms:
        yield "completion_p50_ms", float(np.median(took_ms))
        yield "completion_max_ms", max(took_ms)
    elif kind in ("irtt", "ping"):
        own = made.packets[made.packets["flow"] == flow]
        _, rtt_ms = round_trips(own[own["way"] == 0], own[own["way"] == 1])
        if len(rtt_ms):
            yield "rtt_p50_ms", float(np.median(rtt_ms))
            yield "rtt_max_ms", float(rtt_ms.max())


def _windows(spec: TrialSpec, made: Made) -> Table:
    """The table `tcp_series`: the congestion window of each flow's first sender at each sample."""
    table: Table = {name: [] for name in ("flow", "side", "conn", "t_s", "cwnd_bytes")}
    for said, *words in made.said:
        if said == "window":
            flow, way, at_ns, size = map(int, words)
            sides = {"flow": spec.apps[flow].name, "side": ("home", "wan")[way]}
            _add(table, sides | {"conn": 0, "t_s": at_ns / 1e9, "cwnd_bytes": size})
    return table
