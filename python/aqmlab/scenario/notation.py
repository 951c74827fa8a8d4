"""The short forms of values in scenarios, and the limits of nesting.

A kind may be written "fq_codel limit=1000". Both rates of a line may be written "12/1 Mbit/s". A
value on the command line is TOML if it parses as TOML.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from aqmlab.base.errors import BadValueError, ScenarioError, shown
from aqmlab.scenario.quantities import Rate, Share

Table = dict[str, Any]
"""A table of a TOML file."""

MOST_NESTING = 60
"""The largest number of levels of nested tables and lists."""

_UNIT = r"([A-Za-z]{1,9}(?:/s)?)"
"""The pattern of a unit. It accepts any word, so that the error for a wrong unit names the word."""
_PAIR = re.compile(rf"([0-9.]{{1,20}})\s*(?:{_UNIT}\s*)?/\s*([0-9.]{{1,20}})\s*{_UNIT}?")
_MARK = re.compile(r"""\"{3}|'{3}|["'.=,\n\[\]{}]|#[^\n]*""")
_ENDS = {
    '"': re.compile(r'\\.|"', re.DOTALL),
    "'": re.compile("'"),
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),  # up to two quotes belong to the string
    "'''": re.compile("'{3,5}"),
}
"""The pattern of a string's end and its escapes, by the opening quote."""


def rate_pair(text: str) -> tuple[str, str]:
    """The rates down and up of "12/1 Mbit/s", "12 Mbit/s / 800 kbit/s", "12 Mbit/s" or "95 %".

    Raises `BadValueError` for any other text.

    >>> rate_pair("1.5/0.5 Mbit/s"), rate_pair("90/95 %")
    (('1.5 Mbit/s', '500 kbit/s'), ('90 %', '95 %'))
    """
    if text.strip().endswith("%"):
        parts = [str(Share.parse(f"{part} %")) for part in _shares(text)]
        return parts[0], parts[-1]
    if has_no_unit(text):
        raise BadValueError(
            f"`{shown(text)}` has no unit", f'write it, too: "{text.strip()} Mbit/s"'
        )
    pair = _PAIR.fullmatch(text.strip())
    if pair is None:
        if re.search(r"/\s*[0-9]", text):
            problem = f"`{shown(text)}` is not a pair of rates"
            raise BadValueError(problem, 'write "12/1 Mbit/s", down before up')
        both = str(Rate.parse(text))
        return both, both
    down, down_unit, up, unit = pair.groups(default="")
    return str(Rate.parse(f"{down} {down_unit or unit}")), str(Rate.parse(f"{up} {unit}".strip()))


def has_no_unit(text: str) -> bool:
    """Returns whether a text states two numbers without a unit.

    >>> has_no_unit("25/5"), has_no_unit("25/5 Mbit/s")
    (True, False)
    """
    return re.fullmatch(r"[0-9.]{1,20}\s*/\s*[0-9.]{1,20}", text.strip()) is not None


def _shares(text: str) -> list[str]:
    """The numbers in "95 %" or "90/95 %"."""
    parts = text.strip().removesuffix("%").split("/")
    if len(parts) > 2:
        raise BadValueError(f"`{shown(text)}` are more than two shares, down before up")
    return [part.strip().removesuffix("%") for part in parts]


def kind_table(text: str) -> Table:
    """Parses a kind with parameters into a table; raises `BadValueError` for an invalid text.

    >>> kind_table("fq_codel limit=1000")
    {'kind': 'fq_codel', 'limit': 1000}
    """
    words = text.split()
    table: Table = {"kind": words[0] if words else ""}
    for before, word in itertools.pairwise(words):
        name, equals, value = word.partition("=")
        if equals and name in table and name != "kind":
            raise BadValueError(f"`{shown(name)}` is given twice", f"write `{shown(name)}=…` once")
        if not equals or not name or name in table:
            hint = _meant_word(words[0], before, word)
            raise BadValueError(f"`{shown(word)}` is not a parameter", f"write {hint}")
        table[name] = parse_text(value)
    return table


