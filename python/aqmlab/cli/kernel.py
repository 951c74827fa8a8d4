"""`aqmlab kernel`: requirements of the kernel engine, and comparison of disciplines with Linux."""

from __future__ import annotations

from aqmlab.cli import console
from aqmlab.engines import registry
from aqmlab.engines.kernel import installed


def status() -> int:
    """Prints the requirements of `--engine kernel`, and which of them are present.

    Returns 1 if a requirement is missing.
    """
    items = installed.status()
    for item in items:
        print(f"{item.name:<10} {item.found or 'missing: ' + item.problem}")
    hints = dict.fromkeys(item.hint for item in items if item.problem)
    for hint in hints:
        print(f"\nto do: {hint}")
    return 1 if hints else 0


def build() -> int:
    """Builds the image that the virtual machine boots; prints its files and versions."""
    prepared = registry.engine("kernel").prepare([], console.talk)
    for name in ("kernel", "initramfs"):
        print(f"{name:<10} {prepared.options[name]}")
    for name, version in prepared.versions.items():
        print(f"{name:<10} {version}")
    return 0
