"""Numbers as scenarios write them: with a unit ("40 ms"), with a noun ("490 packets") or alone.

Arithmetic is decimal and exact. The readers raise `BadValueError` for a wrong value.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from numbers import Integral, Real

from aqmlab.base.errors import BadValueError, shown

LARGEST = 10**18
"""The largest quantity in base units, and the largest plain number."""

_NUMBER = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?)\s*(.*)", re.S
)
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9][0-9](:[0-9][0-9])?")
NOUNS = frozenset((
    "packet", "packets", "pkt", "pkts", "p", "flow", "flows", "segment", "segments", "queue",
    "queues", "object", "objects", "player", "players", "request", "requests", "connection",
    "connections", "client", "clients", "band", "bands", "bucket", "buckets", "message",
    "messages", "sample", "samples",
))  # fmt: skip
"""The nouns that may follow a count; the core's composer has the same."""


def split(text: object) -> tuple[Decimal, str] | None:
    """The number and the unit of `text`, or `None` for a value that is not such a text."""
    found = _NUMBER.fullmatch(text.strip()) if isinstance(text, str) and len(text) < 200 else None
    if found is None:
        return None
    try:
        return Decimal(found[1]), found[2].strip()
    except InvalidOperation:
        return None


def plain(value: object) -> Decimal | None:
    """A number without a unit, or `None` for other values and Python numbers beyond `LARGEST`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):  # also an integer of numpy
        return Decimal(int(value)) if abs(int(value)) <= LARGEST else None
    if isinstance(value, Real) and abs(float(value)) <= LARGEST:  # not NaN
        return Decimal(repr(float(value)))
    parts = split(value)
    return parts[0] if parts and not parts[1] else None


def whole(number: Decimal, value: object, what: str, unit: tuple[int, str] = (1, "")) -> int:
    """Rounds `number` to whole base units. Errors name `value`, and call it a `what`.

    The error for too large a number states the limit in `unit`, a number of base units and a name.
    """
    if number < 0:
        raise BadValueError(f"`{shown(value)}` is negative", f"a {what} cannot be below zero")
    if number > LARGEST:
        limit = f"{LARGEST // unit[0]} {unit[1]}".rstrip()
        raise BadValueError(
            f"`{shown(value)}` is too large for a {what}", f"a {what} is at most {limit}"
        )
    return int(number.to_integral_value())


def not_a(what: str, value: object, example: str, units: tuple[str, ...] = ()) -> BadValueError:
    """The error for a `value` that is not a `what`.

    For a number without a unit, the hint lists possible `units`.
    """
    hint = f'write a number and a unit, such as "{example}"'
    if units and plain(value) is not None:
        meant = [f'"{shown(value)} {unit}"' for unit in units]
        hint = f"write the unit, too: {' or '.join(meant)}"
    if what.startswith("duration") and isinstance(value, str) and _CLOCK.fullmatch(value):
        hint = f"times count from the start of the trial: {hint}"
    return BadValueError(f"`{shown(value)}` is not a {what}", hint)


def trimmed(number: Decimal) -> str:
    """Formats `number` without an exponent and without zeros at its end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(value: object) -> int:
    """Reads a count, with or without a noun.

    >>> count(490), count("490 packets")
    (490, 490)
    """
    found = plain(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        found = Decimal(int(value))  # also beyond `LARGEST`, which `whole` refuses
    if found is None:
        parts = split(value)
        found = parts[0] if parts and parts[1].lower() in NOUNS else None
    if found is None or found != found.to_integral_value():
        raise BadValueError(
            f"`{shown(value)}` is not a count",
            'write a whole number, such as 490 or "490 packets"',
        )
    return whole(found, value, "count")


def number(value: object) -> float:
    """Reads a number or a percentage. The negative zero is zero.

    >>> number(0.05), number("5 %")
    (0.05, 0.05)
    """
    found = plain(value)
    if found is None:
        parts = split(value)
        found = parts[0] / 100 if parts and parts[1] == "%" else None
    if found is None:
        raise BadValueError(f"`{shown(value)}` is not a number", 'write 0.05 or "5 %"')
    return float(found) or 0.0  # otherwise -0.0 would be another condition


def flag(value: object) -> bool:
    """Reads a switch: true or false, on or off, yes or no."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("true", "on", "yes"):
        return True
    if word in ("false", "off", "no"):
        return False
    raise BadValueError(f"`{shown(value)}` is not a switch", "write true or false")