def _meant_word(kind: str, before: str, word: str) -> str:
    """The probable meaning of a word that is not a parameter; `before` precedes it."""
    number, unit = (re.sub("[\"']", "", one) for one in (before, word))
    if re.fullmatch(r"[^=]+=[0-9.]+", number) and unit.lower() in _UNITS:
        return f"`{shown(number)}{shown(unit)}`, without a space"
    if word in _TC_FLAGS:
        return f"`{_TC_FLAGS[word]}`"
    meant = "" if "=" in word else f'"{shown(kind)} {shown(word)}=…", as in '
    return f'{meant}"fq_codel limit=1000 target=5ms"'


_UNITS = frozenset((
    "ns", "us", "µs", "ms", "s", "min", "h", "b", "kb", "mb", "gb", "kib", "mib", "gib", "packets",
    "flows", "bit/s", "kbit/s", "mbit/s", "gbit/s", "bit", "kbit", "mbit", "gbit", "kbps", "mbps",
    "gbps", "%",
))  # fmt: skip
"""Units that people separate from their number."""

_TC_FLAGS = {
    f"{no}{flag}": f"{flag}={'false' if no else 'true'}"
    for flag in ("ecn", "bytemode", "dq_rate_estimator")
    for no in ("", "no", "no_")
}
"""The flags of tc, which are single words, as parameters."""


def refuse_deep_nesting(text: str, source: str) -> None:
    """Raises `ScenarioError` for deep nesting in a TOML text, because its readers are recursive."""
    depth = dots = at = 0
    while found := _MARK.search(text, at):
        mark, at = found[0], found.end()
        if mark in _ENDS:
            at = _behind_string(text, at, mark)
        elif mark == ".":
            dots += 1  # the dot of a key or of a number
        elif mark[0] != "#":
            dots = 0
            depth = max(0, depth + (mark in "[{") - (mark in "]}"))
        if max(depth, dots) > MOST_NESTING:
            line = text.count("\n", 0, at) + 1
            raise ScenarioError(f"{source}:{line}", f"nested deeper than {MOST_NESTING}")


def refuse_deep(value: Any, place: str) -> None:
    """Raises `ScenarioError` for deep nesting of values, because later functions are recursive."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MOST_NESTING:
            raise ScenarioError(place, f"nested deeper than {MOST_NESTING}")
        if isinstance(one, (Mapping, list, tuple)):
            members = one.values() if isinstance(one, Mapping) else one
            waiting.extend((member, depth + 1) for member in members)


def _behind_string(text: str, at: int, quote: str) -> int:
    """The end of the string whose opening `quote` ends at `at`."""
    for found in _ENDS[quote].finditer(text, at):
        if found[0][0] != "\\":
            return found.end()
    return len(text)


def parse_text(text: str) -> Any:
    """Parses a value from the command line as TOML, or returns the text without outer blanks.

    >>> parse_text("5"), parse_text("20 ms"), parse_text('{kind = "pie", limit = 9}')
    (5, '20 ms', {'kind': 'pie', 'limit': 9})
    """
    stripped = text.strip()
    if len(stripped) > 100_000 or "\n" in stripped:
        return stripped
    try:
        refuse_deep_nesting(stripped, "")
        parsed = tomllib.loads(f"value = {stripped}")
    except (ScenarioError, ValueError, RecursionError):
        return stripped
    value = parsed.get("value")
    return value if set(parsed) == {"value"} and _is_plain(value) else stripped


def _is_plain(value: Any) -> bool:
    """Returns whether a value has a type that scenarios use.

    Scenarios do not use TOML's dates, for example.
    """
    if isinstance(value, dict):
        return all(_is_plain(member) for member in value.values())
    if isinstance(value, list):
        return all(_is_plain(member) for member in value)
    return isinstance(value, (str, int, float, bool))
