"""Shows whether a difference from the kernel depends on the phase of the applications' starts.

    python tools/phases.py upload.pie --metric rtt_p95 --count 12 --step 3

The program runs a trial of the grid repeatedly on both engines and prints a metric of each run. In
each run the applications start `--step` milliseconds later than in the previous run; `--flow`
shifts only one application. If the metric depends on the phase between packets and timers, the
output shows its distribution on both engines. With `--step 0` the starts do not move, and each run
has another seed instead. `--only sim` runs only the simulator, which takes seconds.

The simulator's trials take the testbed's time. Results of the kernel are stored in `--keep`, under
the digest of the trial.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation import testbed, trial_record

from tools import apart


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the trials and prints the results of both engines next to each other."""
    asked = parse(arguments)
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for spec in specs(apart.spec_of(asked.cell, asked.seed), asked):
        for name in [asked.only] if asked.only else apart.ENGINES:
            for key, value in measured(name, spec, asked):
                found[key][name].append(value)
    for (metric, item), sides in found.items():
        print(f"\n{metric}, {item}")
        for name, values in sides.items():
            middle = statistics.median(values)
            print(f"  {name:7} {middle:10.4g}  " + " ".join(f"{one:.4g}" for one in sorted(values)))
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("cell")
    parser.add_argument("--metric", action="append", required=True)
    parser.add_argument("--flow", help="the application to be moved; all if absent")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="which step comes first")
    parser.add_argument("--count", type=int, default=8, help="how many runs of each engine")
    parser.add_argument("--step", type=float, default=1.0,
                        help="milliseconds between starts; 0 for other seeds")  # fmt: skip
    parser.add_argument("--to", type=float, help="seconds; the trial ends there")
    parser.add_argument("--only", choices=apart.ENGINES)
    parser.add_argument("--keep", type=Path, default=Path("results/phases"))
    asked = parser.parse_args(arguments)
    if asked.flow and not asked.step:
        parser.error("--flow moves an application, and --step 0 moves none")
    return asked


def specs(spec: TrialSpec, asked: argparse.Namespace) -> Iterator[TrialSpec]:
    """Yields the trial of each run: with later starts, or with another seed for `--step 0`."""
    names = [app.name for app in spec.apps]
    if asked.flow and asked.flow not in names:
        raise SystemExit(f"there is no application `{asked.flow}`, only {', '.join(names)}")
    for step in range(asked.first, asked.first + asked.count):
        moved = round(step * asked.step * 1e6)
        apps = tuple(
            replace(app, start_ns=app.start_ns + moved * (asked.flow in (None, app.name)))
            for app in spec.apps
        )
        one = replace(spec, apps=apps)
        if not asked.step:
            one = one.with_seed(spec.seed + step)
        if asked.to:
            end_ns = min(spec.duration_ns, round(asked.to * 1e9))
            one = replace(one, duration_ns=end_ns, measure=replace(spec.measure, to_ns=end_ns))
        yield one


def measured(
    engine: str, spec: TrialSpec, asked: argparse.Namespace
) -> Iterator[tuple[tuple[str, str], float]]:
    """Runs a trial, and yields the values of the requested metrics by metric and item."""
    own = apart.for_engine(engine, spec)
    tables = testbed.without_gateway(apart.run(engine, own, asked.keep)["tables"])
    values = trial_record.measure(spec, trial_record.record(spec, {"tables": tables})).values
    for metric in asked.metric:
        if metric not in values:
            raise SystemExit(f"the trial has no `{metric}`, only {', '.join(values)}")
        for item, value in values[metric].items():
            if value is not None:
                yield (metric, item), value


if __name__ == "__main__":
    sys.exit(main())
