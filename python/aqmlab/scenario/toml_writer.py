"""Serialises nested tables as TOML text in the usual layout of scenarios."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONG = 10**60
_INLINE = frozenset(("qdisc", "cc", "overhead", "home", "wan", "tcp"))


def write(table: Mapping[str, object]) -> str:
    """The TOML text of nested tables.

    Parsing the text returns equal tables, with "off" for `None` and lists for tuples.

    >>> print(write({"title": "x", "path": {"rtt": "40 ms"}}), end="")
    title = "x"
    <BLANKLINE>
    [path]
    rtt = "40 ms"
    """
    return "\n".join(_lines(table, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, object], above: tuple[str, ...]) -> list[str]:
    below = {
        key: part
        for key, part in table.items()
        if isinstance(part, Mapping) and part and key not in _INLINE
    }
    own = [f"{_key(key)} = {value(part)}" for key, part in table.items() if key not in below]
    lines = []
    if above and (own or not below):
        lines = ["", f"[{'.'.join(_key(key) for key in above)}]"]
    lines += own
    for key, part in below.items():
        lines += _lines(part, (*above, key))
    return lines


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # TOML has the same escapes as JSON, and also requires an escape for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(part: object) -> str:
    """One value as TOML text, with inline tables. "off" replaces null, which TOML lacks."""
    if part is None:
        return '"off"'
    if isinstance(part, bool):
        return "true" if part else "false"
    if isinstance(part, str):
        return _string(part)
    if isinstance(part, Mapping):
        members = ", ".join(f"{_key(key)} = {value(member)}" for key, member in part.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(part, (list, tuple)):
        return f"[{', '.join(value(member) for member in part)}]"
    if isinstance(part, int) and abs(part) >= _LONG:
        return hex(part)  # Python refuses to write thousands of decimal digits
    return repr(part)
