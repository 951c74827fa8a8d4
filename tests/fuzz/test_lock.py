"""The fuzzers' lock file names the packages that the manifests name.

`make test` does not build the fuzzers, so it would not notice a new dependency of a crate that is
missing from their lock file. `cargo metadata --locked` would need the packages of the fuzzers,
which a new clone does not have.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def own_packages() -> dict[str, list[str]]:
    """The dependencies of the fuzzers and of each crate of this repository, by package."""
    manifests = [ROOT / "fuzz/Cargo.toml", *ROOT.glob("crates/*/Cargo.toml")]
    return {
        manifest["package"]["name"]: sorted(manifest.get("dependencies", {}))
        for manifest in map(read, manifests)
    }


def test_the_lock_file_of_the_fuzzers_has_the_dependencies_of_the_manifests():
    lock = {package["name"]: package for package in read(ROOT / "fuzz/Cargo.lock")["package"]}
    own = own_packages()
    missing, waiting, seen = [], ["aqmlab-fuzz"], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        # A version follows the name if the file has several versions of the package.
        locked = [entry.split()[0] for entry in lock.get(name, {}).get("dependencies", [])]
        if sorted(locked) != own[name]:
            missing.append(f"{name}: {sorted(locked)}, but its manifest has {own[name]}")
        waiting += [one for one in own[name] if one in own]
    hint = "cargo metadata --manifest-path fuzz/Cargo.toml --format-version 1 writes the lock file"
    assert not missing, "\n".join([*missing, hint])
    assert {name for name in lock if "source" not in lock[name]} == seen, hint
