"""Measures the time that the kernel engine's testbed takes for packets.

    python tools/testbed.py

The program runs trials on an idle line, on the kernel and in the simulator. In the simulator the
gateway takes no time for a packet and a host takes no time for a response, so a difference between
the engines is time of the testbed. The program prints three times for each shaper and discipline.
`TIMES` in `aqmlab/validation/testbed.py` holds the first and the third, as means over disciplines:

- The gateway's time for a packet of 60 bytes, and for a packet of 1500 bytes. The trial sends lone
  datagrams, and the time is the difference between their median one-way delays.
- The time for a round trip of TCP. The trial is a download, whose first two round trips are
  compared.

Results of the kernel are stored in `--keep`, under the digest of the trial.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning.lowering import resolve
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.notation import Table

from tools import apart
from tools.tap_packets import connection, datagrams, is_from_home

GATEWAYS = (
    ("htb", "pfifo limit=1000"),
    ("htb", "codel"),
    ("htb", "pie"),
    ("htb", "fq_codel"),
    ("htb", "cake"),
    ("cake", "cake"),
)
"""The shapers and disciplines that are measured."""

PAYLOADS = (32, 1_472)
"""Bytes of UDP payload, for packets of 60 and of 1500 bytes."""

INITIAL_WINDOW = 10
ROUNDS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the trials and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", type=Path, default=Path("results/testbed"))
    asked = parser.parse_args(arguments)
    print(f"{'shaper':8}{'discipline':18}{'60 B, µs':>10}{'1500 B, µs':>12}{'round trip, µs':>16}")
    for shaper, qdisc in GATEWAYS:
        small, full = (forwarding_us(shaper, qdisc, size, asked.keep) for size in PAYLOADS)
        trip = round_trip_us(shaper, qdisc, asked.keep)
        print(f"{shaper:8}{qdisc:18}{small:10.1f}{full:12.1f}{trip:16.1f}", flush=True)
    return 0


def forwarding_us(shaper: str, qdisc: str, payload: int, keep: Path) -> float:
    """The gateway's time for a datagram with `payload` bytes, a mean over both directions."""
    probe = {"kind": "cbr", "direction": "both", "interval": "50 ms", "payload": f"{payload} B"}
    spec = idle(shaper, qdisc, {"probe": probe})
    kernel, sim = (delays_ms(spec, engine, keep) for engine in apart.ENGINES)
    differences = (
        statistics.median(theirs) - statistics.median(ours)
        for theirs, ours in zip(kernel, sim, strict=True)
    )
    return 1e3 * statistics.fmean(differences)


def round_trip_us(shaper: str, qdisc: str, keep: Path) -> float:
    """The testbed's time for a round trip of a download, a mean over the first `ROUNDS`."""
    spec = idle(shaper, qdisc, {"probe": {"kind": "bulk"}})
    kernel, sim = (rounds_ms(spec, engine, keep) for engine in apart.ENGINES)
    return 1e3 * (kernel - sim) / ROUNDS


def idle(shaper: str, qdisc: str, apps: Table) -> TrialSpec:
    """A trial of a second on a line of 100 Mbit/s, without jitter of the hosts."""
    scenario = Scenario(
        title="idle",
        duration="1 s",
        path={"rate": "100/100 Mbit/s", "rtt": "40 ms", "qdisc": qdisc, "shaper": shaper},
        hosts={"home": {"profile": "linux"}, "wan": {"profile": "linux"}},
        apps=apps,
    )
    spec = resolve(scenario).spec
    return replace(spec, host_jitter_ns=0, measure=replace(spec.measure, packets=True))


def delays_ms(spec: TrialSpec, engine: str, keep: Path) -> tuple[list[float], list[float]]:
    """The one-way delays of the datagrams from the home and to the home, in milliseconds.

    No datagram is lost or reordered on an idle line.
    """
    home, wan = map(times_ms, captures(spec, engine, keep))
    # The trial ends before the last datagrams arrive.
    return (
        [arrived - sent for sent, arrived in zip(home[True], wan[True], strict=False)],
        [arrived - sent for sent, arrived in zip(wan[False], home[False], strict=False)],
    )


def captures(spec: TrialSpec, engine: str, keep: Path) -> tuple[str, str]:
    """The captures of a trial at the taps in the home and on the internet."""
    home, wan = apart.run(engine, spec, keep)["captures"]
    return home, wan


def times_ms(file: str) -> dict[bool, list[float]]:
    """The times, in milliseconds, of the datagrams of a capture, by whether the home sent them."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for t_ms, ip in datagrams(file):
        times[is_from_home(ip)].append(t_ms)
    return times


def rounds_ms(spec: TrialSpec, engine: str, keep: Path) -> float:
    """The time from the first segment of data to the first segment after `ROUNDS` round trips.

    The window doubles in each of these round trips.
    """
    packets = connection(captures(spec, engine, keep), 0, 0)
    sent = [packet.t_ms for packet in packets if packet.length and not packet.home]
    return sent[INITIAL_WINDOW * (2**ROUNDS - 1)] - sent[0]


if __name__ == "__main__":
    sys.exit(main())
