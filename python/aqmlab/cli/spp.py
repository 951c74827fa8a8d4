"""`aqmlab spp`: round-trip times between the places of two captures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aqmlab import _core
from aqmlab.base import numerals
from aqmlab.base.errors import shown
from aqmlab.base.failures import RequestError
from aqmlab.cli import console
from aqmlab.cli.parameters.spp import SppParameters
from aqmlab.results.export import number


def command(given: SppParameters) -> int:
    """Runs `aqmlab spp`; returns the exit status."""
    for path in (given.first, given.second):
        if not path.exists():
            raise RequestError(f"{path}: there is no such file")
        if not path.is_file():
            raise RequestError(f"{path}: it is not a regular file")
    try:
        wishes = json.dumps({"synchronised": given.synchronised, "translation": given.translation})
        found = _core.spp(str(given.first), str(given.second), wishes)
    except ValueError as error:
        for path in (given.first, given.second):
            if str(error).startswith(f"{path}: {_NO_CAPTURE}"):
                raise RequestError(
                    f"{path}: is not a capture{_contents(path)}",
                    "allowed are pcap and pcapng files, such as those of `aqmlab pcap` and tcpdump",
                ) from None
        raise RequestError(str(error)) from None
    if given.as_json:
        console.print_json(plain(found))
    else:
        _show(plain(found))
    return 0


_NO_CAPTURE = "byte 0: begins with"
"""The start of the core's message for a file that is not a capture.

The message shows only the first bytes of the file.
"""


def _contents(path: Path) -> str:
    """A phrase with the first characters of a text file; empty for a file of another type."""
    with path.open("rb") as file:
        head = file.read(24)
    text = head.decode("utf-8", "ignore").strip().partition("\n")[0]
    return f": it is text that begins with `{shown(text)}`" if text.isprintable() and text else ""


def plain(value: Any) -> Any:
    """`value` with lists in place of arrays, and with `None` in place of `NaN` and infinities."""
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
"""The columns of the table, with their headings. With `--json` all columns are printed."""

MOST_ROWS = 200
"""The maximum number of flows in the table; a note refers to `--json` for the other flows."""

_WORDS = ("protocol", "from", "to")
"""The leading columns, which hold no numbers."""


def _end(text: str) -> str:
    """Shortens one end of a flow: "172.16.10.2 port 80" becomes "172.16.10.2:80".

    >>> _end("::1 port 80"), _end("172.16.10.2 port 80"), _end("TCP")
    ('[::1]:80', '172.16.10.2:80', 'TCP')
    """
    host, has_port, port = text.partition(" port ")
    if not has_port:
        return text
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _show(found: Mapping[str, Any]) -> None:
    """Shows the flows as a table, and the counts of packets below it."""
    if found["flows"]:
        _show_flows(found["flows"])
    else:
        console.talk("no packet is in both captures, so there are no flows")
    for name, value in found.items():
        if name != "flows":
            console.talk(f"{name.replace('_', ' ')}: {value}")


def _show_flows(flows: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    number_of_flows = len(flows[_WORDS[0]])
    columns = [(name, head) for name, head in _SHOWN if name in flows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for _, head in columns:
        table.add_column(head, no_wrap=True)
    for column in table.columns[len(_WORDS) :]:
        column.justify = "right"
    shown = zip(*(flows[name][:MOST_ROWS] for name, _ in columns), strict=True)
    for row in shown:
        # Markup would replace `:name:` with emoji.
        words = (Text(_end(one)) for one in row[: len(_WORDS)])
        table.add_row(*words, *map(numerals.number, row[len(_WORDS) :]))
    target = console.stdout()
    # The table keeps its full width. A narrow terminal breaks the lines, so all text stays visible.
    table.width = target.measure(table, options=target.options.update(width=1_000)).maximum
    target.print(table, crop=False, soft_wrap=target.width < table.width)
    if number_of_flows > MOST_ROWS:
        console.talk(f"{number_of_flows - MOST_ROWS} more flows: --json gives all")
