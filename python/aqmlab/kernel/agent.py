"""The agent's binary: the one that came with the package, or one built in the source tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from aqmlab.kernel.errors import MissingError

_TARGET = "x86_64-unknown-linux-gnu"
_NAME = "aqmlab-agent"


def find() -> Path:
    """The agent; built with Cargo, which does nothing if it is up to date, in a source tree."""
    packaged = Path(__file__).parent / _NAME
    if packaged.exists():
        return packaged
    root = Path(__file__).resolve().parents[3]
    if not (root / "crates" / "agent" / "Cargo.toml").exists():
        hint = "install aqmlab from a source tree, or from a package that has it"
        raise MissingError(f"{packaged}: the agent is missing", hint)
    return build(root)


def build(root: Path) -> Path:
    """Builds the agent of the source tree at `root`, static, so that it runs alone."""
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingError("`cargo` is not installed", "install Rust: https://rustup.rs")
    target_dir = Path(os.environ.get("CARGO_TARGET_DIR") or root / "target") / "agent"
    flags = {"RUSTFLAGS": "-C target-feature=+crt-static", "CARGO_TARGET_DIR": str(target_dir)}
    done = subprocess.run(
        [cargo, "build", "--quiet", "--release", "--package", _NAME, "--target", _TARGET],
        cwd=root,
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MissingError("the agent cannot be built", done.stderr.strip()[-2_000:])
    return target_dir / _TARGET / "release" / _NAME
