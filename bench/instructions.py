"""Compares the instructions per data packet of the dumbbell with the last recorded counts.

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
from dumbbell import data_packets, dumbbell

RECORDED = Path(__file__).parent / "instructions.json"
CASES = {
    "FIFO, measurement off": ("pfifo", 2, False),
    "FIFO, everything measured": ("pfifo", 2, True),
    "FIFO, 64 flows, measurement off": ("pfifo", 64, False),
    "FIFO, 64 flows, everything measured": ("pfifo", 64, True),
    "FQ-CoDel, measurement off": ("fq_codel", 2, False),
    "FQ-CoDel, everything measured": ("fq_codel", 2, True),
    "CAKE, measurement off": ("cake", 2, False),
}
LIMITS = {
    ("CAKE, measurement off", "FQ-CoDel, measurement off"): 1.3,
    ("FIFO, 64 flows, measurement off", "FIFO, measurement off"): 1.25,
}
"""The largest permitted ratio of the instructions of two cases."""


def per_packet(qdisc: str, flows: int, measure: bool) -> float:
    """The instructions per data packet of CUBIC flows at 50 Mbit/s."""
    spans = (last_release.SHORT_S, last_release.LONG_S)
    shape = {"mbit": 50, "flows": flows, "qdisc": qdisc, "measure": measure}
    trials = [dumbbell(**shape, span_s=span_s) for span_s in spans]
    short, long = (data_packets(_core.run(json.dumps(trial))) for trial in trials)
    return last_release.here().instructions(trials[1]) / (long - short)


def count() -> dict[str, int]:
    """The instructions per data packet, by case; empty without Valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    return {name: round(per_packet(*case)) for name, case in CASES.items()}


def compare(counts: dict[str, int]) -> bool:
    """Prints the counts and their ratios. Returns false if any of these exceeds its limit."""
    if not counts:
        print("(no instructions are counted: apt-get install valgrind)")
        return True
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    print("Instructions per data packet (50 Mbit/s, 2 CUBIC flows or 64), and those recorded")
    worse = []
    for name, found in counts.items():
        # A new case has no recorded count.
        before = recorded.get(name, found)
        print(f"  {name:36} {found:6} {before:6}", flush=True)
        if found > before * last_release.WORSE:
            worse.append(name)
    if worse:
        limit = f"{last_release.WORSE - 1:.0%}"
        print(f"MORE instructions than recorded in {RECORDED.name} by {limit}: {', '.join(worse)}")
    for (one, other), most in LIMITS.items():
        ratio = counts[one] / counts[other]
        keeps = ratio <= most
        told = "" if keeps else f", MORE than {most} times"
        print(f"{one}: {ratio:.2f} times `{other}`{told}")
        worse += [] if keeps else [one]
    return not worse


def record(counts: dict[str, int]) -> None:
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
