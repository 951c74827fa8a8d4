"""Measures the cost of a campaign of many short trials, separately from their simulation.

Prints the CPU time and the memory of the process that plans trials, distributes them, records
results and writes tables. Then prints the CPU time that a worker spends on a trial in the simulator
and on the encoding of the trial's result.

    python bench/campaign.py [TRIALS]
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from aqmlab import _core
from aqmlab.api import Request, campaign_for
from aqmlab.campaign import runner
from aqmlab.campaign.store import trial_file
from aqmlab.planning.overrides import Variation
from aqmlab.results.results import load

TRIALS = 1500
DURATION = "5 s"
RATES = [f"{down}/{up} Mbit/s" for down in (12, 25, 50) for up in (1, 5)]
QUEUES = ["pfifo", "fq_codel"]


def memory_mb() -> float:
    """The peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


class Clock:
    """Prints the CPU time per trial and the duration of each step, and the memory after each."""

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self._cpu_s, self._wall_s = time.process_time(), time.monotonic()

    def lap(self, name: str) -> None:
        """Ends the step called `name`. Prints its times and the peak memory of the process."""
        cpu_s, wall_s = time.process_time(), time.monotonic()
        each_ms = (cpu_s - self._cpu_s) / self._trials * 1e3
        print(
            f"{name:28} {each_ms:7.2f} ms of CPU a trial  {wall_s - self._wall_s:7.1f} s"
            f"  {memory_mb():6.0f} MB at most"
        )
        self._cpu_s, self._wall_s = time.process_time(), time.monotonic()


def worker_ms(specs: list[str]) -> tuple[float, float]:
    """The mean CPU time of a trial in ms: in the simulator, and for the encoding of its result."""
    started = time.process_time()
    outcomes = [_core.run(spec) for spec in specs]
    ran = time.process_time()
    for outcome, spec in zip(outcomes, specs, strict=True):
        trial_file.encode(
            outcome,
            spec,
            trial_file.TrialIdentity("bench", "one", "sim", trial_file.spec_digest(spec)),
        )
    return (ran - started) / len(specs) * 1e3, (time.process_time() - ran) / len(specs) * 1e3


def main() -> None:
    """Reads the arguments, and measures in a temporary folder."""
    combinations = len(RATES) * len(QUEUES)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "trials", nargs="?", type=int, default=TRIALS,
        help=f"the number of trials, at least {combinations} (default: {TRIALS})",
    )  # fmt: skip
    seeds = parser.parse_args().trials // combinations
    if seeds < 1:
        parser.error(f"TRIALS: allowed is {combinations} or more, one trial per combination")
    with tempfile.TemporaryDirectory(prefix="aqmlab-bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        measure(seeds, Path(folder, "campaign"))


def measure(seeds: int, path: Path) -> None:
    """Runs each combination with each of `seeds` seeds in the folder `path`; prints the costs."""
    varied = (
        Variation("path.rate", tuple(RATES)),
        Variation("path.qdisc", tuple(QUEUES)),
        Variation("path.rtt", ("20 ms",)),
    )
    clock = Clock(seeds * len(RATES) * len(QUEUES))
    request = Request("boerlage2016-d6", vary=varied, seeds=seeds, duration=DURATION)
    plan = request.plan()
    clock.lap("plan")
    planned = campaign_for(request, plan)
    del plan
    clock.lap("make the campaign")
    runner.run(planned, path)
    clock.lap("hand out, record, write")
    files = list(path.rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files)
    print(f"{len(planned.trials)} trials, {len(files)} files, {size / 1e6:.0f} MB of Parquet")
    assert load(path).table("flows").height
    clock.lap("read flows")
    simulator_ms, encode_ms = worker_ms([one.spec for one in planned.trials[::50]])
    print(f"in a worker: simulator {simulator_ms:.1f} ms, its result {encode_ms:.2f} ms of CPU")


if __name__ == "__main__":
    main()
