"""Compares another simulator with the kernel: `python tools/peers.py ns3 [SEEDS]`.

Runs the other simulator, which must be installed, on every cell that it supports. This takes
minutes. The results are stored in `docs/peers/`. `tools/generate.py` makes a table from these
results and from aqmlab's results of the same trials, and does not need the other simulator.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aqmlab.base.numerals import percent
from aqmlab.validation import compare, engines, grid, metrics
from aqmlab.validation.cases import Records, cases_of
from aqmlab.validation.compare import Comparison, Validation
from aqmlab.validation.reference import Reference

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import validated

KEPT = Path(__file__).parent.parent / "docs" / "peers"
_SHOWN = {
    "error_p50": "Error, median",
    "error_p90": "90th percentile",
    "in_5": "≤ 5 %",
    "meets": "Met in",
}
"""The columns of the table, each shown for both simulators."""
_Trials = Mapping[str, Sequence[int]]
"""The seeds of each cell."""


def run(name: str, seeds: int) -> dict[str, Any]:
    """Runs the peer `name` on the grid, with at most `seeds` seeds a cell; returns the results."""
    made = compare.run(grid.load().cells, Reference(), seeds=seeds, jobs=1, peer=name, say=print)
    theirs = made.comparisons[1]
    ran: dict[str, list[int]] = {}
    for cell, seed in sorted(made.series[name]):
        ran.setdefault(cell, []).append(seed)
    module = importlib.import_module(engines.PEERS[name].runner.partition(":")[0])
    return {
        "program": module.version(),
        "kernel": _kernel_digest(ran),
        "refused": dict(sorted(theirs.refused.items())),
        "trials": ran,
        "metrics": [line.to_json() for line in theirs.lines],
    }


def table(name: str) -> str:
    """The results of the peer `name` and of the simulator, on the trials that the peer ran."""
    path, made = KEPT / f"{name}.json", validated.validation()
    if made is None or not path.exists():
        return "This simulator has no results on this set yet.\n"
    kept = json.loads(path.read_text(encoding="utf-8"))
    ours = {line["metric"]: line for line in _ours(made, kept["trials"])}
    both = ("aqmlab", kept["program"])
    heads = [f"{title}: {who}" for title in _SHOWN.values() for who in both]
    lines = [f"| Metric | Cells | {' | '.join(heads)} |\n", f"|---|--:|{'--:|' * len(heads)}\n"]
    for theirs in kept["metrics"]:
        own = ours[theirs["metric"]]
        words = [_share(one, key) for key in _SHOWN for one in (own, theirs)]
        lines.append(f"| `{theirs['metric']}` | {theirs['cells']} | {' | '.join(words)} |\n")
    return _basis(kept) + "\n" + "".join(lines)


def _basis(kept: Mapping[str, Any]) -> str:
    """The basis of the table: programs, trials, cells and seeds."""
    trials, refused = kept["trials"], kept["refused"]
    count = sum(map(len, trials.values()))
    seeds = max(map(len, trials.values()))
    text = (
        f"This table compares aqmlab and {kept['program']} with the same {count} trials of the"
        f" kernel. The trials are from {len(trials)} of the {len(trials) + len(refused)} cells,"
        f" with at most {seeds} seed{'s' * (seeds > 1)} for each cell."
    )
    if kept["kernel"] != _kernel_digest(trials):
        text += " Some of the kernel's trials are newer than this comparison."
    return text + "\n"


def _ours(made: Validation, trials: _Trials) -> list[dict[str, Any]]:
    """The simulator's results on the trials that the peer ran."""

    def some(records: Records) -> Records:
        return {(cell, seed): records[cell, seed] for cell in trials for seed in trials[cell]}

    cells = {cell.name: cell for cell in made.cells if cell.name in trials}
    kernel, own = (some(made.series[engine]) for engine in ("kernel", "sim"))
    cases = tuple(cases_of(cells, kernel, own, metrics.METRICS))
    return [line.to_json() for line in Comparison("sim", cases, {}).lines]


def _kernel_digest(trials: _Trials) -> str:
    """A digest of the kernel's results in these trials."""
    reference = Reference()
    folded = hashlib.sha256()
    for cell in sorted(grid.load().cells, key=lambda cell: cell.name):
        if cell.name in trials:
            there = reference.trials(cell)
            for seed in trials[cell.name]:
                folded.update(f"{cell.name} {seed} {there[seed].digest}\n".encode())
    return folded.hexdigest()[:16]


def _share(line: Mapping[str, Any], key: str) -> str:
    """The share `key` of a line as text. An error that is not a number counts as infinite."""
    if line[key] is None:
        return percent(math.inf) if key.startswith("error") else ""
    return percent(line[key])


def main() -> int:
    """Runs the named peer and stores its results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=sorted(engines.PEERS))
    parser.add_argument("seeds", nargs="?", type=int, default=1, help="how many of each cell")
    asked = parser.parse_args()
    name, found = asked.name, run(asked.name, asked.seeds)
    KEPT.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (KEPT / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
