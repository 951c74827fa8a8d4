"""The names that a scenario gives to columns of tables, and the names of its trials."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from aqmlab.base.errors import BadValueError, shown
from aqmlab.base.unique_names import Names
from aqmlab.results.labels import condition_text

_MOST_NAME = 100

RESERVED = ("trial", "seed", "chunk", "campaign")
"""The columns that tables have of their own: of trials, of their files' folders, of a query."""

_NAME = re.compile(r"[^\W\d_](?:[\w .-]*[\w.-])?")


def is_column(name: str) -> bool:
    """Whether a column of a table may have the `name`: one that nothing takes for something else.

    >>> is_column("rate"), is_column("*"), is_column("Chunk"), is_column("condition.rate")
    (True, False, False, False)
    """
    folded = name.casefold()
    return (
        len(name) <= _MOST_NAME
        and _NAME.fullmatch(name) is not None
        and folded not in RESERVED
        and not folded.startswith("condition.")
    )


def refuse_name(name: str) -> None:
    """Raises `BadValueError` for a loop whose name no column of a table may have."""
    if not is_column(name):
        raise BadValueError(
            f"`{shown(name)}` is not a name of a loop",
            f"a name begins with a letter; letters, digits, spaces and `_`, `-`, `.` may follow, "
            f"{_MOST_NAME} at most; {', '.join(RESERVED)} and condition.… are columns of tables",
        )


class TrialNames:
    """Gives trials names that are fit for files and differ.

    Values that files cannot tell apart, such as "a/b" and "a-b", get a number behind them.

    >>> names = TrialNames()
    >>> names.of({"rate": "12/1 Mbit/s", "qdisc": "fq_codel", "rtt": "40 ms"}, 1)
    'rate=12-1,qdisc=fq_codel,rtt=40ms,seed=1'
    >>> names.of({"s": "a/b"}, 1), names.of({"s": "a-b"}, 1), names.of({"s": "a-b"}, 2)
    ('s=a-b,seed=1', 's=a-b-2,seed=1', 's=a-b-2,seed=2')
    """

    def __init__(self) -> None:
        self._whole = Names()
        self._taken: dict[str, Names] = {}
        self._known: dict[tuple[str, str], str] = {}

    def of(self, conditions: Mapping[str, str | int | float], seed: int) -> str:
        """The name of one more trial."""
        parts = [f"{file_safe(name)}={self._value(name, one)}" for name, one in conditions.items()]
        return self._whole.free(_cut(",".join([*parts, f"seed={seed}"])))

    def _value(self, name: str, value: str | int | float) -> str:
        key = name, condition_text(value)
        if key not in self._known:
            taken = self._taken.setdefault(name, Names())
            self._known[key] = taken.free(file_safe(value))
        return self._known[key]


def _cut(wanted: str) -> str:
    """`wanted`, cut to what file systems take."""
    if len(wanted) <= 180:
        return wanted
    return f"{wanted[:160]}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"


def file_safe(value: str | int | float) -> str:
    """`value` in characters that every file system takes, and not the separators of an id."""
    text = re.sub(r"\s*Mbit/s$", "", str(value))
    text = re.sub(r"\s+", "", text).replace("/", "-").replace("=", "")
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text)[:80] or "-"
