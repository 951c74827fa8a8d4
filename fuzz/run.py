"""Fuzzes the readers of external bytes with LLVM's libFuzzer: `make fuzz`.

A target fails if it panics, or if one input exceeds the limit on time or memory. Failing inputs are
stored in `fuzz/target/found`; make each of these inputs a test case. Status 0 means no failure, 1 a
failure, and 3 a missing tool.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import seeds

HERE = Path(__file__).parent
sys.path.append(str(HERE))

TARGETS = {
    # The limits of one input: its bytes, its seconds and its megabytes.
    "captures": (16_384, 5, 512),
    "trial": (16_384, 5, 1_024),
}
PASSES = (
    # The flags of cargo-fuzz. Stable rustc also accepts them.
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
)
ABSENT = 3


def absent() -> str | None:
    """The tool that is missing to build fuzzers, as a message; `None` if no tool is missing."""
    for tool in ("cargo", "c++"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return None


def build() -> Path:
    """Builds the targets with instrumentation; returns the folder of the programs."""
    host = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = next(line.split()[1] for line in host.splitlines() if line.startswith("host:"))
    # With an explicit target, build scripts are not instrumented.
    command = ["cargo", "build", "--quiet", "--release", "--target", triple]
    environment = {**os.environ, "RUSTFLAGS": " ".join(PASSES)}
    subprocess.run(command, cwd=HERE, env=environment, check=True)
    return HERE / "target" / triple / "release"


def prepare(target: str) -> None:
    """Writes the seeds of a target and the dictionary, and makes the folder of its failures."""
    seeds.write(target, HERE / "target" / "corpus" / target)
    (HERE / "target" / "found" / target).mkdir(parents=True, exist_ok=True)
    (HERE / "target" / "words").write_text(seeds.words(), encoding="utf-8")


def fuzz(target: str, programs: Path, seconds: int) -> bool:
    """Runs one target for `seconds` seconds; returns whether no input failed."""
    most_bytes, most_s, most_mb = TARGETS[target]
    corpus, found = HERE / "target" / "corpus" / target, HERE / "target" / "found" / target
    options = {
        "max_total_time": seconds,
        "max_len": most_bytes,
        "timeout": most_s,
        "rss_limit_mb": most_mb,
        "malloc_limit_mb": most_mb // 2,
        "artifact_prefix": f"{found}/",
        "print_final_stats": 1,
        **({"dict": HERE / "target" / "words"} if target == "trial" else {}),
    }
    arguments = [f"-{name}={value}" for name, value in options.items()]
    made = subprocess.run(
        [programs / target, corpus, *arguments], capture_output=True, text=True, errors="replace"
    )
    lines = made.stderr.splitlines()
    said = [line for line in lines if line.startswith(("#", "stat::number_of_executed"))]
    print(f"{target}: {said[-1] if said else 'nothing ran'}", flush=True)
    if made.returncode:
        print("\n".join(lines[-40:]), file=sys.stderr)
    return made.returncode == 0


def main() -> int:
    """Fuzzes the requested targets at the same time; returns the status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="TARGET")
    asked = parser.parse_args()
    unknown = [target for target in asked.targets if target not in TARGETS]
    if unknown:
        parser.error(f"there is no target `{unknown[0]}`; there are {', '.join(TARGETS)}")
    reason = absent()
    if reason is not None:
        print(f"skipped: {reason}", file=sys.stderr)
        return ABSENT
    programs = build()
    for target in asked.targets:
        prepare(target)
    with ThreadPoolExecutor(len(TARGETS)) as pool:
        sound = pool.map(partial(fuzz, programs=programs, seconds=asked.seconds), asked.targets)
        found = [target for target, well in zip(asked.targets, sound, strict=True) if not well]
    if found:
        print(f"found something: {', '.join(found)}; see fuzz/target/found", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
