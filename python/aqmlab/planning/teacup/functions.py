"""Values, functions and methods that configs may use.

The functions raise `UnreadError` for an unsupported value. All sizes have limits. Texts, lists and
numbers beyond a limit are refused before they are made. Only numbers and text can be formatted as
text, because the text of nested lists can be arbitrarily long.
"""

from __future__ import annotations

import ast
import operator
import re
import string
from collections.abc import Callable
from typing import Any

MOST_ITEMS = 100_000
_MOST_PARTS = 100


class Row(tuple[Any, ...]):
    """A tuple with the number of its line in the config."""

    line: int = 0


class Opaque:
    """A module or an object that a config uses only by name."""

    def __init__(self, name: str) -> None:
        self.name = name


class UnreadError(Exception):
    """An unsupported part of a statement, with the reason. The caller adds the line."""


class Moment(Opaque):
    """A date that supports only `strftime`."""


SCALARS = (str, int, float, bool, type(None))

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def refuse_large(value: Any) -> None:
    """Raises `UnreadError` for a value that is too large."""
    if isinstance(value, (str, list, tuple, dict)) and len(value) > MOST_ITEMS:
        raise UnreadError("passed over: too long")
    if isinstance(value, (int, float)) and not abs(value) <= 10**18:  # also infinity and NaN
        raise UnreadError("passed over: too large a number")


def kept(value: Any) -> Any:
    """Returns `value`; raises `UnreadError` if it is too large."""
    refuse_large(value)
    return value


def iterate(value: Any) -> list[Any]:
    """The members of a list or text, or the keys of a dictionary; else raises `UnreadError`."""
    if isinstance(value, (list, tuple, str, dict)):
        return list(value)
    raise UnreadError("passed over: this cannot be iterated")


def as_key(value: Any) -> Any:
    """Returns `value`; raises `UnreadError` if it cannot be the key of a dictionary."""
    if isinstance(value, SCALARS):
        return value
    # Hashing a tuple reads all of its members. Nested shared tuples can have any number of members.
    short = isinstance(value, tuple) and len(value) <= _MOST_PARTS
    if short and all(isinstance(part, SCALARS) for part in value):
        return value
    raise UnreadError("passed over: this cannot be a key")


def truth_of(value: Any) -> bool:
    """Returns whether `value` is true as a condition; raises `UnreadError` for an unknown value."""
    if isinstance(value, Opaque):
        raise UnreadError("passed over: the value of this condition is unknown")
    return bool(value)


def as_text(value: Any) -> str:
    """Formats a number, text, a boolean or `None`; raises `UnreadError` for any other value."""
    if isinstance(value, SCALARS):
        return str(value)
    raise UnreadError("passed over: only numbers and text can be formatted")


def signed(op: ast.unaryop, value: Any) -> Any:
    """Applies a unary operator: the sign of a number, or `not`."""
    if isinstance(op, ast.Not):
        return not truth_of(value)
    if isinstance(op, ast.USub) and isinstance(value, (int, float)):
        return -value
    if isinstance(op, ast.UAdd) and isinstance(value, (int, float)):
        return value
    raise UnreadError("passed over: this sign is not read")


