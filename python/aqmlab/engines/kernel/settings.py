"""Settings for comparisons of disciplines, in the forms of tc and of the simulator."""

from __future__ import annotations

from collections.abc import Mapping

from aqmlab.engines.kernel.cake_settings import CAKE
from aqmlab.engines.kernel.setting import Setting

_MS = 1_000_000
_UNDER_HTB = {"idle_from": "request"}
"""The parameters of RED below HTB.

HTB never calls the dequeue of an empty discipline, so RED never enters its idle state.
"""


MEMORY_UNLIKE = (range(129, 162), range(641, 674))
"""Lengths at which a packet from a local sender takes less memory than a packet from a driver.
`crates/qdisc/src/flows.rs` models packets from a driver. The sender's buffer has 31 bytes before
the packet, and the driver's has 64. The size of both buffers is a power of two.
"""


SETTINGS: Mapping[str, tuple[Setting, ...]] = {
    "pfifo": (
        Setting("limit 50", {"limit": 50}),
        Setting("limit 400", {"limit": 400}, overhead=14),
        Setting("limit 1", {"limit": 1}),
    ),
    "bfifo": (
        Setting("limit 60000", {"limit": 60_000}),
        Setting("limit 15140", {"limit": 15_140}, overhead=14),
        Setting("limit 400000", {"limit": 400_000}),
    ),
    "codel": (
        Setting("limit 1000", {"limit": 1_000}),
        Setting("limit 100 ecn", {"limit": 100, "ecn": True}),
        Setting(
            "limit 1000 target 20ms interval 200ms ecn",
            {"limit": 1_000, "target": 20 * _MS, "interval": 200 * _MS, "ecn": True},
            overhead=14,
        ),
        Setting(
            "limit 1000 target 1ms interval 10ms ce_threshold 3ms",
            {"limit": 1_000, "target": _MS, "interval": 10 * _MS, "ce_threshold": 3 * _MS},
        ),
    ),
    "fq_codel": (
        Setting("limit 10240", {}),
        Setting("limit 150 noecn", {"limit": 150, "ecn": False}),
        Setting(
            "limit 300 flows 8 quantum 300 drop_batch 5",
            {"limit": 300, "flows": 8, "quantum": 300, "drop_batch": 5},
            overhead=14,
        ),
        Setting(
            "memory_limit 300000 target 2ms interval 30ms",
            {"memory_limit": 300_000, "target": 2 * _MS, "interval": 30 * _MS},
            unlike=MEMORY_UNLIKE,
        ),
        Setting("limit 10240 ce_threshold 4ms", {"ce_threshold": 4 * _MS}),
    ),
    "sfq": (
        Setting("limit 100", {"limit": 100}),
        Setting(
            "limit 400 flows 64 divisor 64 depth 20 headdrop",
            {"limit": 400, "flows": 64, "divisor": 64, "depth": 20, "headdrop": True},
        ),
        Setting(
            "limit 60 flows 6 divisor 16 depth 30 quantum 400",
            {"limit": 60, "flows": 6, "divisor": 16, "depth": 30, "quantum": 400},
            overhead=14,
        ),
    ),
    "red": (
        Setting("limit 400000 avpkt 1000", {"limit": 400_000, **_UNDER_HTB}),
        Setting(
            "limit 200000 min 10000 max 40000 avpkt 1000 burst 20 probability 0.1 ecn",
            {
                **_UNDER_HTB,
                "limit": 200_000,
                "min": 10_000,
                "max": 40_000,
                "burst": 20,
                "probability": 0.1,
                "ecn": True,
            },
        ),
        Setting(
            "limit 60000 min 20000 max 50000 avpkt 500 burst 60 probability 0.05 ecn harddrop",
            {
                **_UNDER_HTB,
                "limit": 60_000,
                "min": 20_000,
                "max": 50_000,
                "avpkt": 500,
                "burst": 60,
                "probability": 0.05,
                "ecn": True,
                "harddrop": True,
            },
            overhead=14,
        ),
    ),
    "pie": (
        Setting("limit 1000", {"limit": 1_000}),
        Setting("limit 200 target 5ms ecn", {"limit": 200, "target": 5 * _MS, "ecn": True}),
        Setting(
            "limit 1000 target 20ms tupdate 30ms alpha 4 beta 30 bytemode",
            {
                "limit": 1_000,
                "target": 20 * _MS,
                "tupdate": 30 * _MS,
                "alpha": 4,
                "beta": 30,
                "bytemode": True,
            },
            overhead=14,
        ),
    ),
    "fq_pie": (
        Setting("limit 10240", {}),
        Setting("limit 200 ecn", {"limit": 200, "ecn": True}),
        Setting(
            "limit 1000 flows 4 target 5ms quantum 300 ecn ecn_prob 30",
            {
                "limit": 1_000,
                "flows": 4,
                "target": 5 * _MS,
                "quantum": 300,
                "ecn": True,
                "ecn_prob": 30,
            },
        ),
    ),
    "cake": CAKE,
}
"""The settings of each discipline. Traces use them in rotation."""
