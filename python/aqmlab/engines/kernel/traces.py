"""Our disciplines against the kernel's, packet by packet.

A trace is some thousand packets from a seed. The kernel's discipline is recorded in a virtual
machine: each packet offered, each packet asked for, with the very time that the discipline read,
what it destroyed, what it marked, the hashes of the flows and the random numbers it drew. Ours
is then asked to do the same, and must: the same packet at each request, the same drops in the
same operation, the same marks, chance where there was chance.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqmlab.engines.kernel import agent, arrivals, image, machine
from aqmlab.engines.kernel.errors import MachineError, RefusedError
from aqmlab.engines.kernel.settings import SETTINGS, Setting
from aqmlab.engines.registry import Say

Recording = Mapping[str, Any]
"""What the kernel did, as `aqmlab._core.compare` takes it."""

_BOOT_S = 240.0
_SLOWEST_S = 0.03
"""Seconds that a machine takes to boot, and for a packet, however slow the host."""

_TOGETHER = 4
"""Traces that one machine records, for booting takes longer than one of them."""

_KEPT = ("offer", "time", "id", "len", "ecn", "drops", "later", "hashes", "draws", "updates")
"""What a recording keeps of the agent's answer; true sizes and counts of readings are checks."""


@dataclass(frozen=True)
class Trace:
    """A discipline with its setting, a rate, and packets."""

    kind: str
    setting: Setting
    rate_bps: int
    packets: arrivals.Arrivals

    def job(self) -> dict[str, Any]:
        """It as the agent takes it."""
        return {
            "kind": self.kind,
            "options": self.setting.options,
            "overhead": self.setting.overhead,
            "rate_bps": self.rate_bps,
            "ecn": self.packets.ecn,
            "arrivals": self.packets.packets,
        }


@dataclass(frozen=True)
class Outcome:
    """One trace compared: what was the same, and the first difference if there is one."""

    kind: str
    number: int
    options: str
    same: Mapping[str, Any]
    collisions: int
    later: int

    @property
    def difference(self) -> str | None:
        """The first difference, in words."""
        text = self.same["difference"]
        return None if text is None else str(text)


def make(kind: str, number: int, *, packets: int, seed: int = 1) -> Trace:
    """Trace `number` of a discipline; settings and rates take turns."""
    if kind not in SETTINGS:
        raise RefusedError(f"`{kind}` cannot be traced; there are {', '.join(SETTINGS)}")
    settings = SETTINGS[kind]
    setting = settings[number % len(settings)]
    rate_bps = (10_000_000, 1_000_000, 40_000_000)[number // len(settings) % 3]
    drawn = arrivals.draw(seed * 1_000 + number, packets, rate_bps)
    packets_sent = tuple((gap, flow, setting.length(size)) for gap, flow, size in drawn.packets)
    return Trace(kind, setting, rate_bps, replace(drawn, packets=packets_sent))


def record(traces: Sequence[Trace], *, agent_path: Path | None = None) -> list[Recording]:
    """Lets the kernel do `traces`, one after the other in one machine."""
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


def _recording(trace: Trace, answer: Mapping[str, Any], kernel: str) -> Recording:
    return {
        "kernel": kernel,
        "options": trace.setting.options,
        "rate_bps": trace.rate_bps,
        "qdisc": {"kind": trace.kind, "params": trace.setting.params},
        "flow": [flow for _, flow, _ in trace.packets.packets],
        "flow_ecn": list(trace.packets.ecn),
        "statistics": answer["statistics"],
        **{name: answer[name] for name in _KEPT},
    }


def compare(recording: Recording, number: int = 0) -> Outcome:
    """Asks our discipline to do what was recorded."""
    from aqmlab import _core

    return Outcome(
        kind=recording["qdisc"]["kind"],
        number=number,
        options=recording["options"],
        same=_core.compare(json.dumps(recording)),
        collisions=collisions(recording),
        later=len(recording["later"]),
    )


def collisions(recording: Recording) -> int:
    """How many flows share a queue with one before them.

    >>> collisions({"qdisc": {"kind": "sfq", "params": {"divisor": 4}}, "hashes": [[0, 5], [1, 9]]})
    1
    """
    kind, params = recording["qdisc"]["kind"], recording["qdisc"]["params"]
    hashes = [value for _, value in recording["hashes"]]
    if kind == "sfq":
        buckets = {value % params.get("divisor", 1_024) for value in hashes}
    elif kind.startswith("fq_"):
        buckets = {value * params.get("flows", 1_024) >> 32 for value in hashes}
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
) -> Iterator[Outcome]:
    """Records and compares `count` traces of each discipline, as they become ready.

    `say` is told if the agent has to be built first.
    """
    agent_path = agent.find(say)
    batches = [
        (kind, range(first, min(first + _TOGETHER, count)))
        for kind in kinds
        for first in range(0, count, _TOGETHER)
    ]

    def batch(kind: str, numbers: range) -> list[Outcome]:
        traces = [make(kind, number, packets=packets, seed=seed) for number in numbers]
        recordings = record(traces, agent_path=agent_path)
        return [
            compare(recording, number)
            for number, recording in zip(numbers, recordings, strict=True)
        ]

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for outcomes in pool.map(lambda each: batch(*each), batches):
            yield from outcomes


def save(recording: Recording, path: Path) -> None:
    """Keeps a recording in a small file."""
    text = json.dumps(recording, separators=(",", ":"), sort_keys=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9))


def load(path: Path) -> Recording:
    """A recording that was kept."""
    recording: Recording = json.loads(lzma.decompress(path.read_bytes()))
    return recording
