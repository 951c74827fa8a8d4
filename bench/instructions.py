"""Compares the instructions per packet of the dumbbell with the last recorded counts.

Valgrind counts the instructions. The counts do not depend on the machine's load, so a change of 1 %
is visible. A count is the difference between a long and a short run, so it excludes the start-up.

    python bench/instructions.py [--record]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import last_release
from aqmlab import _core
from dumbbell import all_packets, data_packets, dumbbell

RECORDED = Path(__file__).parent / "instructions.json"
CASES = {
    "FIFO, measurement off": ("pfifo", 2, False),
    "FIFO, everything measured": ("pfifo", 2, True),
    "FIFO, 64 flows, measurement off": ("pfifo", 64, False),
    "FIFO, 64 flows, everything measured": ("pfifo", 64, True),
    "FQ-CoDel, measurement off": ("fq_codel", 2, False),
    "FQ-CoDel, everything measured": ("fq_codel", 2, True),
    "FQ-CoDel, 64 flows, measurement off": ("fq_codel", 64, False),
    "FQ-CoDel, 64 flows, everything measured": ("fq_codel", 64, True),
    "CAKE, measurement off": ("cake", 2, False),
}
DATA_PACKET, PACKET = "data packet", "packet"
"""The units of a count: a data packet through the bottleneck, or any packet that a host sends."""
Count = dict[str, int]
"""The instructions of a case per data packet and per packet."""
LIMITS = [
    (DATA_PACKET, "CAKE, measurement off", "FQ-CoDel, measurement off", 1.3),
    *(
        (unit, f"{qdisc}, 64 flows, {measure}", f"{qdisc}, {measure}", 1.25)
        for unit, qdisc in [(DATA_PACKET, "FIFO"), (PACKET, "FIFO"), (PACKET, "FQ-CoDel")]
        for measure in ("measurement off", "everything measured")
    ),
]
"""The largest permitted ratios of the instructions of two cases, with their unit.

With FQ-CoDel, hosts send more packets per data packet with 64 flows than with 2. The instructions
with FQ-CoDel are therefore compared per packet.
"""


def count_case(qdisc: str, flows: int, measure: bool) -> Count:
    """The instructions of CUBIC flows at 50 Mbit/s, per unit."""
    spans = (last_release.SHORT_S, last_release.LONG_S)
    shape = {"mbit": 50, "flows": flows, "qdisc": qdisc, "measure": measure}
    trials = [dumbbell(**shape, span_s=span_s) for span_s in spans]
    short, long = (_core.run(json.dumps(trial)) for trial in trials)
    found = last_release.here().instructions(trials[1])
    units = {DATA_PACKET: data_packets, PACKET: all_packets}
    return {unit: round(found / (of(long) - of(short))) for unit, of in units.items()}


def count() -> dict[str, Count]:
    """The instructions by case; empty without Valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    return {name: count_case(*case) for name, case in CASES.items()}


def compare(counts: dict[str, Count]) -> bool:
    """Prints the counts and their ratios. Returns false if any of these exceeds its limit."""
    if not counts:
        print("(no instructions are counted: apt-get install valgrind)")
        return True
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    print("Instructions per data packet, those recorded, and instructions per packet of any kind")
    print("  for 2 or 64 CUBIC flows at 50 Mbit/s")
    worse = []
    for name, found in counts.items():
        # A new case has no recorded count.
        before = recorded.get(name, found)[DATA_PACKET]
        print(f"  {name:40} {found[DATA_PACKET]:6} {before:6} {found[PACKET]:6}", flush=True)
        if found[DATA_PACKET] > before * last_release.WORSE:
            worse.append(name)
    if worse:
        limit = f"{last_release.WORSE - 1:.0%}"
        print(f"MORE instructions than recorded in {RECORDED.name} by {limit}: {', '.join(worse)}")
    for unit, one, other, most in LIMITS:
        ratio = counts[one][unit] / counts[other][unit]
        keeps = ratio <= most
        told = "" if keeps else f", MORE than {most} times"
        print(f"{one}: {ratio:.2f} times `{other}` per {unit}{told}")
        worse += [] if keeps else [one]
    return not worse


def record(counts: dict[str, Count]) -> None:
    """Replaces the recorded counts by `counts`."""
    RECORDED.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Counts instructions, compares the counts, and records them if `--record` is given."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="keep the counts")
    records = parser.parse_args().record
    counts = count()
    keeps = compare(counts)
    if counts and records:
        record(counts)
    return 0 if keeps else 1


if __name__ == "__main__":
    sys.exit(main())
