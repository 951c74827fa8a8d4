"""Changes as text on the command line: `--set "path.rtt=20 ms"`, `--vary path.qdisc=pfifo,pie`.

The value for a name of a TEACUP config is in Python's notation. Any other value is TOML if it
parses as TOML, and otherwise text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.planning import teacup_reader
from aqmlab.planning.overrides import Assignment, TomlValue, Variation
from aqmlab.scenario import toml_writer
from aqmlab.scenario.normalise import spelled
from aqmlab.scenario.notation import parse_text


class _Notation(NamedTuple):
    """A notation of values: a reader, and a writer for values that are not text."""

    read: Callable[[str], TomlValue]
    write: Callable[[TomlValue], str]


def _notation(address: str) -> _Notation:
    if teacup_reader.is_name(address):
        return _Notation(teacup_reader.literal, _python)
    return _Notation(parse_text, toml_writer.value)


def _python(value: TomlValue) -> str:
    # Python also has TOML's escapes, and `_values` recognises TOML's quotes.
    return toml_writer.value(value) if isinstance(value, str) else repr(value)


def writable(address: str, value: TomlValue) -> TomlValue:
    """Converts `value` to a form that the notation of `address` can write.

    TOML has no null, so `None` becomes "off", except for a name of a TEACUP config.

    >>> writable("path.wifi", [None, {"mcs": 7}]), writable("V_delay", None)
    (['off', {'mcs': 7}], None)
    """
    if teacup_reader.is_name(address):
        return value
    if isinstance(value, dict):
        return {key: writable(address, member) for key, member in value.items()}
    if isinstance(value, list):
        return [writable(address, member) for member in value]
    return "off" if value is None else value


def assignments(texts: Iterable[str]) -> tuple[Assignment, ...]:
    """The assignments in the arguments of `--set`.

    Raises `ScenarioError` for an argument without an address or an equals sign.
    """
    pairs = (_split(text, "--set") for text in texts)
    return tuple(Assignment(address, _notation(address).read(text)) for address, text in pairs)


def variations(texts: Iterable[str]) -> tuple[Variation, ...]:
    """The variations in the arguments of `--vary`.

    Raises `ScenarioError` for an argument without an address or an equals sign.
    """
    pairs = (_split(text, "--vary") for text in texts)
    return tuple(Variation(address, tuple(_values(address, text))) for address, text in pairs)


def _split(text: str, option: str) -> tuple[str, str]:
    """Splits an argument of `option`, such as "path.rtt=20 ms", into address and value."""
    address, equals, value = text.partition("=")
    if not equals or not address.strip():
        raise ScenarioError(
            option, f"`{shown(text)}` assigns nothing", f'write {option} "path.rtt=20 ms"'
        )
    return spelled(address.strip()), value.strip()


def _values(address: str, text: str) -> list[TomlValue]:
    """The values in `text`; none in an empty text.

    >>> _values("path.qdisc", 'pfifo,{kind = "pie", limit = 9},20 ms')
    ['pfifo', {'kind': 'pie', 'limit': 9}, '20 ms']
    """
    read = _notation(address).read
    return [read(part) for part in listed(text, f"--vary {shown(address)}")]


def _parts(text: str) -> list[str]:
    """The parts of `text`, which commas separate outside brackets and quotes."""
    parts, depth, quote, escaped = [""], 0, "", False
    for char in text:
        if escaped:
            escaped = False
        elif quote:
            escaped = quote == '"' and char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        depth += (not quote) * ((char in "[{(") - (char in "]})"))
        if char == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def listed(text: str, where: str) -> list[str]:
    """The values in the list `text`; raises `ScenarioError` if one of several values is empty.

    Returns no values for a blank text: the caller knows what the list must hold.

    >>> listed("pie, codel", "--gateways"), listed(" ", "--gateways")
    (['pie', 'codel'], [])
    """
    parts = _parts(text)
    if parts == [""]:
        return []
    if "" in parts:
        problem = f"value {parts.index('') + 1} of `{shown(text)}` is empty"
        raise ScenarioError(where, problem, "write a value between two commas, and none at the end")
    return parts


def assignment_text(one: Assignment) -> str:
    """The argument of `--set` for an assignment, from which `assignments` restores it."""
    notation = _notation(one.address)
    is_plain = isinstance(one.value, str) and notation.read(one.value.strip()) == one.value
    return f"{one.address}={one.value if is_plain else notation.write(one.value)}"


def variation_text(one: Variation) -> str:
    """The argument of `--vary` for a variation, from which `variations` restores it."""
    texts = (_listed(one.address, value) for value in one.values)
    return f"{one.address}={','.join(texts)}"


def _listed(address: str, value: TomlValue) -> str:
    # A second value is appended, because an open quote or bracket in `value` would contain it.
    notation = _notation(address)
    is_plain = isinstance(value, str) and (
        _parts(f"{value},0") == [value, "0"] and value != "" and notation.read(value) == value
    )
    return str(value) if is_plain else notation.write(value)
