"""Names of the table columns and of the trials of a scenario."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import BadValueError, shown
from aqmlab.base.unique_names import Names

_MOST_NAME = 100

RESERVED = ("trial", "seed", "chunk", "campaign")
"""Names of columns that every table has, that the folders of tables add, or that queries add."""

_NAME = re.compile(r"[^\W\d_](?:[\w .-]*[\w.-])?")


def is_column(name: str) -> bool:
    """Returns whether `name` is valid and unambiguous as the name of a table column.

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
    """Raises `BadValueError` for a loop whose name is not a valid column name."""
    if not is_column(name):
        raise BadValueError(
            f"`{shown(name)}` is not a name of a loop",
            f"a name begins with a letter; letters, digits, spaces and `_`, `-`, `.` may follow, "
            f"{_MOST_NAME} at most; {', '.join(RESERVED)} and condition.… are columns of tables",
        )


class TrialNames:
    """A generator of unique trial names that are valid file names.

    Different values may have the same form in file names, such as "a/b" and "a-b". All but the
    first of them get a number appended.

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
        """A new name for the next trial, which has these conditions and this seed."""
        parts = [f"{file_safe(name)}={self._value(name, one)}" for name, one in conditions.items()]
        return self._whole.free(_cut(",".join([*parts, f"seed={seed}"])))

    def _value(self, name: str, value: str | int | float) -> str:
        key = name, condition_text(value)
        if key not in self._known:
            taken = self._taken.setdefault(name, Names())
            self._known[key] = taken.free(file_safe(value))
        return self._known[key]


def _cut(wanted: str) -> str:
    """Shortens `wanted` for file names if it is long. A hash distinguishes shortened names."""
    if len(wanted) <= 180:
        return wanted
    return f"{wanted[:160]}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"


def file_safe(value: str | int | float) -> str:
    """Formats a value for file names in at most 80 characters.

    The result has no blanks, no final "Mbit/s" and no separators of a trial's name.
    """
    text = re.sub(r"\s*Mbit/s$", "", str(value))
    text = re.sub(r"\s+", "", text).replace("/", "-").replace("=", "")
    return re.sub(r"[^A-Za-z0-9._+-]", "-", text)[:80] or "-"
