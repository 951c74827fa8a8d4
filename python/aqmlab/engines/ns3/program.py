"""Runs trials in ns-3 with the program ns3.cc, which is compiled on first use."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.base.failures import DiskError, LabError
from aqmlab.base.files import cache_folder
from aqmlab.base.scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("ns3.cc")
MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
APT_LINE = "sudo apt-get install g++ pkg-config libns3-dev libgsl-dev libsqlite3-dev"

PATIENCE_S = 3600.0
"""The time limit of a trial. Trials of the validation grid take seconds to minutes."""

PASSAGE = [
    ("sent", "<i8"), ("offered", "<i8"), ("out", "<i8"), ("arrived", "<i8"),
    ("sequence", "<u4"), ("length", "<u2"), ("payload", "<u2"), ("flow", "<u2"),
    ("conn", "<u2"), ("way", "u1"), ("lost", "u1"), ("pad", "V2"),
]  # fmt: skip
"""The layout of `Passage` in ns3.cc, in numpy's types."""

_building = threading.Lock()


class Ns3MissingError(LabError):
    """A missing requirement: ns-3, a compiler or `pkg-config`."""

    status = 2


class ProgramError(LabError):
    """ns-3 ended before the end of the trial, or exceeded the time limit."""


@dataclass(frozen=True)
class Made:
    """The output of a trial: the packets, the words of each message, and a digest of both."""

    packets: NDArray[np.void]
    said: list[list[str]]
    digest: str


def cache_dir() -> Path:
    """The path of the cache folder for the compiled program."""
    return cache_folder() / "ns3"


def build() -> Path:
    """Compiles the program unless it is in the cache; returns its path.

    Raises `Ns3MissingError` if ns-3 or a tool is not installed or the program does not compile, and
    `DiskError` if the program cannot be written.
    """
    told = flags()
    key = hashlib.sha256(SOURCE.read_bytes() + " ".join(told).encode()).hexdigest()[:16]
    path = cache_dir() / f"trial-{key}"
    with _building:
        if not path.exists():
            _compile(path, told)
    return path


def flags() -> list[str]:
    """The definition of ns-3's version, and the compiler flags to find ns-3.

    Raises `Ns3MissingError` if ns-3 or a tool is not installed.
    """
    for tool in ("g++", "pkg-config"):
        if shutil.which(tool) is None:
            raise Ns3MissingError(f"--peer ns3: `{tool}` is not installed", APT_LINE)
    found = _pkg_config("--cflags", "--libs", *(f"ns3-{module}" for module in MODULES))
    return [f"-DNS3_VERSION={version()}", *found]


def version() -> str:
    """ns-3's version; raises `Ns3MissingError` if it is not installed."""
    return _pkg_config("--modversion", f"ns3-{MODULES[0]}")[0]


def _pkg_config(*arguments: str) -> list[str]:
    command = ["pkg-config", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        why = (found.stderr.strip().splitlines() or ["pkg-config does not know it"])[0]
        raise Ns3MissingError(f"--peer ns3: ns-3 is not installed: {why}", APT_LINE)
    return shlex.split(found.stdout)


def _compile(path: Path, told: list[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / path.name
            command = ["g++", "-O2", "-std=c++17", str(SOURCE), "-o", str(made), *told]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                errors = [line for line in done.stderr.splitlines() if "error" in line]
                problem = (errors or done.stderr.splitlines() or ["no reason given"])[0]
                raise Ns3MissingError(f"--peer ns3: ns-3 does not compile: {problem}", APT_LINE)
            made.replace(path)
    except OSError as error:
        raise DiskError.of(error, path) from error


def run(text: str) -> Made:
    """Runs the trial `text`, which is a plan's text.

    Raises `Ns3MissingError` for missing requirements, and `ProgramError` if ns-3 ends early or
    exceeds the time limit.
    """
    import numpy as np

    program = build()
    with Scratch() as folder:
        try:
            done = subprocess.run(
                [program, folder], input=text, capture_output=True, text=True, check=False,
                timeout=PATIENCE_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ProgramError(f"ns-3 was not done after {PATIENCE_S:.0f} s") from None
        if done.returncode:
            why = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
            raise ProgramError(f"ns-3 ended before the trial did: {why}")
        raw = (Path(folder) / "packets").read_bytes()
        said = (Path(folder) / "said").read_text(encoding="utf-8")
    digest = hashlib.sha256(raw + said.encode()).hexdigest()[:16]
    return Made(
        np.frombuffer(raw, np.dtype(PASSAGE)), [line.split() for line in said.splitlines()], digest
    )
