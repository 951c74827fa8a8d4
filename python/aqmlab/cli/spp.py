"""`aqmlab spp`: round-trip times from any two captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from aqmlab.cli import options


def command(
    first: Annotated[Path, typer.Argument(metavar="A.pcap", help="Captured at one end.")],
    second: Annotated[Path, typer.Argument(metavar="B.pcap", help="Captured at the other end.")],
    as_json: options.AsJson = False,
) -> int:
    """Measure round-trip times between two captures by synthetic packet pairs."""
    from aqmlab import _core
    from aqmlab.cli import console
    from aqmlab.failures import RequestError

    for path in (first, second):
        if not path.is_file():
            raise RequestError(f"{path}: there is no such file")
    try:
        found = _core.spp(str(first), str(second), json.dumps({}))
    except ValueError as error:
        raise RequestError(str(error)) from None
    if as_json:
        console.print_json(plain(found))
    else:
        _show(plain(found))
    return 0


def plain(value: Any) -> Any:
    """`value` without arrays, and without numbers that JSON cannot say."""
    from aqmlab.export import number

    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return number(value) if isinstance(value, float) else value


def _show(found: dict[str, Any]) -> None:
    """Prints every table of columns, and everything else as name and value."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from aqmlab.cli import console
    from aqmlab.cli.summary import number

    target = console.stdout()
    for name, value in found.get("tables", found).items():
        if not isinstance(value, dict):
            target.print(f"{name}: {value}", markup=False)
            continue
        table = Table(title=escape(name), box=box.SIMPLE_HEAD, title_justify="left")
        for column in value:
            table.add_column(escape(column), no_wrap=True)
        for row in zip(*value.values(), strict=True):
            cells = (number(one) if isinstance(one, float) else str(one) for one in row)
            table.add_row(*map(escape, cells))
        target.print(table)
