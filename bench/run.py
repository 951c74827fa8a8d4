"""Measures the speed and the memory of aqmlab, and the speed of csg-htsim and ns-3.

All times are CPU times of one core, as the operating system counts them. aqmlab, csg-htsim and ns-3
run the same dumbbell alternately. csg-htsim runs if `HTSIM` names its source. ns-3 runs if its
development files are installed (Debian: the package libns3-dev). The speed of machines differs and
changes over time, so compare the ratios.

    python bench/run.py [--record]

The tables of README.md and docs/explanation/speed.md are made from the recorded results.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import htsim_peer
import instructions
import last_release
from aqmlab import _core
from aqmlab.planning import planner
from dumbbell import all_packets, data_packets, dumbbell, limit_of
from msgspec import structs

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
# Other programs of the machine slow most rounds. The best round of many is therefore nearly the
# same each time. A round has several runs, because a run takes only 40 ms, and the processor's
# clock frequency can be higher than usual for such a time.
ROUNDS = 15
RUNS = 5


def cpu_of(run: Callable[[], Any]) -> tuple[float, Any]:
    """Calls `run`; returns its CPU seconds in this process and its result."""
    before = time.process_time()
    result = run()
    return time.process_time() - before, result


def ours(**shape: Any) -> tuple[float, int]:
    """The CPU seconds of one dumbbell in this simulator, and the number of its data packets."""
    spec = json.dumps(dumbbell(**shape))
    cpu_s, result = cpu_of(lambda: _core.run(spec))
    return cpu_s, data_packets(result)


def build_ns3(folder: Path) -> Path | None:
    """Compiles ns-3's dumbbell. Returns `None` if ns-3 or a compiler is missing."""
    packages = [f"ns3-{module}" for module in NS3_MODULES]
    if not (shutil.which("pkg-config") and shutil.which("g++")):
        return None
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *packages], capture_output=True, text=True, check=False
    )
    if flags.returncode:
        return None
    program = folder / "dumbbell"
    source = HERE / "ns3" / "dumbbell.cc"
    command = ["g++", "-O3", "-std=c++17", str(source), "-o", str(program), *flags.stdout.split()]
    subprocess.run(command, check=True)
    return program


