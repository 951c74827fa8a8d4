"""`aqmlab kernel`: what the kernel engine runs on."""

from __future__ import annotations

from typing import Annotated

import typer

ACTIONS = ("status", "build")


def command(
    action: Annotated[
        str, typer.Argument(metavar="[status|build]", help="Say what there is, or make it ready.")
    ] = "status",
) -> int:
    """Say what `--engine kernel` needs and has, or build what it boots."""
    if action not in ACTIONS:
        from aqmlab.errors import suggestion
        from aqmlab.failures import RequestError

        raise RequestError(f"kernel: unknown action `{action}`", suggestion(action, ACTIONS))
    return _build() if action == "build" else _status()


def _build() -> int:
    from aqmlab.cli import console
    from aqmlab.engines import ENGINES

    prepared = ENGINES["kernel"].prepare([], console.talk)
    for name in ("kernel", "initramfs"):
        print(f"{name:<10} {prepared.options[name]}")
    for name, version in prepared.versions.items():
        print(f"{name:<10} {version}")
    return 0


def _status() -> int:
    from aqmlab.kernel.installed import status

    items = status()
    for item in items:
        print(f"{item.name:<10} {item.found or 'missing: ' + item.problem}")
    hints = dict.fromkeys(item.hint for item in items if item.problem)
    for hint in hints:
        print(f"\nto do: {hint}")
    return 1 if hints else 0
