"""The tables of speed, made from the results that `python bench/run.py --record` stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parent.parent / "bench"
ROWS = (
    ("aqmlab, measurement off", "off"),
    ("aqmlab, everything measured", "on"),
    ("csg-htsim, nothing measured", "csg-htsim"),
    ("ns-3, nothing measured", "ns-3"),
)


def _rate(per_s: float | None) -> str:
    if per_s is None:
        return "–"
    return f"{per_s / 1e6:.2f} million" if per_s >= 1e5 else f"{per_s / 1e3:.1f} thousand"


def _read(name: str) -> Any:
    return json.loads((BENCH / name).read_text(encoding="utf-8"))


def rates(_: str) -> str:
    """A table of the data packets per CPU second of each simulator."""
    found = _read("measured.json")
    lines = ["| data packets a second through the bottleneck | FIFO | FQ-CoDel |", "|---|---|---|"]
    for title, name in ROWS:
        cells = [_rate(found[qdisc].get(name)) for qdisc in ("pfifo", "fq_codel")]
        if cells != ["–", "–"]:
            lines.append(f"| {title} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n"


def instructions(_: str) -> str:
    """A table of the instructions per data packet, and per packet of any kind."""
    found = _read("instructions.json")
    units = ("data packet", "packet")
    lines = ["| instructions | per data packet | per packet |", "|---|---|---|"]
    for name, count in found.items():
        cells = " | ".join(f"{count[unit]:,}" for unit in units)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


MAKERS: dict[str, Callable[[str], str]] = {"speed": rates, "instructions": instructions}
