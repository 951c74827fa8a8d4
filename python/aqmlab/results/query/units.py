"""Derives the unit of a column from its name."""

from __future__ import annotations

_LAST = {
    "ms": "ms",
    "s": "s",
    "mbit": "Mbit/s",
    "kbit": "kbit/s",
    "percent": "%",
    "bytes": "bytes",
    "packets": "packets",
    "ns": "ns",
}
"""Units by the last word of a name."""

_FIRST = {
    "packets": "packets",
    "drops": "packets",
    "marks": "packets",
    "lost": "packets",
    "bytes": "bytes",
    "segments": "segments",
    "retransmissions": "segments",
    "utilisation": "share",
    "jain": "0 to 1",
}
"""Units by the first word of a name, for names whose last word is not in `_LAST`."""

_WHOLE = {"n": "pairs", "rtt_n": "pairs", "probability": "0 to 1"}


def unit_of(column: str) -> str:
    """The unit of a column; empty if it has none.

    >>> unit_of("rtt_p95_ms"), unit_of("packets_sent"), unit_of("throughput_mean_mbit")
    ('ms', 'packets', 'Mbit/s')
    >>> unit_of("trial")
    ''
    """
    words = column.split("_")
    return _WHOLE.get(column) or _LAST.get(words[-1]) or _FIRST.get(words[0], "")
