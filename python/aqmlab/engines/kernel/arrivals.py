"""Random packets for a trace, with bursts, overload, low load, idle times and various lengths."""

from __future__ import annotations

import random
from dataclasses import dataclass

_SMALLEST, _LARGEST = 64, 1_500
"""The least and the greatest length of an IP packet in bytes, headers included."""

_LOADS = (0.4, 0.9, 1.02, 1.15, 1.6, 4.0)
"""The offered loads of phases, as shares of the link's rate. Each phase draws one of them."""

_ECN = (0, 0, 0, 1, 2)
"""The ECN fields of flows: mostly Not-ECT, some ECT(1) or ECT(0). Each flow draws one of them."""


@dataclass(frozen=True)
class Arrivals:
    """The packets of a trace."""

    packets: tuple[tuple[int, int, int], ...]
    """The gap before each packet in nanoseconds, its flow, and its length in bytes."""
    ecn: tuple[int, ...]
    """The ECN field of each flow."""


def draw(seed: int, count: int, rate_bps: int) -> Arrivals:
    """Draws `count` packets for a link of `rate_bps`. Equal arguments give equal packets.

    >>> draw(1, 3, 10**7) == draw(1, 3, 10**7)
    True
    """
    chance = random.Random(seed)
    flows = [_Flow(chance) for _ in range(chance.randint(1, 24))]
    packets: list[tuple[int, int, int]] = []
    while len(packets) < count:
        packets += _phase(chance, flows, rate_bps)
    return Arrivals(tuple(packets[:count]), tuple(flow.ecn for flow in flows))


class _Flow:
    def __init__(self, chance: random.Random) -> None:
        self.ecn = chance.choice(_ECN)
        self.weight = chance.choice((1, 1, 3, 10))
        self._range = chance.choice(((_SMALLEST, 200), (_LARGEST, _LARGEST), (_SMALLEST, _LARGEST)))

    def size(self, chance: random.Random) -> int:
        return chance.randint(*self._range)


def _phase(chance: random.Random, flows: list[_Flow], rate_bps: int) -> list[tuple[int, int, int]]:
    load = chance.choice(_LOADS)
    bursty = chance.random() < 0.4
    active = chance.sample(range(len(flows)), chance.randint(1, len(flows)))
    weights = [flows[flow].weight for flow in active]
    packets = []
    # Some phases begin after an idle time.
    owed = chance.uniform(0.01, 1.5) * 1e9 if chance.random() < 0.3 else 0.0
    for _ in range(chance.randint(20, 800)):
        flow = chance.choices(active, weights)[0]
        size = flows[flow].size(chance)
        owed += chance.expovariate(1.0) * size * 8e9 / (rate_bps * load)
        together = bursty and chance.random() < 0.9
        packets.append((0 if together else int(owed), flow, size))
        owed = owed if together else 0.0
    return packets
