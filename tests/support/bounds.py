"""The capacity of a link over an interval, from the trial's spec.

A packet of `n` bytes occupies `on_link(n)` bytes on a link. Within any time `t` the packets that
leave a link occupy at most `rate · t`, plus these allowances of the shaper:

- the wire: the packet that is in transmission at the beginning of the interval counts completely;
- HTB: 1600 bytes of credit, and the packet that makes the credit negative;
- dummynet: two ticks, because a packet leaves at a tick of 1 ms, and its transmission begins at the
  previous tick;
- CAKE: the packet that leaves at the beginning of the interval counts completely. CAKE counts
  bytes by its own parameters, not by the link's overhead. A packet counts at least its IP bytes;
- a radio: an aggregate arrives at once, together with the frames that the receiver held for order.
  A block-ack window has 64 frames, and an aggregate has up to 32 frames.

With jitter, packets that left during `t + jitter` may arrive within `t`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from aqmlab.scenario import catalogue

from .trials import Run

HTB_CREDIT_BYTES = 1600
TICK_S = 1e-3
HELD_FRAMES = 64 + 32
LEAST_PACKET_BYTES = 28
"""The size of the headers of IPv4 and of UDP or ICMP."""


def on_link(overhead: dict[str, Any], ip_bytes: int) -> int:
    """The bytes that a packet occupies on a link (tc-cake(8); ITU-T I.361 for cells)."""
    framed = max(ip_bytes + overhead.get("bytes", 0), overhead.get("minimum", 0))
    return -(-framed // 48) * 53 if overhead.get("atm") else framed


def most_packet_bytes(run: Run) -> int:
    """The size in bytes of the largest packet that any host of the trial may send."""
    return max(app[side]["mtu"] for app in run.spec["apps"] for side in ("home", "wan"))


def efficiency(link: dict[str, Any], most_bytes: int) -> float:
    """The largest ratio of IP bytes to the bytes that a link of `rate_bps` counts for them.

    It is infinite if CAKE's rate follows the arriving packets, because `rate_bps` is then no bound.
    """
    if link.get("shaper") == "cake":
        return math.inf if link["qdisc"]["params"].get("autorate_ingress") else 1.0
    return _efficiency(tuple(sorted(link["overhead"].items())), most_bytes)


@functools.lru_cache(maxsize=4096)
def _efficiency(overhead: tuple[tuple[str, Any], ...], most_bytes: int) -> float:
    charged = dict(overhead)
    return max(size / on_link(charged, size) for size in range(1, most_bytes + 1))


def adapted_links(spec: dict[str, Any]) -> dict[int, float]:
    """The links whose rate an application changes, each with the highest rate in bit/s."""
    highest: dict[int, float] = {}
    for app in spec["apps"]:
        if app["app"]["kind"] != "cake_autorate":
            continue
        params = catalogue.load().find("apps", "cake_autorate").params
        for way in ("up", "down"):
            most_bps = app["app"]["params"].get(f"max_{way}", params[f"max_{way}"].default)
            for number in app[way]["links"]:
                if spec["links"][number].get("shaper") == "cake":
                    highest[number] = max(highest.get(number, 0.0), most_bps)
    return highest


def with_highest_rates(spec: dict[str, Any]) -> dict[str, Any]:
    """The trial `spec` with the highest rate of each link whose rate an application changes."""
    links = [dict(link) for link in spec["links"]]
    for number, most_bps in adapted_links(spec).items():
        links[number]["rate_bps"] = max(links[number]["rate_bps"], most_bps)
    return {**spec, "links": links}


def rate_changes(link: dict[str, Any]) -> list[tuple[float, float]]:
    """The times in seconds from which each rate of a link applies, and the rates in bit/s."""
    later = ((one["at_ns"] / 1e9, one["rate_bps"]) for one in link.get("rate_steps", ()))
    return [(0.0, link["rate_bps"]), *later]


def bits_between(link: dict[str, Any], from_s: float, to_s: float) -> float:
    """The bits that a link sends at its rates from one time to another."""
    changes = rate_changes(link)
    ends = [*(at for at, _ in changes[1:]), math.inf]
    return sum(
        bps * max(0.0, min(end, to_s) - max(at, from_s))
        for (at, bps), end in zip(changes, ends, strict=True)
    )


def ip_bits_between(run: Run, link: dict[str, Any], from_s: float, to_s: float) -> float:
    """The maximum number of IP bits that leave a link from one time to another."""
    if "rate_steps" not in link:
        return ip_bits(run, link, to_s - from_s)
    packet = most_packet_bytes(run)
    ahead_bytes = packet + HTB_CREDIT_BYTES * (link.get("shaper") == "htb")
    return efficiency(link, packet) * bits_between(link, from_s, to_s) + 8 * ahead_bytes


def ip_bits(run: Run, link: dict[str, Any], seconds: float) -> float:
    """The maximum number of IP bits that leave a link in any interval of `seconds`."""
    packet = most_packet_bytes(run)
    ahead_bytes: float = packet
    if link.get("wifi"):
        ahead_bytes = HELD_FRAMES * packet
    elif link.get("shaper") == "htb":
        ahead_bytes += HTB_CREDIT_BYTES
    elif link.get("shaper") == "dummynet":
        seconds += 2 * TICK_S
    most_bps = max(bps for _, bps in rate_changes(link))
    return efficiency(link, packet) * most_bps * seconds + 8 * ahead_bytes


def arriving_ip_bits(run: Run, app: str, direction: str, seconds: float) -> float:
    """The maximum number of IP bits of an application that arrive in any interval of `seconds`."""
    way = run.apps[app][direction]
    jitter_s = (way["jitter_ns"] + run.spec["host_jitter_ns"]) / 1e9
    return ip_bits(run, run.links(app, direction)[-1], seconds + jitter_s)


def arriving_ip_bits_between(
    run: Run, app: str, direction: str, from_s: float, to_s: float
) -> float:
    """The maximum number of IP bits of an application that arrive from one time to another."""
    way = run.apps[app][direction]
    delay_s = way["delay_ns"] / 1e9
    jitter_s = (way["jitter_ns"] + run.spec["host_jitter_ns"]) / 1e9
    last = run.links(app, direction)[-1]
    return ip_bits_between(run, last, from_s - delay_s - jitter_s, to_s - delay_s)


def least_delay_ms(run: Run, app: str, direction: str) -> float:
    """The minimum one-way delay: propagation, and the smallest packet's transmission times.

    Links with a shaper or a radio count with a transmission time of zero.
    """
    wires = [
        link
        for link in run.links(app, direction)
        if link.get("shaper", "line") == "line" and not link.get("wifi")
    ]
    on_wires_s = sum(
        8
        * on_link(link["overhead"], LEAST_PACKET_BYTES)
        / max(bps for _, bps in rate_changes(link))
        for link in wires
    )
    return float(run.apps[app][direction]["delay_ns"] / 1e6 + 1e3 * on_wires_s)
