"""Files in the form of TEACUP's analysis, for scripts that read such files.

A campaign becomes a folder PREFIX. It holds the files
`PREFIX_SHORT_VALUE…_run_N_SOURCE_PORT_DESTINATION_PORT.EXT` of each experiment and flow. The list
of experiments is beside the folder. Times are in Unix time. Captures, and therefore these files,
begin at midnight of 1 January 2020 (UTC).

- `.psiz`: time at the receiver, bytes of IP; separated by a space
- `.rtts`: time, round-trip time in s by synthetic packet pairs; separated by a space
- `_siftr.cwnd` of a host with FreeBSD, `_web10g.cwnd` of other hosts: time, window in bytes
- `_siftr.tcp_rtt`, `_web10g.tcp_rtt`: time, smoothed round-trip time in ms, the same value again
- `CLIENT_NUMBER_httperf_dash.dashgp`: time of the request, bytes, Mbit/s, response time in s,
  length of the chunk in s, nominal kbit/s, number

Source: TEACUP 1.1, `analyse.py` and `analysecmpexp.py`.

Differences: packets without ports have the port 0, while TEACUP omits the ports. TCP's samples of
round-trip times are not recorded, so the smoothed value fills both columns.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from aqmlab import _core
from aqmlab.base.condition_text import condition_text
from aqmlab.base.unique_names import Names
from aqmlab.campaign.store.manifest import TrialEntry
from aqmlab.engines.engine import Say
from aqmlab.results.captures import EPOCH_S
from aqmlab.results.export import packets
from aqmlab.results.export.teacup_addresses import ConfigEnds, FlowNames

if TYPE_CHECKING:
    from aqmlab.results.export.rows import TcpSeriesRow
    from aqmlab.results.export.trials import TrialRows

TABLES = ("tcp_series", "app_series")
"""The tables that an export reads in addition to the packets."""

COMPLETED = "experiments_completed.txt"
"""The list of experiments, as TEACUP keeps it in its working folder."""

PREFIX = f"exp_{datetime.datetime.fromtimestamp(EPOCH_S, datetime.UTC):%Y%m%d-%H%M%S}"
"""The prefix of experiments that no TEACUP config names."""

_TEACUP_ID = re.compile(r"[^=]+_run_\d+")


class ExperimentName(NamedTuple):
    """TEACUP's names of a trial: the experiment's prefix, and the id, which includes it."""

    prefix: str
    id: str


def experiments(trials: Sequence[TrialEntry]) -> dict[str, ExperimentName]:
    """The TEACUP names of a campaign's trials, by the trials' names in the manifest.

    TEACUP's characters cannot distinguish some conditions, such as "a/b" and "a-b". The second and
    later of these conditions get a number.

    >>> varied = {"path.qdisc": "fq_codel"}
    >>> facts = {"engine": "sim", "links": {}, "rtt_base_ms": {}, "spec": "0" * 16}
    >>> experiments([TrialEntry(id="a", seed=7, conditions=varied, **facts)])["a"].id
    'exp_20200101-000000_qdisc_fq-codel_run_0'
    """
    runs = {seed: run for run, seed in enumerate(sorted({one.seed for one in trials}))}
    shorts = _shorts(dict.fromkeys(name for one in trials for name in one.conditions))
    taken = Names()
    stems: dict[tuple[tuple[str, str], ...], str] = {}
    found = {}
    for trial in trials:
        texts = {name: condition_text(value) for name, value in trial.conditions.items()}
        kept = _kept(trial)
        if kept is None:
            stem = "".join(f"_{shorts[name]}_{_value(text)}" for name, text in texts.items())
            key = tuple(texts.items())
            if key not in stems:
                stems[key] = taken.free(PREFIX + stem)
            kept = ExperimentName(PREFIX, f"{stems[key]}_run_{runs[trial.seed]}")
        found[trial.id] = kept
    return found


def _kept(trial: TrialEntry) -> ExperimentName | None:
    """The name that a TEACUP config gave the trial, if there is one."""
    if _TEACUP_ID.fullmatch(trial.id):
        first = next(iter(trial.conditions), "run")
        prefix = trial.id.partition(f"_{first}_")[0]
        if prefix not in ("", ".", ".."):  # The prefix names a folder.
            return ExperimentName(prefix, trial.id)
    return None


def _shorts(names: Iterable[str]) -> dict[str, str]:
    """The short name of each condition, with letters and digits only.

    It is the last part of the condition's name, or the whole name if conditions share that part.
    """
    last = {name: _letters(name.rpartition(".")[2]) for name in names}
    often = Counter(short.casefold() for short in last.values())
    return {
        name: short if often[short.casefold()] == 1 else _letters(name)
        for name, short in last.items()
    }


def _letters(text: str) -> str:
    return re.sub("[^A-Za-z0-9]", "", text) or "v"


def _value(text: str) -> str:
    """A value in TEACUP's form, without underscores, which separate names and values."""
    return re.sub("[^A-Za-z0-9.]+", "-", text).strip("-")


