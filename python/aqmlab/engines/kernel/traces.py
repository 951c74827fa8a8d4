"""Comparison of the simulator's disciplines with the kernel's, packet by packet.

A trace is several thousand packets from a seed. A virtual machine records the kernel's discipline:
each enqueue and dequeue, with the time that the discipline read. It also records drops, marks, the
hashes of flows, and random numbers. The simulator's discipline then replays the recording. It must
return the same packet at each dequeue, and drop the same packets in the same operation. It must
also set the same marks, and draw random numbers at the same points.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from aqmlab import _core
from aqmlab.engines.engine import Say
from aqmlab.engines.kernel import agent, arrivals, headers, image, machine
from aqmlab.engines.kernel.errors import MachineError, RefusedError
from aqmlab.engines.kernel.headers import Headed, SentTcp
from aqmlab.engines.kernel.setting import Setting
from aqmlab.engines.kernel.settings import SETTINGS
from aqmlab.engines.kernel.tc_statistics import gauges
from aqmlab.engines.trial_spec import Argument


class RecordedQdisc(TypedDict):
    """A discipline by kind, with the simulator's parameters."""

    kind: str
    params: Mapping[str, Argument]


class Operations(TypedDict):
    """The kernel's operations in order. Each list has one member per operation or event."""

    offer: list[int]
    time: list[int]
    id: list[int]
    len: list[int]
    ecn: list[int]
    dscp: list[int]
    drops: list[list[int]]
    later: list[list[int]]
    hashes: list[list[int]]
    hosts: list[list[int]]
    draws: list[list[int]]
    updates: list[list[int]]
    statistics: str
    listed: list[Any]


class Recording(Operations):
    """The kernel's operations, and the trace, in the form of `aqmlab._core.compare`."""

    kernel: str
    options: str
    rate_bps: int
    qdisc: RecordedQdisc
    flow: list[int]
    flow_ecn: list[int]
    flow_dscp: list[int]
    tcp: list[SentTcp | None]
    link_header: int
    gauges: Mapping[str, float]


class TraceJob(TypedDict):
    """A trace to record, in the format that the agent reads."""

    kind: str
    options: str
    overhead: int
    rate_bps: int
    ecn: Sequence[int]
    arrivals: Sequence[tuple[int, int, int]]
    heads: Sequence[str]
    root: bool


class Replay(TypedDict):
    """The counts of a replay, and the first difference, in the form of `aqmlab._core.compare`."""

    operations: int
    offered: int
    dropped: int
    marked: int
    difference: str | None


_BOOT_S = 240.0
_SLOWEST_S = 0.03
"""Time limits in seconds for the boot of a machine and for one packet, on a slow host."""

_ATTEMPTS = 4
"""The maximum number of recordings of a trace. On a busy machine, a timer of the kernel may run so
late that the operations cannot be replayed."""

_TOGETHER = 4
"""The maximum number of traces that one machine records. A boot takes longer than one trace."""


@dataclass(frozen=True)
class Trace:
    """The input of a trace: a discipline with its setting, a rate, and packets."""

    kind: str
    setting: Setting
    rate_bps: int
    packets: arrivals.Arrivals
    headed: Headed | None = None
    """The packets with their headers, for disciplines that read them."""

    def job(self) -> TraceJob:
        """The trace in the agent's form."""
        return {
            "kind": self.kind,
            "options": self.setting.options_at(self.rate_bps),
            "overhead": self.setting.overhead,
            "rate_bps": self.rate_bps,
            "ecn": self.packets.ecn,
            "arrivals": self.packets.packets,
            "heads": self.headed.heads if self.headed else (),
            "root": self.setting.shaped,
        }


@dataclass(frozen=True)
class TraceComparison:
    """The comparison of trace `number` of a discipline with the simulator.

    `same` holds the counts of the replay and the first difference, if any. `collisions` is the
    result of the function `collisions`, and `later` counts further clock readings in operations.
    """

    kind: str
    number: int
    options: str
    same: Replay
    collisions: int
    later: int

    @property
    def difference(self) -> str | None:
        """The first difference between simulator and recording; `None` if they are equal."""
        return self.same["difference"]


