"""`make page` without a toolchain for WebAssembly."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL = "apt-get install rustc-web cargo-web rust-web-src lld"


@pytest.fixture
def without_toolchain(tmp_path: Path) -> dict[str, str]:
    """An environment with a Rust that has no target for WebAssembly, and without `wasm-ld`."""
    for name in ("bash", "cat", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    rustc = tmp_path / "rustc"
    rustc.write_text(f"#!/bin/sh\necho {tmp_path}\n", "utf-8")
    rustc.chmod(0o755)
    return os.environ | {"PATH": str(tmp_path)}


def compiled(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    bash = str(shutil.which("bash"))
    command = [bash, str(ROOT / "tools/simulator_wasm.sh"), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_make_page_stops_with_one_message_that_names_the_packages(
    without_toolchain: dict[str, str],
) -> None:
    done = compiled("--check", env=without_toolchain)
    assert done.returncode == 2
    assert INSTALL in done.stderr and "make page" not in done.stderr
    assert "skipped" not in done.stderr
    assert INSTALL in (ROOT / "README.md").read_text("utf-8")


def test_make_test_continues_without_the_page(without_toolchain: dict[str, str]) -> None:
    done = compiled(env=without_toolchain)
    assert done.returncode == 0
    assert INSTALL in done.stderr and "tests of the page are skipped" in done.stderr