def files(
    trial: TrialRows,
    name: str,
    ends: Mapping[str, ConfigEnds] = MappingProxyType({}),
    say: Say = lambda _: None,
) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the contents of each file of an experiment called `name`.

    Runs the trial again for its packets. `ends` holds the addresses and ports of applications, by
    name. Applications without an entry keep the addresses of the captures. Raises `RequestError` if
    the trial's engine keeps no packets, or if the trial has too many applications.
    """
    with packets.of_trial(trial, say) as captured:
        home, wan = (packets.read(path) for path in captured)
        first, second = map(str, captured)
        wishes = json.dumps({"synchronised": True, "samples": True})
        trips = cast(_PacketPairs, _core.spp(first, second, wishes))
    flows = FlowNames([app.name for app in trial.spec.apps], ends)
    yield from _named(name, _sizes(home, wan, flows))
    yield from _named(name, _round_trips(trips, min(home.at_s.min(), wan.at_s.min()), flows))
    yield from _named(name, _tcp(trial, home, flows))
    yield from _named(name, _chunks(trial, flows))


def _named(name: str, texts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    for ending, text in texts:
        yield f"{name}_{ending}", text.encode()


def _sizes(
    home: packets.Packets, wan: packets.Packets, flows: FlowNames
) -> Iterator[tuple[str, str]]:
    for direction, received in (("up", wan), ("down", home)):
        came = received.going(direction)
        for flow, chosen in came.by_flow():
            own = came.where(chosen)
            pairs = zip(own.at_s.tolist(), own.ip_bytes.tolist(), strict=True)
            yield f"{flows.of(flow)}.psiz", "".join(f"{at:.6f} {size}\n" for at, size in pairs)


class _Samples(TypedDict):
    """The samples of all flows, each with the number of its flow's row."""

    row: Sequence[int]
    at_s: Sequence[float]
    rtt_ms: Sequence[float]


class _PacketPairs(TypedDict):
    """The parts of the core's result that TEACUP's files need."""

    flows: Mapping[str, Sequence[str]]
    samples: _Samples


def _round_trips(
    measured: _PacketPairs, begins_s: float, flows: FlowNames
) -> Iterator[tuple[str, str]]:
    import numpy as np

    found, samples = measured["flows"], measured["samples"]
    if not samples:
        return
    rows = np.asarray(samples["row"], np.int64)
    at_s = np.asarray(samples["at_s"]) + begins_s
    rtt_s = np.asarray(samples["rtt_ms"]) / 1e3
    for row, (start, end) in enumerate(zip(found["from"], found["to"], strict=True)):
        own = rows == row
        pairs = zip(at_s[own].tolist(), rtt_s[own].tolist(), strict=True)
        text = "".join(f"{at:.6f} {rtt:.6f}\n" for at, rtt in pairs)
        if text:
            yield f"{flows.of(f'{_end(start)}_{_end(end)}')}.rtts", text


def _end(text: str) -> str:
    """An address and a port in the form of file names.

    >>> _end("172.16.10.2 port 10000"), _end("172.16.10.3")
    ('172.16.10.2_10000', '172.16.10.3_0')
    """
    address, _, port = text.partition(" port ")
    return f"{address}_{port or 0}"


def _tcp(trial: TrialRows, home: packets.Packets, flows: FlowNames) -> Iterator[tuple[str, str]]:
    """Yields the files of windows and smoothed round-trip times of each recorded connection end."""
    for number, app in enumerate(trial.spec.apps):
        rows = trial.of("tcp_series", flow=app.name)
        connections = [name.split("_") for name in home.of(number, "up").connections()]
        for (side, conn), own in _by_end(rows).items():
            if conn >= len(connections):
                continue
            ends = connections[int(conn)]
            if side == "wan":
                ends = [*ends[2:], *ends[:2]]
            flow = flows.of("_".join(ends))
            logger = "siftr" if app.tcp(side).profile.startswith("freebsd") else "web10g"
            yield (
                f"{flow}_{logger}.cwnd",
                "".join(f"{EPOCH_S + row['t_s']:.6f},{row['cwnd_bytes']:.0f}\n" for row in own),
            )
            yield (
                f"{flow}_{logger}.tcp_rtt",
                "".join(
                    f"{EPOCH_S + row['t_s']:.6f},{row['srtt_ms']:.3f},{row['srtt_ms']:.3f}\n"
                    for row in own
                    if row["srtt_ms"] is not None
                ),
            )


def _by_end(rows: Iterable[TcpSeriesRow]) -> dict[tuple[str, int], list[TcpSeriesRow]]:
    """The rows of each end of each connection, by the side and the connection's number."""
    groups: dict[tuple[str, int], list[TcpSeriesRow]] = {}
    for row in rows:
        groups.setdefault((row["side"], row["conn"]), []).append(row)
    return groups


def _chunks(trial: TrialRows, flows: FlowNames) -> Iterator[tuple[str, str]]:
    for number, app in enumerate(trial.spec.apps):
        if app.app.kind != "dash":
            continue
        noted: dict[float, dict[str, float]] = {}
        for row in trial.of("app_series", flow=app.name):
            noted.setdefault(row["t_s"], {"t_s": row["t_s"]})[row["metric"]] = row["value"]
        length_s = float(str(app.app.params.get("segment", "2s")).removesuffix("s"))
        lines = [_chunk(chunk, length_s, n) for n, chunk in enumerate(noted.values(), 1)]
        yield f"{flows.client(number)}_{number}_httperf_dash.dashgp", "".join(lines)


def _chunk(chunk: Mapping[str, float], length_s: float, number: int) -> str:
    asked_s = EPOCH_S + chunk["t_s"] - chunk["fetch_s"]
    fields = (
        f"{chunk['chunk_bytes']:.0f}",
        f"{chunk['ar_mbit']:.6f}",
        f"{chunk['fetch_s']:.6f}",
        f"{length_s:g}",
        f"{chunk['rr_mbit'] * 1e3:.0f}",
        f"{number}",
    )
    return f"{asked_s:.6f},{','.join(fields)}\n"
