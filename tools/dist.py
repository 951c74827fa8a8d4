"""Builds a wheel and an sdist into `dist/`: `make dist`.

The wheel contains everything that aqmlab needs at run time: the simulator for Python and for
browsers, and the kernel engine's agent. If Zig is installed, it links the simulator against an old
C library, so that the wheel runs on every Linux since 2014 (manylinux2014). Otherwise the wheel
needs this machine's version of the C library or a newer version.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from aqmlab.base.files import write_atomically
from aqmlab.engines.kernel import agent

ROOT = Path(__file__).parent.parent
OUT = ROOT / "dist"
_TARGET = "x86_64-unknown-linux-gnu"
_WITH_ZIG = ("--zig", "--compatibility", "manylinux2014", "--target", _TARGET)


def main() -> int:
    """Builds the wheel and the sdist, and prints their paths."""
    shutil.rmtree(OUT, ignore_errors=True)
    with_zig = importlib.util.find_spec("ziglang") is not None
    if not with_zig:
        _say("without Zig the wheel needs this machine's C library: pip install ziglang")
    built = agent.find(_say)
    # This copy of the agent is removed later, so that no other build contains an outdated agent.
    write_atomically(agent.PACKAGED, built.read_bytes())
    agent.PACKAGED.chmod(0o755)
    try:
        _maturin("build", "--release", "--strip", *(_WITH_ZIG if with_zig else ()))
    finally:
        agent.PACKAGED.unlink()
    _maturin("sdist")
    print(*sorted(OUT.iterdir()), sep="\n")
    return 0


def _maturin(*words: str) -> None:
    # maturin looks for Zig among the programs of this environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [sys.executable, "-m", "maturin", *words, "--out", str(OUT)],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        check=True,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
