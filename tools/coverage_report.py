"""Prints the share of lines that the tests run, by crate and by package: `make coverage`.

For Rust the compiler's instrumentation counts the lines, and the tools of the compiler's LLVM read
the counts. For Python coverage.py counts the lines, also in the processes that tests start. A
language whose tools are missing is skipped with a message.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MADE = ROOT / "target" / "coverage"
Lines = dict[str, tuple[int, int]]
"""The number of executed lines and of all lines, by crate, package or module."""


class AbsentError(Exception):
    """A missing tool. The text names the tool and the command that installs it."""


def main() -> int:
    """Measures the requested languages and prints a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("halves", nargs="*", choices=[[], "rust", "python"], metavar="rust|python")
    halves = parser.parse_args().halves or ["rust", "python"]
    MADE.mkdir(parents=True, exist_ok=True)
    for half in halves:
        try:
            show(half, {"rust": rust, "python": python}[half]())
        except AbsentError as absent:
            print(f"{half}: skipped: {absent}")
        except subprocess.CalledProcessError as error:
            print(f"{half}: a test failed, or a tool: {error}", file=sys.stderr)
            return 1
    return 0


def show(half: str, lines: Lines) -> None:
    """Prints a Markdown table in the form of docs/explanation/testing.md."""
    ran, all_lines = (sum(counts[which] for counts in lines.values()) for which in (0, 1))
    print(f"\n| {half} | Lines | Run |\n|---|--:|--:|")
    for part, (part_ran, part_lines) in sorted(lines.items()):
        print(f"| `{part}` | {part_lines} | {100 * part_ran / max(1, part_lines):.1f} % |")
    print(f"| all | {all_lines} | {100 * ran / max(1, all_lines):.1f} % |", flush=True)


# --- Rust ---------------------------------------------------------------------------------------


def rust() -> Lines:
    """Runs the tests of the workspace; returns the numbers of lines by crate."""
    tools = llvm_tools()
    profiles = MADE / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    environment = {
        **os.environ,
        "RUSTFLAGS": "-Cinstrument-coverage",
        "LLVM_PROFILE_FILE": str(profiles / "%p-%m.profraw"),
    }
    command = ["cargo", "test", "--quiet", "--workspace", "--exclude", "aqmlab-py"]
    command += ["--target-dir", str(MADE / "rust")]
    built = _output([*command, "--no-run", "--message-format=json"], env=environment)
    found = (json.loads(line).get("executable") for line in built.splitlines() if line[0] == "{")
    programs = sorted({program for program in found if program})
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    merged = MADE / "rust.profdata"
    raw = [str(path) for path in profiles.iterdir()]
    listed = MADE / "profiles.txt"
    listed.write_text("\n".join(raw), encoding="utf-8")
    _output(
        [str(tools / "llvm-profdata"), "merge", "-sparse", "-f", str(listed), "-o", str(merged)]
    )
    objects = [word for program in programs[1:] for word in ("-object", program)]
    export = [str(tools / "llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}"]
    report = json.loads(_output([*export, programs[0], *objects]))
    return by_crate(report)


def by_crate(report: dict[str, Any]) -> Lines:
    """The numbers of lines of `crates/*/src`, by crate, in a report of llvm-cov."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in report["data"][0]["files"]:
        found = re.search(r"/crates/(\w+)/src/", file["filename"])
        if found and str(ROOT) in file["filename"]:
            lines = file["summary"]["lines"]
            counts[found[1]][0] += lines["covered"]
            counts[found[1]][1] += lines["count"]
    return {crate: (ran, lines) for crate, (ran, lines) in counts.items()}


def llvm_tools() -> Path:
    """The folder with the tools of the compiler's LLVM version; raises `AbsentError`."""
    about = _output(["rustc", "-vV"])
    host, version = (
        re.search(rf"^{key}: (\S+)", about, re.M)[1]  # type: ignore[index]
        for key in ("host", "LLVM version")
    )
    own = Path(_output(["rustc", "--print", "sysroot"]).strip()) / "lib/rustlib" / host / "bin"
    if (own / "llvm-cov").exists():
        return own
    found = shutil.which("llvm-cov")
    major = version.partition(".")[0]
    if found and f"version {major}." in _output([found, "--version"]):
        return Path(found).parent
    raise AbsentError(
        f"llvm-cov of LLVM {major} is needed, which `rustup component add llvm-tools` installs"
    )


# --- Python -------------------------------------------------------------------------------------


def python() -> Lines:
    """Runs the tests; returns the numbers of lines by package, also of started processes."""
    if find_spec("coverage") is None:
        raise AbsentError("coverage.py is needed: pip install coverage")
    data = {**os.environ, "COVERAGE_FILE": str(MADE / "python")}
    run = [sys.executable, "-m", "coverage"]
    subprocess.run([*run, "erase"], cwd=ROOT, env=data, check=True)
    tests = ["-m", "pytest", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
    made = subprocess.run([*run, "run", *tests], cwd=ROOT, env=data, stdout=sys.stderr)
    if made.returncode not in (0, 1):  # a failed test does not invalidate the count
        raise subprocess.CalledProcessError(made.returncode, made.args)
    subprocess.run([*run, "combine", "--quiet"], cwd=ROOT, env=data, check=True)
    report = MADE / "python.json"
    _output([*run, "json", "--quiet", "-o", str(report)], env=data)
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        part = Path(name).parts[2] if len(Path(name).parts) > 3 else "modules"
        counts[part][0] += file["summary"]["covered_lines"]
        counts[part][1] += file["summary"]["num_statements"]
    return {part: (ran, lines) for part, (ran, lines) in counts.items()}


def _output(command: list[str], env: dict[str, str] | None = None) -> str:
    made = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return made.stdout


if __name__ == "__main__":
    sys.exit(main())
