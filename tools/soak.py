"""Runs the long tests one after the other: `make soak`.

A step is a command whose output goes to a file. It passes with status 0. Status 3 means that the
step was skipped; the last line of its output states the reason. At the end the program prints a
table of the steps. The program's status is 1 if a step failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

ROOT = Path(__file__).parent.parent
SKIPPED = 3
POLL_S = 0.5
DIST_S = 300
NOT_FUZZERS = ("seeds.py",)
RECORDS = "tests.xml"
"""The file with the counts that tests record, such as flipped bits by reader and file."""


@dataclass(frozen=True)
class Step:
    """A command, and its approximate time on two cores."""

    name: str
    command: tuple[str, ...]
    seconds: float
    done: Callable[[str, float], float]
    """The finished share of the step, from its output so far and the elapsed seconds."""


def steps(fuzz_s: int, out: Path) -> list[Step]:
    """The steps: tests marked `soak`, each fuzzer for `fuzz_s` seconds, and `make dist`."""
    python = sys.executable
    tests = (
        python,
        "-m",
        "pytest",
        "-m",
        "soak",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-p",
        "no:cacheprovider",
        "--durations=15",
        f"--junitxml={out / RECORDS}",
    )
    fuzzers = sorted(path for path in (ROOT / "fuzz").glob("*.py") if path.name not in NOT_FUZZERS)
    return [
        Step("tests", tests, 1200, _of_pytest),
        *(
            Step(
                f"fuzz/{path.stem}",
                (python, str(path), "--seconds", str(fuzz_s)),
                fuzz_s + 120,
                lambda _, passed_s: passed_s / (fuzz_s + 120),
            )
            for path in fuzzers
        ),
        Step("dist", ("make", "dist"), DIST_S, lambda _, passed_s: passed_s / DIST_S),
    ]


def _of_pytest(output: str, _: float) -> float:
    shares = re.findall(r"\[ *(\d+)%\]", output)
    return int(shares[-1]) / 100 if shares else 0.0


@dataclass(frozen=True)
class Outcome:
    """The result of a step: its exit status, its time, and the last line of its output."""

    step: Step
    status: int
    seconds: float
    said: str

    @property
    def word(self) -> str:
        """The result's name in the table."""
        return {0: "passed", SKIPPED: "skipped"}.get(self.status, "FAILED")


def run(step: Step, log: Path, show: Callable[[float], None]) -> Outcome:
    """Runs a step with its output to `log`, and shows its progress."""
    began = time.monotonic()
    with log.open("wb") as file:
        child = subprocess.Popen(
            step.command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env=_environment()
        )
        try:
            while child.poll() is None:
                passed_s = time.monotonic() - began
                show(min(0.99, step.done(log.read_text(errors="replace"), passed_s)))
                time.sleep(POLL_S)
        except BaseException:
            child.terminate()
            child.wait()
            raise
    lines = log.read_text(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Outcome(step, child.returncode, time.monotonic() - began, said)


def _environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "120", "PYTHONUNBUFFERED": "1"}


def remaining_s(waiting: Sequence[Step], share: float, passed_s: float) -> float:
    """The remaining time, from the progress of the first step and the usual time of later steps."""
    now, *later = waiting
    expected_s = now.seconds if share < 0.05 else passed_s / share
    return max(0.0, expected_s - passed_s) + sum(step.seconds for step in later)


def run_all(chosen: list[Step], folder: Path, console: Console) -> list[Outcome]:
    """Runs the steps with progress and an estimate of the remaining time."""
    outcomes = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]} left"),
    )
    with Progress(*columns, console=console) as progress:
        for number, step in enumerate(chosen):
            task = progress.add_task(step.name, total=1.0, left="")
            began = time.monotonic()

            def show(
                share: float,
                task: TaskID = task,
                began: float = began,
                waiting: Sequence[Step] = chosen[number:],
            ) -> None:
                left_s = remaining_s(waiting, share, time.monotonic() - began)
                left = f"about {max(1, round(left_s / 60))} min"
                progress.update(task, completed=share, left=left)

            outcome = run(step, folder / f"{step.name.replace('/', '-')}.log", show)
            progress.update(task, completed=1.0, left="nothing")
            outcomes.append(outcome)
    return outcomes


def table(outcomes: list[Outcome]) -> Table:
    """A table of the steps with their results and times."""
    made = Table(box=None, pad_edge=False)
    for head in ("step", "result", "time", "its last words"):
        made.add_column(head, justify="right" if head == "time" else "left")
    for outcome in outcomes:
        minutes, seconds = divmod(round(outcome.seconds), 60)
        made.add_row(outcome.step.name, outcome.word, f"{minutes}:{seconds:02d}", outcome.said)
    return made


def flips(records: Path) -> Table:
    """A table of the flipped bits by file and reader.

    A cell shows how often a reader refused the damaged file. In parentheses it shows how often the
    reader did not read the flipped bit.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in ElementTree.parse(records).iter("property"):
        reader, file, *outcome = one.attrib["name"].split(" ", 2)
        counts[reader, file, " ".join(outcome)] += int(one.attrib["value"])
    readers = sorted({reader for reader, _, _ in counts})
    made = Table(box=None, pad_edge=False, title="flipped bits: refused (not read)")
    for head in ("file", *readers):
        made.add_column(head, justify="left" if head == "file" else "right")
    for name in sorted({file for _, file, _ in counts}):
        refused = [counts[reader, name, "refused"] for reader in readers]
        unread = [counts[reader, name, "not read"] for reader in readers]
        made.add_row(
            name,
            *(
                f"{one} ({other})" if other else str(one)
                for one, other in zip(refused, unread, strict=True)
            ),
        )
    return made


def main() -> int:
    """Runs the requested steps, or all; prints their results, and returns 1 if a step failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=150, help="for each fuzzer")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "soak", help="logs")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    asked = parser.parse_args()
    known = steps(asked.seconds, asked.out)
    unknown = set(asked.steps) - {step.name for step in known}
    if unknown:
        names = ", ".join(step.name for step in known)
        parser.error(f"there is no step `{min(unknown)}`; there are {names}")
    asked.out.mkdir(parents=True, exist_ok=True)
    chosen = [step for step in known if not asked.steps or step.name in asked.steps]
    outcomes = run_all(chosen, asked.out, Console(stderr=True))
    Console().print(table(outcomes))
    if any(step.name == "tests" for step in chosen):
        Console().print(flips(asked.out / RECORDS))
    failed = [outcome for outcome in outcomes if outcome.word == "FAILED"]
    for outcome in failed:
        log = asked.out / f"{outcome.step.name.replace('/', '-')}.log"
        print(f"{outcome.step.name} failed: {log}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
