"""Compares the speed of this tree with the speed of the last release, on the same trials.

The release is built once, from the commit in `release.toml`, below `target/bench`. Each trial runs
in a separate process, first with one build of the core, then with the other. CPU time is the
minimum of several rounds. If Valgrind is installed, Valgrind counts instructions. The count of a
trial is the difference between a long and a short run, so it excludes the start-up of Python.

    python bench/last_release.py
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILDS = ROOT / "target" / "bench"
GOLDEN = ROOT / "tests" / "golden"
TRIALS = ("household", "rrul", "kua2017-pie", "web-under-load")
CAMPAIGN = ("run", "kua2017-demo", "--seeds", "2", "--jobs", "1", "--duration", "60 s")
ROUNDS = 3
SHORT_S, LONG_S = 2, 12
WORSE = 1.1
"""The ratio of instructions above which `compare`, here and in `instructions`, returns false.

The CPU times are only printed, because they vary from run to run.
"""

# The core is loaded from its file, so that no Python code of either package runs.
_RUN_CORE = """
import importlib.util, resource, sys
spec = importlib.util.spec_from_file_location("aqmlab._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
trial = sys.stdin.read()
before = resource.getrusage(resource.RUSAGE_SELF)
core.run(trial)
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""
_RUN_COMMAND = "import sys; from aqmlab.cli import main; sys.argv[0] = 'aqmlab'; sys.exit(main())"


class UnavailableError(Exception):
    """The last release cannot run on this machine. The text states the reason."""


@dataclass(frozen=True)
class Build:
    """A built source tree: its name in messages, and its folder of Python packages."""

    name: str
    python: Path

    @property
    def core(self) -> Path:
        """The path of the core's extension module."""
        return next((self.python / "aqmlab").glob("_core*.so"))

    def cpu_s(self, trial: str) -> float:
        """Runs a trial once in the core; returns its CPU seconds."""
        return float(_output([sys.executable, "-c", _RUN_CORE, str(self.core)], trial))

    def instructions(self, trial: dict[str, object]) -> int:
        """The instructions that a trial takes from simulated second `SHORT_S` to `LONG_S`."""
        short, long = (
            self._instructions(json.dumps(trial | {"duration_ns": span_s * 10**9}))
            for span_s in (SHORT_S, LONG_S)
        )
        return long - short

    def _instructions(self, trial: str) -> int:
        valgrind = (
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        )
        command = [*valgrind, sys.executable, "-c", _RUN_CORE, str(self.core)]
        done = subprocess.run(
            command,
            input=trial,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        )
        counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        assert counted, done.stderr
        return int(counted[1].replace(",", ""))

    def can_run(self, trial: dict[str, object]) -> bool:
        """Whether this build knows all parts of a trial."""
        command = [sys.executable, "-c", _RUN_CORE, str(self.core)]
        given = json.dumps(trial)
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        return done.returncode == 0

    def campaign_s(self) -> float:
        """Runs `CAMPAIGN`; returns its CPU seconds, including its worker and its report."""
        with tempfile.TemporaryDirectory(prefix="aqmlab-bench-") as folder:
            environment = os.environ | {
                "PYTHONPATH": str(self.python),
                "XDG_CACHE_HOME": f"{folder}/cache",
            }
            command = [sys.executable, "-c", _RUN_COMMAND, *CAMPAIGN, "--out", f"{folder}/results"]
            before = os.times()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            after = os.times()
        user, system = "children_user", "children_system"
        return sum(getattr(after, one) - getattr(before, one) for one in (user, system))


def _output(command: list[str], given: str) -> str:
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def here() -> Build:
    """This tree, in the state that `make setup` built."""
    return Build("this tree", ROOT / "python")


def last_release() -> Build:
    """The last release, which is built if needed. Raises `UnavailableError` if its commit is
    absent.
    """
    release = tomllib.loads((HERE / "release.toml").read_text(encoding="utf-8"))
    name, commit = release["name"], release["commit"]
    tree = BUILDS / commit
    if not (tree / ".built").exists():
        _build(commit, tree)
    return Build(name, tree / "python")


def _build(commit: str, tree: Path) -> None:
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if known.returncode != 0:
        raise UnavailableError(f"commit {commit} is not in this repository (a shallow clone?)")
    print(f"building the last release, {commit} (a few minutes the first time) ...", flush=True)
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], input=archive.stdout, cwd=tree, check=True)
    command = ["cargo", "build", "--quiet", "--release", "--package", "aqmlab-py"]
    subprocess.run(
        [*command, "--features", "pyo3/extension-module"],
        cwd=tree,
        env=os.environ | {"CARGO_TARGET_DIR": str(BUILDS / "target")},
        check=True,
    )
    library = next((BUILDS / "target" / "release").glob("lib*core.so"))
    shutil.copy(library, tree / "python" / "aqmlab" / "_core.abi3.so")
    (tree / ".built").touch()


def _trials() -> Iterator[tuple[str, dict[str, object]]]:
    for name in TRIALS:
        yield name, json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


def _in_turn(old: Build, new: Build, trial: str) -> float:
    """The minimum CPU time of `new` divided by the minimum of `old`, from alternating runs."""
    rounds = [(old.cpu_s(trial), new.cpu_s(trial)) for _ in range(ROUNDS)]
    return min(one[1] for one in rounds) / min(one[0] for one in rounds)


def _counted(old: Build, new: Build, trial: dict[str, object]) -> float | None:
    """The instructions of `new` divided by the instructions of `old`; `None` without Valgrind."""
    if shutil.which("valgrind") is None:
        return None
    return new.instructions(trial) / old.instructions(trial)


def compare() -> bool:
    """Prints the ratios. Returns false if any ratio of instructions exceeds `WORSE`."""
    try:
        old = last_release()
    except UnavailableError as why:
        print(f"(no comparison with the last release: {why})")
        return True
    new = here()
    print(f"Beside release {old.name}, in turn; above 1 is slower than the release")
    slower = []
    for name, trial in _trials():
        if not old.can_run(trial):
            print(f"  {name:15} (release {old.name} lacks a part of this trial)")
            continue
        counted, timed = _counted(old, new, trial), _in_turn(old, new, json.dumps(trial))
        text = "(valgrind is not installed)" if counted is None else f"{counted:.3f} × instructions"
        print(f"  {name:15} {timed:.2f} × CPU time, {text}", flush=True)
        if counted is not None and counted > WORSE:
            slower.append(name)
    rounds = [(old.campaign_s(), new.campaign_s()) for _ in range(ROUNDS)]
    whole = min(one[1] for one in rounds) / min(one[0] for one in rounds)
    print(f"  {'aqmlab run':15} {whole:.2f} × CPU time ({' '.join(CAMPAIGN)})")
    if slower:
        print(f"SLOWER than release {old.name} by more than {WORSE - 1:.0%}: {', '.join(slower)}")
    return not slower


if __name__ == "__main__":
    sys.exit(0 if compare() else 1)