def product(left: Any, right: Any) -> Any:
    """A product of numbers, or a repeated text or list."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if isinstance(left, (str, list, tuple)) and isinstance(right, int):
        if len(left) * max(right, 0) > MOST_ITEMS:
            raise UnreadError("passed over: too long")
        return left * right
    raise UnreadError("passed over: this product is not read")


def compare(op: ast.cmpop, left: Any, right: Any) -> bool:
    """Evaluates a comparison, a test of membership (`in`) or a test of identity (`is`)."""
    if isinstance(op, (ast.In, ast.NotIn)):
        if isinstance(right, (list, tuple)) and not all(isinstance(one, SCALARS) for one in right):
            raise UnreadError("passed over: this comparison is not read")
        left = as_key(left) if isinstance(right, dict) else left
        return (left in right) == isinstance(op, ast.In)
    if isinstance(op, (ast.Is, ast.IsNot)):
        return (left is right) == isinstance(op, ast.Is)
    if not isinstance(left, SCALARS) or not isinstance(right, SCALARS):
        raise UnreadError("passed over: this comparison is not read")
    return _COMPARISONS[type(op)](left, right)


def percent_text(text: str, values: Any) -> str:
    """Evaluates the formatting `text % values`."""
    given = values if isinstance(values, tuple) else (values,)
    if not all(isinstance(one, SCALARS) for one in given):
        raise UnreadError("passed over: only numbers and text can be formatted")
    if re.search(r"%[^a-zA-Z%]*(?:\*|\d{4})", text):
        raise UnreadError("passed over: this format is not read")
    widths = "".join(re.findall(r"%[^a-zA-Z%]*", text))
    _refuse_long(len(text) + _digits(widths) + sum(len(as_text(one)) for one in given))
    return text % tuple(given)


def _refuse_long(length: int) -> None:
    if length > MOST_ITEMS:
        raise UnreadError("passed over: too long")


def _digits(text: str) -> int:
    """The sum of the numbers in `text`.

    They are widths and precisions, so the sum limits the padding.
    """
    return sum(map(int, re.findall(r"\d+", text)))


def format_text(text: str, values: list[Any], named: dict[str, object]) -> str:
    """Evaluates `text.format(*values, **named)`."""
    if not all(isinstance(one, SCALARS) for one in (*values, *named.values())):
        raise UnreadError("passed over: only numbers and text can be formatted")
    texts = [as_text(one) for one in (*values, *named.values())]
    length, longest = len(text), max(map(len, texts), default=0)
    for _, field, spec, _ in string.Formatter().parse(text):
        # A field such as `0.__class__` would read attributes, and a large width fills memory.
        if (field and not re.fullmatch(r"\w*", field)) or (spec and re.search(r"\d{4}|\{", spec)):
            raise UnreadError("passed over: this format is not read")
        if field is not None:  # each field may refer to the longest value
            length += longest + _digits(spec or "")
    _refuse_long(length)
    return text.format(*values, **named)


def _range(*ends: int) -> list[int]:
    if not all(isinstance(end, int) for end in ends) or len(range(*ends)) > MOST_ITEMS:
        raise UnreadError("passed over: this range is not read")
    return list(range(*ends))


def _scalars(values: Any) -> list[Any]:
    items = iterate(values)
    if not all(isinstance(one, SCALARS) for one in items):
        raise UnreadError("passed over: this is not read of nested values")
    return items


def _join(text: str, parts: Any) -> str:
    words = [as_text(part) for part in _scalars(parts)]
    if sum(map(len, words)) + len(text) * len(words) > MOST_ITEMS:
        raise UnreadError("passed over: too long")
    return text.join(words)


def _replace(text: str, old: str, new: str) -> str:
    if (len(text) + 1) * max(len(new), 1) > 10 * MOST_ITEMS:
        raise UnreadError("passed over: too long")
    return text.replace(old, new)


def _zip(*lists: Any) -> list[Row]:
    return [Row(items) for items in zip(*(iterate(one) for one in lists), strict=False)]


def _sum(values: Any) -> Any:
    return sum(one for one in _scalars(values) if isinstance(one, (int, float)))


def _round(value: Any, digits: int = 0) -> Any:
    # Rounding a whole number computes a power of ten, which must have a limit.
    return round(value, max(-20, min(digits, 20)))


def _dict(value: Any = ()) -> dict[Any, Any]:
    if isinstance(value, dict):
        return dict(value)
    return {as_key(key): member for key, member in iterate(value)}


def _index(items: list[Any], value: Any) -> int:
    if not isinstance(value, SCALARS):
        raise UnreadError("passed over: this is not read of nested values")
    return _scalars(items).index(value)


def _length(value: Any) -> int:
    if isinstance(value, (list, tuple, str, dict)):
        return len(value)
    raise UnreadError("passed over: this has no length")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "range": _range,
    "xrange": _range,
    "len": _length,
    "str": as_text,
    "int": lambda value: int(as_text(value)) if isinstance(value, str) else int(value),
    "float": lambda value: float(as_text(value)),
    "list": lambda value=(): list(iterate(value)),
    "tuple": lambda value=(): Row(iterate(value)),
    "dict": _dict,
    "sorted": lambda value: sorted(_scalars(value)),
    "reversed": lambda value: iterate(value)[::-1],
    "enumerate": lambda value: [Row(pair) for pair in enumerate(iterate(value))],
    "zip": _zip,
    "sum": _sum,
    "min": lambda *values: min(_scalars(values[0] if len(values) == 1 else list(values))),
    "max": lambda *values: max(_scalars(values[0] if len(values) == 1 else list(values))),
    "abs": abs,
    "round": _round,
    "bool": lambda value=False: truth_of(value),
}
"""Functions that a config may call."""

SEARCHING = frozenset(("index", "count", "remove"))
"""Methods that compare a value with the members of a list."""

METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    str: {
        "join": _join,
        "replace": _replace,
        "split": lambda text, *by: text.split(*by[:1]),
        "strip": lambda text: text.strip(),
        "lower": lambda text: text.lower(),
        "upper": lambda text: text.upper(),
        "startswith": lambda text, start: text.startswith(start),
        "endswith": lambda text, end: text.endswith(end),
        "zfill": lambda text, width: text.zfill(min(width, 1_000)),
    },
    list: {
        "append": lambda items, value: items.append(value),
        "extend": lambda items, values: items.extend(iterate(values)),
        "insert": lambda items, at, value: items.insert(at, value),
        "remove": lambda items, value: items.remove(value) if isinstance(value, SCALARS) else None,
        "pop": lambda items, *at: items.pop(*at[:1]),
        "reverse": lambda items: items.reverse(),
        "index": _index,
        "count": lambda items, value: _scalars(items).count(value),
    },
    dict: {
        "keys": lambda table: list(table),
        "values": lambda table: list(table.values()),
        "items": lambda table: [Row(pair) for pair in table.items()],
        "get": lambda table, key, other=None: table.get(as_key(key), other),
        "has_key": lambda table, key: as_key(key) in table,
        "update": lambda table, more: table.update(more if isinstance(more, dict) else {}),
        "copy": lambda table: dict(table),
    },
}
"""Methods that a config may call, by type."""
