"""The agent's binary, which is part of a wheel or built in the source tree.

It is linked statically against the C library of the compiler's default target. A source tree needs
only the toolchain and the target that build the simulator. `make dist` puts the binary into the
wheel, so a user of the wheel needs no compiler.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from aqmlab.engines.engine import Say
from aqmlab.engines.kernel.errors import MissingError

_TARGET = "x86_64-unknown-linux-gnu"
_NAME = "aqmlab-agent"
PACKAGED = Path(__file__).parent / _NAME
"""The agent of a wheel. A source tree builds its own agent from its present sources."""
_MANIFEST = Path("crates") / "agent" / "Cargo.toml"
_SOURCES = ("Cargo.toml", "Cargo.lock", "crates/*/Cargo.toml", "crates/*/src/**/*.rs")


def find(say: Say = print) -> Path:
    """The path of the agent. In a source tree, Cargo first builds the agent if it is not current.

    Raises `MissingError` for missing requirements.
    """
    global _found
    if _found is None:
        _found = _find(say)
    return _found


_found: Path | None = None
"""The path found by this process, cached because a plan checks each of its trials."""


def _find(say: Say) -> Path:
    root = source_tree()
    if root is None:
        return _packaged()
    if is_fresh(root):
        return built(root)
    say("building the kernel engine's agent (a minute or two) ...")
    return build(root)


def is_there() -> bool:
    """Returns whether `find` needs no build. An installed package never needs a build."""
    root = source_tree()
    return _found is not None or root is None or is_fresh(root)


def where() -> str:
    """Describes the agent's location, without building the agent.

    Raises `MissingError` if the agent is absent and cannot be built.
    """
    root = source_tree()
    if root is None or is_fresh(root):
        return str(find())
    _cargo()
    return f"{built(root)} (to be built: `aqmlab kernel build`, or when it is first needed)"


def source_tree() -> Path | None:
    """The source tree from which this package runs, if any."""
    root = Path(__file__).resolve().parents[4]
    return root if (root / _MANIFEST).exists() else None


def built(root: Path) -> Path:
    """The path to which Cargo writes the agent of the source tree at `root`."""
    return _target_dir(root) / _TARGET / "release" / _NAME


def is_fresh(root: Path) -> bool:
    """Returns whether the agent is newer than all of its sources, so Cargo is not needed."""
    binary = built(root)
    if not binary.exists():
        return False
    changed = (path.stat().st_mtime for pattern in _SOURCES for path in root.glob(pattern))
    return binary.stat().st_mtime > max(changed)


def build(root: Path, target: Path | None = None) -> Path:
    """Builds the agent of the source tree at `root` as a static binary; returns its path.

    Cargo writes to `target`. Without `target`, it writes to the tree's own target folder. Raises
    `MissingError` without Cargo, or if the build fails.
    """
    target = _target_dir(root) if target is None else target
    # Every byte of the agent affects a run, so the binary must not contain paths of this host.
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    trims = [f"--remap-path-prefix={root}=aqmlab", f"--remap-path-prefix={cargo_home}=cargo"]
    flags = {
        "RUSTFLAGS": " ".join(["-C target-feature=+crt-static -C strip=symbols", *trims]),
        "CARGO_TARGET_DIR": str(target),
    }
    done = subprocess.run(
        [_cargo(), "build", "--quiet", "--release", "--package", _NAME, "--target", _TARGET],
        cwd=root,
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
        said = errors[0] if errors else f"cargo ended with status {done.returncode}"
        hint = f"`cargo build --package {_NAME}` in {root} shows all"
        raise MissingError(f"the agent cannot be built: {said}", hint)
    binary = target / _TARGET / "release" / _NAME
    # Cargo does not change the time of a binary that is up to date. A new time makes the next check
    # quick.
    with contextlib.suppress(OSError):
        os.utime(binary)
    return binary


def _packaged() -> Path:
    if not PACKAGED.exists():
        hint = "install a wheel that `make dist` built, or run aqmlab from its source tree"
        raise MissingError(f"{PACKAGED}: this package came without the agent", hint)
    return PACKAGED


def _target_dir(root: Path) -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR") or root / "target") / "agent"


def _cargo() -> str:
    found = shutil.which("cargo")
    if found is None:
        hint = "install Rust 1.88 or newer (https://rustup.rs), or put `cargo` on the path"
        raise MissingError("the agent is not built, and `cargo` is not installed", hint)
    return found
