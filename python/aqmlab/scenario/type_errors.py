"""The errors of pydantic on types and ranges, in the words of a scenario's file.

`first_problem` of `model` reads these errors. TOML has texts, numbers, lists and tables, so no
message names Python's types or the classes of this package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aqmlab.base.errors import BadValueError, shown

_WANTED = {
    "dict_type": "a table", "mapping_type": "a table", "model_type": "a table",
    "model_attributes_type": "a table", "tuple_type": "a list", "list_type": "a list",
    "string_type": "text", "int_type": "a whole number", "int_parsing": "a whole number",
    "int_from_float": "a whole number", "float_type": "a number", "float_parsing": "a number",
    "finite_number": "a finite number",
}  # fmt: skip
"""The types of values in TOML that pydantic's errors want."""

_BOUNDS = {
    "greater_than": ("above", "gt"), "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"), "less_than_equal": ("at most", "le"),
}  # fmt: skip
"""The words for a bound and the key of its value, by the type of the error."""

_EXAMPLES = {
    ("a table", "path"): 'path = { rate = "12/1 Mbit/s", rtt = "40 ms" }',
    ("a table", "modem"): 'modem = { rate = "50/20 Mbit/s" }, or "off"',
    ("a table", "down"): 'down = { qdisc = "fq_codel" }',
    ("a table", "up"): 'up = { qdisc = "fq_codel" }',
    ("a table", "apps"): 'apps.NAME = { kind = "bulk" }, or "off" to leave one out',
    ("a table", "hosts"): 'hosts.NAME = { profile = "linux" }',
    ("a table", "defaults"): 'defaults = { start = "1 s" }',
    ("a table", "measure"): 'measure = { from = "5 s" }',
    ("a table", "report"): 'report = { figures = ["rtt_time"] }',
    ("a table", "people"): 'people.anna.devices.notebook = ["video meeting"]',
    ("a table", "things"): 'things.door = "camera"',
    ("a table", "devices"): 'devices.notebook = ["video meeting"]',
    ("a list", "tiers"): 'tiers = ["25/5 Mbit/s", "50/20 Mbit/s"]',
    ("a list", "figures"): 'figures = ["rtt_time"]',
}
"""The text to write, by the wanted type and the last key."""

_IN_TABLES = {
    ("a table", "people"): '{ devices = { notebook = ["video meeting"] } }',
    ("a list", "devices"): '"video meeting", or a list of activities',
    ("a list", "things"): '"camera", or a list of activities',
    ("text", "tiers"): '"25/5 Mbit/s"',
    ("text", "figures"): '"rtt_time"',
}
"""The text to write, by the wanted type and the key of the table around the value."""


def in_words(error: Mapping[str, Any], keys: Sequence[str]) -> BadValueError:
    """The problem that an entry of pydantic's `errors()` states about the member at `keys`."""
    kind, value = error["type"], error.get("input")
    if kind in _WANTED:
        wanted, is_type = _WANTED[kind], _type(value)
        apart = f"is {is_type}, not {wanted}"
        if is_type is None or wanted.endswith("number"):
            apart = f"is not {wanted}"
        return BadValueError(f"`{shown(value)}` {apart}", _hint(wanted, keys))
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        most_or_least = f"{error['ctx'][key]}".removesuffix(".0")
        return BadValueError(f"`{shown(value)}` is not {words} {most_or_least}")
    if kind == "literal_error":
        known = error["ctx"]["expected"].replace("'", '"')
        return BadValueError(f"`{shown(value)}` is wrong", f"write {known}")
    return BadValueError(f"`{shown(value)}` is wrong: {error['msg'].lower()}")


def _type(value: object) -> str | None:
    """The type of a value in a file; `None` for a value that a file cannot state."""
    if isinstance(value, bool):
        return "a switch"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a table" if isinstance(value, Mapping) else None


def _hint(wanted: str, keys: Sequence[str]) -> str | None:
    """The hint for the member at `keys`; `None` if there is none."""
    around, last = ("", "", *keys)[-2:]
    example = _EXAMPLES.get((wanted, last)) or _IN_TABLES.get((wanted, around))
    is_use = last.isdecimal() and ("devices" in keys or keys[0] == "things")
    if example is None and wanted == "a table" and is_use:
        example = '"camera", or { does = "camera" }'
    if example is None and wanted == "text" and not last.isdecimal():
        return "put it in quotes"
    if example is None and wanted == "a list":
        return "write the values in brackets"
    return None if example is None else f"write {example}"
