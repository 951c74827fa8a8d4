"""Files as TEACUP's analysis leaves them, for scripts that read those.

A campaign becomes a folder PREFIX, in it for each experiment and flow the files
`PREFIX_SHORT_VALUE…_run_N_SOURCE_PORT_DESTINATION_PORT.EXT`, and beside it the list of
experiments. Times are seconds since 1970; captures, and so these, begin at midnight of the first
day of 2020.

- `.psiz`: time at the receiver, bytes of IP; separated by a space
- `.rtts`: time, round-trip time in s by synthetic packet pairs; separated by a space
- `_siftr.cwnd` of a host with FreeBSD, `_web10g.cwnd` of others: time, window in bytes
- `_siftr.tcp_rtt`, `_web10g.tcp_rtt`: time, smoothed round-trip time in ms, and the same again
- `CLIENT_NUMBER_httperf_dash.dashgp`: time of the request, bytes, Mbit/s, response time in s,
  length of the chunk in s, nominal kbit/s, number

Source: TEACUP 1.1, `analyse.py` and `analysecmpexp.py`.

Differences: packets without ports have the port 0, where TEACUP leaves them out; TCP's samples of
round-trip times are not known, so the smoothed one fills both columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aqmlab import _core
from aqmlab.results.export import packets
from aqmlab.results.labels import condition_text

if TYPE_CHECKING:
    from aqmlab.results.export.trials import TrialRows

TABLES = ("tcp_series", "app_series")
"""What is needed of a trial besides its packets."""

COMPLETED = "experiments_completed.txt"
"""The list of experiments, as TEACUP keeps it where it was run."""

PREFIX = "exp_20200101-000000"
"""What experiments are called that no TEACUP config has named."""

_EPOCH_S = 1_577_836_800
_TEACUP_ID = re.compile(r"[^=]+_run_\d+")


class Experiment(NamedTuple):
    """What TEACUP calls a trial."""

    prefix: str
    id: str


def experiment(trial: Mapping[str, Any], seeds: Sequence[int]) -> Experiment:
    """The name of a trial, by its entry in the manifest; `seeds` are those of its campaign.

    >>> experiment({"id": "a", "seed": 7, "conditions": {"path.qdisc": "fq_codel"}}, [5, 7]).id
    'exp_20200101-000000_qdisc_fq-codel_run_1'
    """
    conditions = trial["conditions"]
    if _TEACUP_ID.fullmatch(trial["id"]):
        first = next(iter(conditions), "run")
        prefix = trial["id"].partition(f"_{first}_")[0]
        if prefix not in ("", ".", ".."):  # which would be other folders
            return Experiment(prefix, trial["id"])
    varied = "".join(f"_{_short(name)}_{_value(value)}" for name, value in conditions.items())
    return Experiment(PREFIX, f"{PREFIX}{varied}_run_{sorted(seeds).index(trial['seed'])}")


def _short(name: str) -> str:
    return re.sub("[^A-Za-z0-9]", "", name.rpartition(".")[2]) or "v"


def _value(value: Any) -> str:
    """A value as TEACUP writes it: without the character that parts names from values."""
    return re.sub("[^A-Za-z0-9.]+", "-", condition_text(value)).strip("-")


def files(trial: TrialRows, name: str) -> Iterator[tuple[str, bytes]]:
    """The files of an experiment called `name`; the trial is run again for its packets.

    Raises `RequestError` if its engine keeps no packets.
    """
    with packets.of_trial(trial) as ends:
        home, wan = (packets.read(path) for path in ends)
        trips = _core.spp(*map(str, ends), json.dumps({"synchronised": True, "samples": True}))
    yield from _named(name, _sizes(home, wan))
    yield from _named(name, _round_trips(trips, min(home.at_s.min(), wan.at_s.min())))
    yield from _named(name, _tcp(trial, home))
    yield from _named(name, _chunks(trial))


def _named(name: str, texts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    for ending, text in texts:
        yield f"{name}_{ending}", text.encode()


def _sizes(home: packets.Packets, wan: packets.Packets) -> Iterator[tuple[str, str]]:
    for direction, received in (("up", wan), ("down", home)):
        came = received.going(direction)
        for flow, chosen in came.by_flow():
            own = came.where(chosen)
            pairs = zip(own.at_s.tolist(), own.ip_bytes.tolist(), strict=True)
            yield f"{flow}.psiz", "".join(f"{at:.6f} {size}\n" for at, size in pairs)


def _round_trips(measured: dict[str, Any], begins_s: float) -> Iterator[tuple[str, str]]:
    flows, samples = measured["flows"], measured["samples"]
    if not samples:
        return
    rows = np.asarray(samples["row"], np.int64)
    at_s = np.asarray(samples["at_s"]) + begins_s
    rtt_s = np.asarray(samples["rtt_ms"]) / 1e3
    for row, (start, end) in enumerate(zip(flows["from"], flows["to"], strict=True)):
        own = rows == row
        pairs = zip(at_s[own].tolist(), rtt_s[own].tolist(), strict=True)
        text = "".join(f"{at:.6f} {rtt:.6f}\n" for at, rtt in pairs)
        if text:
            yield f"{_end(start)}_{_end(end)}.rtts", text


def _end(text: str) -> str:
    """An address and a port as file names have them.

    >>> _end("172.16.10.2 port 10000"), _end("172.16.10.3")
    ('172.16.10.2_10000', '172.16.10.3_0')
    """
    address, _, port = text.partition(" port ")
    return f"{address}_{port or 0}"


def _tcp(trial: TrialRows, home: packets.Packets) -> Iterator[tuple[str, str]]:
    """What the senders' kernels would have logged, of each connection that sent data."""
    for number, app in enumerate(trial.spec["apps"]):
        rows = trial.of("tcp_series", flow=app["name"])
        connections = [name.split("_") for name in home.of(number, "up").connections()]
        for (side, conn), own in _grouped(rows, "side", "conn"):
            if conn >= len(connections):
                continue
            ends = connections[int(conn)]
            if side == "wan":
                ends = [*ends[2:], *ends[:2]]
            logger = "siftr" if app[side]["profile"].startswith("freebsd") else "web10g"
            yield (
                f"{'_'.join(ends)}_{logger}.cwnd",
                "".join(f"{_EPOCH_S + row['t_s']:.6f},{row['cwnd_bytes']:.0f}\n" for row in own),
            )
            yield (
                f"{'_'.join(ends)}_{logger}.tcp_rtt",
                "".join(
                    f"{_EPOCH_S + row['t_s']:.6f},{row['srtt_ms']:.3f},{row['srtt_ms']:.3f}\n"
                    for row in own
                    if row["srtt_ms"] is not None
                ),
            )


