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
    synchronised: Annotated[
        bool, typer.Option("--synchronised", help="The clocks agree: measure one-way delays too.")
    ] = False,
    translation: Annotated[
        str,
        typer.Option(metavar="WHAT", help="What a NAT between rewrites: none, addresses, ports."),
    ] = "none",
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
        wishes = json.dumps({"synchronised": synchronised, "translation": translation})
        found = _core.spp(str(first), str(second), wishes)
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


_SHOWN = (
    ("protocol", ""),
    ("from", "from"),
    ("to", "to"),
    ("packets_sent", "packets"),
    ("loss_percent", "loss %"),
    ("rtt_n", "pairs"),
    ("rtt_p5_ms", "RTT p5"),
    ("rtt_p50_ms", "p50"),
    ("rtt_p95_ms", "p95"),
    ("rtt_p99_ms", "p99 ms"),
    ("owd_p50_ms", "one way p50"),
    ("owd_p95_ms", "p95 ms"),
)
"""The columns that fit a terminal, and their heads; JSON has all."""


def _show(found: dict[str, Any]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from aqmlab.cli import console
    from aqmlab.cli.summary import number

    flows = found["flows"]
    columns = [(name, head) for name, head in _SHOWN if name in flows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, head in columns:
        words = name in ("protocol", "from", "to")
        table.add_column(head, justify="left" if words else "right", overflow="fold")
    for row in zip(*(flows[name] for name, _ in columns), strict=True):
        table.add_row(*(escape(one) if isinstance(one, str) else number(one) for one in row))
    console.stdout().print(table)
    for name, value in found.items():
        if name != "flows":
            console.talk(f"{name.replace('_', ' ')}: {value}")