def ns3(program: Path, qdisc: str, span_s: float) -> tuple[float, int]:
    """The CPU seconds of ns-3's dumbbell, and the number of its data packets."""
    name = "fifo" if qdisc == "pfifo" else qdisc
    limit = limit_of(qdisc)
    arguments = [f"--qdisc={name}", f"--duration={span_s}", f"--limit={limit}"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return result["cpu_s"], result["packets"]


def htsim(program: Path, flows: int) -> tuple[float, int]:
    """The CPU seconds of csg-htsim's dumbbell, and the number of its data packets."""
    limit = limit_of("pfifo")
    return htsim_peer.run(program, flows=flows, mbit=50, rtt_ms=40, limit=limit, span_s=60)


@dataclass(frozen=True)
class Peers:
    """The programs of the other simulators; `None` for a simulator that cannot run here."""

    htsim: Path | None
    ns3: Path | None

    def turns(self, qdisc: str) -> Iterator[tuple[str, float, int]]:
        """Runs each peer; yields its name, its CPU seconds and its number of data packets.

        csg-htsim has only the discipline `pfifo`.
        """
        if self.htsim and qdisc == "pfifo":
            yield "csg-htsim", *_sum(partial(htsim, self.htsim, 2))
        if self.ns3:
            # Ten simulated seconds suffice for a rate. All sixty would take ns-3 a minute.
            yield "ns-3", *ns3(self.ns3, qdisc, 10)


def _sum(run: Callable[[], tuple[float, int]]) -> tuple[float, int]:
    """The CPU seconds and the number of data packets of `RUNS` runs."""
    seconds, packets = zip(*(run() for _ in range(RUNS)), strict=True)
    return sum(seconds), sum(packets)


def packets_per_second(peers: Peers) -> dict[str, dict[str, float]]:
    """Prints and returns the data packets per CPU second of two bulk flows at 50 Mbit/s.

    The result is by discipline, then by simulator. `off` and `on` are this simulator without and
    with measurement. Each number is that of the best of `ROUNDS` rounds.
    """
    print("Data packets through the bottleneck per CPU second (2 CUBIC flows, 50 Mbit/s, 60 s)")
    best = {}
    for qdisc in ("pfifo", "fq_codel"):
        rates: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, measure in (("off", False), ("on", True)):
                shape = {"mbit": 50, "flows": 2, "qdisc": qdisc, "span_s": 60}
                cpu_s, packets = _sum(partial(ours, **shape, measure=measure))
                rates.setdefault(name, []).append(packets / cpu_s)
            for name, cpu_s, packets in peers.turns(qdisc):
                rates.setdefault(name, []).append(packets / cpu_s)
        best[qdisc] = {name: max(found) for name, found in rates.items()}
        _print_rates(qdisc, best[qdisc])
    return best


def _print_rates(qdisc: str, rates: dict[str, float]) -> None:
    off, on = rates["off"], rates["on"]
    line = f"  {qdisc:9} measurement off {off / 1e6:5.2f} M/s, on {on / 1e6:5.2f} M/s"
    for name in rates.keys() - {"off", "on"}:
        peer = rates[name]
        line += f"; {off / peer:.3g} and {on / peer:.3g} times the {peer / 1e3:.1f} k/s of {name}"
    print(line, flush=True)


def home() -> None:
    """Prints simulated seconds per CPU second, and the memory, for the home of `kua2017-demo`."""
    print("The 12/1 Mbit/s home of Kua et al. (2017), 200 s, everything measured")
    trials = planner.load("kua2017-demo", seeds=1).trials
    for trial in trials:
        cpu_s, _ = cpu_of(lambda text=trial.text: _core.run(text))
        span_s = trial.spec.duration_s
        print(f"  {trial.id}: {span_s / cpu_s:7.0f} simulated seconds per CPU second", flush=True)
    for series in (True, False):
        for factor in (1, 10):
            spec = trials[0].spec
            measure = structs.replace(spec.measure, series=series)
            longer_ns = factor * spec.duration_ns
            spec = structs.replace(spec, duration_ns=longer_ns, measure=measure)
            kept = "with" if series else "without"
            if not Path("/proc/self/status").exists():
                continue
            peak_mb = resident_mb(spec.text())
            print(f"  {200 * factor:4} s {kept:7} series over time: {peak_mb:.0f} MB at most")


def resident_mb(spec_json: str) -> float:
    """The peak resident memory, in MB, of a process that only runs a trial.

    The source is `VmHWM`, because `ru_maxrss` of a new process begins at its parent's value
    (getrusage(2)).
    """
    code = (
        "import re, sys\nfrom aqmlab import _core\n_core.run(sys.stdin.read())\n"
        "print(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=spec_json, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024 / 1e6


def scaling(peers: Peers) -> None:
    """Prints the CPU time per packet for several numbers of flows and for several rates.

    Each time is the least of `RUNS` runs. The runs of this simulator alternate between the shapes.
    """
    shapes = [
        *({"qdisc": "pfifo", "measure": False, "mbit": 50, "flows": flows} for flows in (2, 64)),
        *(
            {"qdisc": "fq_codel", "measure": True, "mbit": 50, "flows": flows}
            for flows in (2, 8, 32, 64)
        ),
        *(
            {"qdisc": "fq_codel", "measure": True, "mbit": mbit, "flows": 2}
            for mbit in (10, 100, 1000)
        ),
    ]
    print(f"Nanoseconds of CPU per data packet, and per packet of any kind (best of {RUNS} runs)")
    texts = [json.dumps(dumbbell(**shape, span_s=_span_s(shape["mbit"]))) for shape in shapes]
    rounds = [[_cost_ns(text) for text in texts] for _ in range(RUNS)]
    for shape, costs in zip(shapes, zip(*rounds, strict=True), strict=True):
        cost = min(costs)
        measured = "measured" if shape["measure"] else "measurement off"
        name = f"{shape['flows']} flows at {shape['mbit']} Mbit/s, {shape['qdisc']}, {measured}"
        print(f"  {name:48} {cost[0]:6.0f} {cost[1]:6.0f}", flush=True)
    if peers.htsim:
        for flows in (2, 64):
            runs = [htsim(peers.htsim, flows) for _ in range(RUNS)]
            cost_ns = min(1e9 * cpu_s / packets for cpu_s, packets in runs)
            print(f"  {f'{flows} flows at 50 Mbit/s, csg-htsim':48} {cost_ns:6.0f}", flush=True)


def _cost_ns(trial: str) -> tuple[float, float]:
    """The nanoseconds of CPU of a trial, per data packet and per packet of any kind."""
    cpu_s, result = cpu_of(lambda: _core.run(trial))
    return 1e9 * cpu_s / data_packets(result), 1e9 * cpu_s / all_packets(result)


def _span_s(mbit: float) -> float:
    """Simulated seconds that have many packets, but few enough for several runs."""
    return min(60.0, 3000 / mbit)


def main() -> int:
    """Prints all numbers. Returns 1 if instructions exceed a limit.

    The limits are those of `instructions.compare` and of `last_release.compare`.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--record", action="store_true",
        help="keep the results in measured.json and instructions.json",
    )  # fmt: skip
    records = parser.parse_args().record
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(htsim_peer.build(Path(folder)), build_ns3(Path(folder)))
        if peers.htsim is None:
            print("(csg-htsim is not measured: it needs g++ and make bench HTSIM=FOLDER)")
        if peers.ns3 is None:
            print(
                "(ns-3 is not installed: apt-get install g++ pkg-config libns3-dev libgsl-dev "
                "libxml2-dev libgtk-3-dev libsqlite3-dev)"
            )
        rates = packets_per_second(peers)
        scaling(peers)
    home()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"This process, plans and tables included: {peak_mb:.0f} MB resident at most")
    counts = instructions.count()
    keeps_count = instructions.compare(counts)
    keeps_speed = last_release.compare()
    if records:
        MEASURED.write_text(json.dumps(rates, indent=1) + "\n", encoding="utf-8")
        if counts:
            instructions.record(counts)
    return 0 if keeps_count and keeps_speed else 1


if __name__ == "__main__":
    sys.exit(main())
