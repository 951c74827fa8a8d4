"""Compares the instructions per data packet of the dumbbell with the last recorded counts.

Valgrind counts the instructions. The counts do not depend on the machine's load, so a change of 1 %
is visible. A count is the difference between a long and a short run, so it excludes the start-up.

    python bench/instructions.py [--record]
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import last_release
from aqmlab import _core
from dumbbell import data_packets, dumbbell

RECORDED = Path(__file__).parent / "instructions.json"
CASES = {
    "FIFO, measurement off": ("pfifo", False),
    "FIFO, everything measured": ("pfifo", True),
    "FQ-CoDel, measurement off": ("fq_codel", False),
    "FQ-CoDel, everything measured": ("fq_codel", True),
    "CAKE, measurement off": ("cake", False),
}
MOST_OF_CAKE = 1.3
"""The largest permitted ratio of CAKE's instructions to FQ-CoDel's."""


def per_packet(qdisc: str, measure: bool) -> float:
    """The instructions per data packet of two CUBIC flows at 50 Mbit/s."""
    spans = (last_release.SHORT_S, last_release.LONG_S)
    trials = [
        dumbbell(mbit=50, flows=2, qdisc=qdisc, span_s=span_s, measure=measure) for span_s in spans
    ]
    short, long = (data_packets(_core.run(json.dumps(trial))) for trial in trials)
    return last_release.here().instructions(trials[1]) / (long - short)


def count() -> dict[str, int]:
    """The instructions per data packet, by case; empty without Valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    return {name: round(per_packet(*case)) for name, case in CASES.items()}


def compare(counts: dict[str, int]) -> bool:
    """Prints the counts and CAKE's ratio. Returns false if any of these exceeds its limit."""
    if not counts:
        print("(no instructions are counted: apt-get install valgrind)")
        return True
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    print("Instructions per data packet (2 CUBIC flows, 50 Mbit/s), and those recorded")
    worse = []
    for name, found in counts.items():
        print(f"  {name:30} {found:6} {recorded[name]:6}", flush=True)
        if found > recorded[name] * last_release.WORSE:
            worse.append(name)
    if worse:
        limit = f"{last_release.WORSE - 1:.0%}"
        print(f"MORE instructions than recorded in {RECORDED.name} by {limit}: {', '.join(worse)}")
    ratio = counts["CAKE, measurement off"] / counts["FQ-CoDel, measurement off"]
    print(f"CAKE's instructions per data packet are {ratio:.2f} times FQ-CoDel's")
    if ratio > MOST_OF_CAKE:
        print(f"MORE than {MOST_OF_CAKE} times")
    return not worse and ratio <= MOST_OF_CAKE


def record(counts: dict[str, int]) -> None:
    """Replaces the recorded counts by `counts`."""
    RECORDED.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Counts instructions, compares the counts, and records them if `--record` is given."""
    counts = count()
    keeps = compare(counts)
    if counts and "--record" in sys.argv[1:]:
        record(counts)
    return 0 if keeps else 1


if __name__ == "__main__":
    sys.exit(main())
