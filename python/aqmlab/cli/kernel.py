"""`aqmlab kernel`: requirements of the kernel engine, and comparison of disciplines with Linux."""

from __future__ import annotations

import typer

from aqmlab.cli import traces

group = typer.Typer(
    help="Show, prepare and check what the kernel engine needs.", invoke_without_command=True
)
group.command("traces")(traces.command)


@group.callback()
def _plain(context: typer.Context) -> int | None:
    return status() if context.invoked_subcommand is None else None


@group.command()
def status() -> int:
    """Show the requirements of `--engine kernel` and which of them are present."""
    from aqmlab.engines.kernel import installed

    items = installed.status()
    for item in items:
        print(f"{item.name:<10} {item.found or 'missing: ' + item.problem}")
    hints = dict.fromkeys(item.hint for item in items if item.problem)
    for hint in hints:
        print(f"\nto do: {hint}")
    return 1 if hints else 0


@group.command()
def build() -> int:
    """Build the image that the virtual machine boots."""
    from aqmlab.cli import console
    from aqmlab.engines import registry

    prepared = registry.engine("kernel").prepare([], console.talk)
    for name in ("kernel", "initramfs"):
        print(f"{name:<10} {prepared.options[name]}")
    for name, version in prepared.versions.items():
        print(f"{name:<10} {version}")
    return 0