def _grouped(
    rows: list[dict[str, Any]], *keys: str
) -> Iterator[tuple[tuple[Any, ...], list[dict[str, Any]]]]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    yield from groups.items()


def _chunks(trial: TrialRows) -> Iterator[tuple[str, str]]:
    for number, app in enumerate(trial.spec["apps"]):
        if app["app"]["kind"] != "dash":
            continue
        noted: dict[float, dict[str, float]] = {}
        for row in trial.of("app_series", flow=app["name"]):
            noted.setdefault(row["t_s"], {"t_s": row["t_s"]})[row["metric"]] = row["value"]
        length_s = float(app["app"]["params"].get("segment", "2s").removesuffix("s"))
        lines = [_chunk(chunk, length_s, n) for n, chunk in enumerate(noted.values(), 1)]
        yield f"172.16.10.{2 + number}_{number}_httperf_dash.dashgp", "".join(lines)


def _chunk(chunk: Mapping[str, float], length_s: float, number: int) -> str:
    asked_s = _EPOCH_S + chunk["t_s"] - chunk["fetch_s"]
    fields = (
        f"{chunk['chunk_bytes']:.0f}",
        f"{chunk['ar_mbit']:.6f}",
        f"{chunk['fetch_s']:.6f}",
        f"{length_s:g}",
        f"{chunk['rr_mbit'] * 1e3:.0f}",
        f"{number}",
    )
    return f"{asked_s:.6f},{','.join(fields)}\n"