def make(kind: str, number: int, *, packets: int, seed: int = 1) -> Trace:
    """Makes trace `number` of a discipline. Settings and rates rotate with the number.

    Raises `RefusedError` for a discipline without settings.
    """
    if kind not in SETTINGS:
        raise RefusedError(f"`{kind}` cannot be traced; there are {', '.join(SETTINGS)}")
    settings = SETTINGS[kind]
    setting = settings[number % len(settings)]
    rate_bps = (10_000_000, 1_000_000, 40_000_000)[number // len(settings) % 3]
    drawn = arrivals.draw(seed * 1_000 + number, packets, rate_bps)
    if setting.headed:
        headed = headers.draw(seed * 1_000 + number, drawn, setting.length)
        return Trace(kind, setting, rate_bps, headed.packets, headed)
    packets_sent = tuple((gap, flow, setting.length(size)) for gap, flow, size in drawn.packets)
    return Trace(kind, setting, rate_bps, replace(drawn, packets=packets_sent))


def record(traces: Sequence[Trace], *, agent_path: Path | None = None) -> list[Recording]:
    """Records `traces` on the kernel, one after another in one machine.

    Raises `MachineError` if they cannot be recorded.
    """
    spec = json.dumps({"traces": [trace.job() for trace in traces]})
    limit_s = _BOOT_S + _SLOWEST_S * sum(len(trace.packets.packets) for trace in traces)
    booted = image.build(agent_path or agent.find())
    result = machine.parse(machine.run(booted, spec, seed=1, timeout_s=limit_s))
    if "traces" not in result:
        said = result.get("failed") or result.get("refused")
        raise MachineError(f"the kernel's traces could not be recorded: {said}")
    answers: Any = result["traces"]
    return [
        _recording(trace, answer, str(result["kernel"]))
        for trace, answer in zip(traces, answers, strict=True)
    ]


def _recording(trace: Trace, answer: Operations, kernel: str) -> Recording:
    headed = trace.headed
    return {
        "kernel": kernel,
        "options": trace.setting.options_at(trace.rate_bps),
        "rate_bps": trace.rate_bps,
        "qdisc": {"kind": trace.kind, "params": trace.setting.params_at(trace.rate_bps)},
        "flow": [flow for _, flow, _ in trace.packets.packets],
        "flow_ecn": list(trace.packets.ecn),
        "flow_dscp": list(headed.dscp) if headed else [],
        "tcp": list(headed.tcp) if headed else [],
        "link_header": trace.setting.overhead if headed else 0,
        "gauges": gauges(answer["listed"], trace.kind) if headed else {},
        "listed": answer["listed"] if headed else [],
        "statistics": answer["statistics"],
        "offer": answer["offer"],
        "time": answer["time"],
        "id": answer["id"],
        "len": answer["len"],
        "ecn": answer["ecn"],
        "dscp": answer["dscp"] if headed else [],
        "drops": answer["drops"],
        "later": answer["later"],
        "hashes": answer["hashes"],
        "hosts": answer["hosts"],
        "draws": answer["draws"],
        "updates": answer["updates"],
    }


def compare(recording: Recording, number: int = 0) -> TraceComparison:
    """Replays a recording with the simulator's discipline and compares the results."""
    return TraceComparison(
        kind=recording["qdisc"]["kind"],
        number=number,
        options=recording["options"],
        same=_core.compare(json.dumps(recording)),
        collisions=collisions(recording),
        later=len(recording["later"]),
    )


def _compare(trace: Trace, recording: Recording, number: int, agent_path: Path) -> TraceComparison:
    """Compares a recording, and repeats a recording that cannot be replayed.

    Raises `MachineError` if none of `_ATTEMPTS` recordings can be replayed.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return compare(recording, number)
        except ValueError:
            (recording,) = record([trace], agent_path=agent_path)
    try:
        return compare(recording, number)
    except ValueError as error:
        raise MachineError(
            f"trace {number} of `{trace.kind}`: none of {_ATTEMPTS} recordings can be replayed; the"
            f" last: {error}; run it again while the machine is less busy"
        ) from error


def collisions(recording: Recording) -> int:
    """The number of flows that share a queue with an earlier flow in SFQ or an `fq_` discipline.

    For any other discipline, the function returns 0.

    >>> collisions({"qdisc": {"kind": "sfq", "params": {"divisor": 4}}, "hashes": [[0, 5], [1, 9]]})
    1
    """
    kind, params = recording["qdisc"]["kind"], recording["qdisc"]["params"]
    hashes = [value for _, value in recording["hashes"]]
    if kind == "sfq":
        buckets = {value % int(params.get("divisor") or 1_024) for value in hashes}
    elif kind.startswith("fq_"):
        buckets = {value * int(params.get("flows") or 1_024) >> 32 for value in hashes}
    else:
        return 0
    return len(hashes) - len(buckets)


def run(
    kinds: Iterable[str],
    *,
    count: int,
    packets: int,
    seed: int = 1,
    workers: int | None = None,
    say: Say = print,
) -> Iterator[TraceComparison]:
    """Records `count` traces of each discipline, and yields the comparisons in order.

    `workers` machines run at the same time, by default one for each processor. `say` receives a
    message if the agent must be built first.
    """
    agent_path = agent.find(say)
    batches = [
        (kind, range(first, min(first + _TOGETHER, count)))
        for kind in kinds
        for first in range(0, count, _TOGETHER)
    ]

    def batch(kind: str, numbers: range) -> list[TraceComparison]:
        traces = [make(kind, number, packets=packets, seed=seed) for number in numbers]
        recordings = record(traces, agent_path=agent_path)
        return [
            _compare(trace, recording, number, agent_path)
            for number, trace, recording in zip(numbers, traces, recordings, strict=True)
        ]

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for outcomes in pool.map(lambda each: batch(*each), batches):
            yield from outcomes


def save(recording: Recording, path: Path) -> None:
    """Writes a recording to a file as JSON, compressed by LZMA."""
    text = json.dumps(recording, separators=(",", ":"), sort_keys=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9))


def load(path: Path) -> Recording:
    """Reads a recording from a file that `save` wrote."""
    recording: Recording = json.loads(lzma.decompress(path.read_bytes()))
    return recording
