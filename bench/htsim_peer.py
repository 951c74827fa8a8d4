"""Builds and runs `htsim/dumbbell.cc`, for a comparison of csg-htsim with this simulator.

Nothing of csg-htsim is in this repository. The environment variable `HTSIM` names a folder with its
source (https://github.com/Broadcom/csg-htsim).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = (
    *("clock", "config", "eth_pause_packet", "eventlist", "fairpullqueue", "logfile", "loggers"),
    *("mtcp", "ndppacket", "network", "pipe", "queue", "rng", "route", "tcp", "tcppacket"),
    "trigger",
)
"""The source files of csg-htsim that its TCP needs."""


def build(folder: Path) -> Path | None:
    """Compiles the program into `folder`; returns `None` without `HTSIM` or a compiler.

    Raises `SystemExit` if `HTSIM` names a folder without the source.
    """
    given = os.environ.get("HTSIM")
    if not given or shutil.which("g++") is None:
        return None
    source = Path(given)
    if not (source / "tcp.cpp").exists():
        source /= "sim"
    parts = [source / f"{name}.cpp" for name in SOURCES]
    if missing := [str(part) for part in parts if not part.exists()]:
        raise SystemExit(f"HTSIM={given}: csg-htsim's source is not there ({missing[0]})")
    program = folder / "htsim-dumbbell"
    main = str(HERE / "htsim" / "dumbbell.cc")
    # `-w` disables warnings about csg-htsim's code.
    command = ["g++", "-O3", "-std=c++11", "-w", f"-I{source}", main, *map(str, parts)]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def run(
    program: Path, *, flows: int, mbit: int, rtt_ms: int, limit: int, span_s: float
) -> tuple[float, int]:
    """Runs a dumbbell in csg-htsim; returns its CPU seconds and its number of data packets."""
    arguments = [str(one) for one in (flows, mbit, rtt_ms, limit, span_s)]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return result["cpu_s"], result["packets"]
