"""Readers and writers of quantities: "40 ms", "12 Mbit/s", "300 kB", "490 packets", "5 %".

Each reader accepts text or a Python number. It returns a whole number of base units (nanoseconds,
bits per second, bytes) or raises `BadValueError`. Arithmetic is decimal and exact. A value between
two base units is rounded to the nearest. The writers return the canonical text, and the reader of
that text returns the same number.

Readers refuse a number without a unit if there is a choice of units. `bit` means bits and `B`
means bytes. `Mbps` means megabits, although `mbps` of tc(8) means megabytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache, wraps
from typing import TypeVar

from aqmlab.base.errors import BadValueError, shown

NS_PER_S = 1_000_000_000
"""Nanoseconds in a second."""

_LARGEST = 10**18
_NUMBER = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?)\s*(.*)", re.S
)

_DURATIONS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": NS_PER_S, "sec": NS_PER_S, "second": NS_PER_S, "seconds": NS_PER_S,
    "min": 60 * NS_PER_S, "h": 3_600 * NS_PER_S,
}  # fmt: skip
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9][0-9](:[0-9][0-9])?")
_RATES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RATE_UNIT = re.compile(r"([kmg]?)(?:bits?/s|bits?|bps)", re.I)
_TWO_RATES = re.compile(r"([0-9.]{1,20})[^/]{0,10}/\s*[0-9.]{1,20}\s*(\S{0,9})")
_SIZES = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
    "byte": 1, "bytes": 1,
}  # fmt: skip
_THINGS = frozenset((
    "packet", "packets", "pkt", "pkts", "p", "flow", "flows", "segment", "segments", "queue",
    "queues", "object", "objects", "player", "players", "request", "requests", "connection",
    "connections", "client", "clients", "band", "bands", "bucket", "buckets", "message",
    "messages", "sample", "samples",
))  # fmt: skip
_OFF = frozenset(("off", "none", "never"))


_Amount = TypeVar("_Amount", int, float)
_REMEMBERED = 4096


def _remembered(read: Callable[[object], _Amount]) -> Callable[[object], _Amount]:
    """Caches `read`, because plans repeat the same few texts."""
    known = lru_cache(_REMEMBERED)(read)

    @wraps(read)
    def reader(value: object) -> _Amount:
        return known(value) if type(value) is str else read(value)

    return reader


def _split(text: object) -> tuple[Decimal, str] | None:
    """The number and the unit of `text`, or `None` if it does not start with a number."""
    found = _NUMBER.fullmatch(text.strip()) if isinstance(text, str) and len(text) < 200 else None
    if found is None:
        return None
    try:
        return Decimal(found[1]), found[2].strip()
    except InvalidOperation:
        return None


def _plain(value: object) -> Decimal | None:
    """A number written without a unit."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return Decimal(value)
    if isinstance(value, float) and value == value and abs(value) <= _LARGEST:
        return Decimal(repr(value))
    split = _split(value)
    return split[0] if split and not split[1] else None


def _whole(number: Decimal, value: object, what: str) -> int:
    if number < 0:
        raise BadValueError(f"`{shown(value)}` is negative", f"a {what} cannot be below zero")
    if number > _LARGEST:
        raise BadValueError(f"`{shown(value)}` is too large for a {what}")
    return int(number.to_integral_value())


def _wrong(value: object, what: str, example: str, units: tuple[str, ...] = ()) -> BadValueError:
    """The error for `value`. For a number without a unit, the hint lists possible `units`."""
    hint = f'write a number and a unit, such as "{example}"'
    if units and _plain(value) is not None:
        meant = [f'"{shown(value)} {unit}"' for unit in units]
        hint = f"write the unit, too: {' or '.join(meant)}"
    if what.startswith("duration") and isinstance(value, str) and _CLOCK.fullmatch(value):
        hint = f"times count from the start of the trial: {hint}"
    return BadValueError(f"`{shown(value)}` is not a {what}", hint)


@_remembered
def duration(value: object) -> int:
    """Reads a duration in nanoseconds. Zero needs no unit.

    >>> duration("40 ms"), duration("1.5s"), duration("250 us")
    (40000000, 1500000000, 250000)
    """
    if _plain(value) == 0:
        return 0
    split = _split(value)
    scale = _DURATIONS.get(split[1]) if split else None
    if split is None or scale is None:
        raise _wrong(value, "duration", "40 ms", ("ms", "s"))
    return _whole(split[0] * scale, value, "duration")


def duration_or_off(value: object) -> int | None:
    """Reads a duration in nanoseconds, or `None` for "off"."""
    if value is None or value is False or (isinstance(value, str) and value.strip() in _OFF):
        return None
    try:
        return duration(value)
    except BadValueError as problem:
        if problem.problem.endswith("is not a duration"):
            raise _wrong(value, 'duration, nor "off"', "40 ms", ("ms", "s")) from None
        raise


@_remembered
def rate(value: object) -> int:
    """Reads a rate in bits per second; refuses zero.

    >>> rate("12 Mbit/s"), rate("500kbit"), rate("1.5mbit")
    (12000000, 500000, 1500000)
    """
    split = _split(value)
    unit = _RATE_UNIT.fullmatch(split[1]) if split else None
    if split is None or unit is None:
        if split and re.fullmatch(r"[kKmMgG]i?B(/s|ps)?", split[1]):
            raise BadValueError(f"`{shown(value)}` counts bytes", 'rates are in bits: "12 Mbit/s"')
        raise _no_rate(value, split)
    bits = _whole(split[0] * _RATES[unit[1].lower()], value, "rate")
    if bits == 0:
        raise BadValueError(
            f"`{shown(value)}` is a rate of zero, at which a queue never drains",
            'write a rate above zero, such as "64 kbit/s"',
        )
    return bits


def _no_rate(value: object, split: tuple[Decimal, str] | None) -> BadValueError:
    if isinstance(value, str) and (pair := _TWO_RATES.fullmatch(value.strip())):
        down, unit = pair.groups()
        return BadValueError(
            f"`{shown(value)}` is two rates where one is wanted",
            f'write one, such as "{down} {unit or "Mbit/s"}"; '
            f"two, down before up, belong in path.rate",
        )
    if split and split[1].lower() in ("k", "m", "g", "kb", "mb", "gb", "kbs", "mbs", "gbs"):
        meant = f"{_trim(split[0])} {split[1][0].replace('K', 'k').replace('m', 'M')}bit/s"
        return BadValueError(f"`{shown(value)}` is not a rate", f'did you mean "{meant}"?')
    return _wrong(value, "rate", "12 Mbit/s", ("Mbit/s", "kbit/s"))


@_remembered
def size(value: object) -> int:
    """Reads a size in bytes. Zero needs no unit.

    >>> size("300 kB"), size("64 KiB"), size("1514 B")
    (300000, 65536, 1514)
    """
    if _plain(value) == 0:
        return 0
    split = _split(value)
    if split is None or not split[1]:
        raise _wrong(value, "size", "300 kB", ("B", "kB"))
    scale = _SIZES.get(split[1]) or _SIZES.get(
        {"kb": "kB", "KB": "kB", "K": "KiB"}.get(split[1], "")
    )
    if scale is None:
        raise _wrong(value, "size", "300 kB")
    return _whole(split[0] * scale, value, "size")


def count(value: object) -> int:
    """Reads a count, with or without a noun.

    >>> count(490), count("490 packets")
    (490, 490)
    """
    number = _plain(value)
    if number is None:
        split = _split(value)
        number = split[0] if split and split[1].lower() in _THINGS else None
    if number is None or number != number.to_integral_value():
        raise BadValueError(
            f"`{shown(value)}` is not a count",
            'write a whole number, such as 490 or "490 packets"',
        )
    return _whole(number, value, "count")


def number(value: object) -> float:
    """Reads a number or a percentage.

    >>> number(0.05), number("5 %")
    (0.05, 0.05)
    """
    plain = _plain(value)
    if plain is None:
        split = _split(value)
        plain = split[0] / 100 if split and split[1] == "%" else None
    if plain is None:
        raise BadValueError(f"`{shown(value)}` is not a number", 'write 0.05 or "5 %"')
    return float(plain)


@_remembered
def share(value: object) -> float:
    """Reads a probability between 0 and 1."""
    part = number(value)
    if not 0.0 <= part <= 1.0:
        raise BadValueError(
            f"`{shown(value)}` is not between 0 and 1", 'for five in a hundred write "5 %"'
        )
    return part


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


def _trim(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _in_largest(amount: int, steps: tuple[tuple[int, str], ...]) -> str:
    """Formats `amount` in the first unit of `steps` that is not larger than it."""
    for scale, unit in steps:
        if amount >= scale:
            return f"{_trim(Decimal(amount) / scale)} {unit}"
    return f"{amount} {steps[-1][1]}"


@lru_cache(_REMEMBERED, typed=True)
def show_duration(ns: int) -> str:
    """Formats a duration in nanoseconds.

    >>> show_duration(40_000_000), show_duration(1_500_000_000), show_duration(0)
    ('40 ms', '1.5 s', '0 s')
    """
    if ns == 0:
        return "0 s"
    return _in_largest(ns, ((NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")))


@lru_cache(_REMEMBERED, typed=True)
def show_rate(bps: int) -> str:
    """Formats a rate in bits per second.

    >>> show_rate(12_000_000), show_rate(500_000), show_rate(1_000_000_000)
    ('12 Mbit/s', '500 kbit/s', '1 Gbit/s')
    """
    steps = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))
    return _in_largest(bps, steps)


@lru_cache(_REMEMBERED, typed=True)
def show_size(size_bytes: int) -> str:
    """Formats a size in bytes.

    >>> show_size(300_000), show_size(65_536), show_size(1_514)
    ('300 kB', '64 KiB', '1514 B')
    """
    for scale, unit in ((10**6, "MB"), (2**20, "MiB"), (10**3, "kB"), (2**10, "KiB")):
        if size_bytes and size_bytes % scale == 0:
            return f"{size_bytes // scale} {unit}"
    return f"{size_bytes} B"


@lru_cache(_REMEMBERED, typed=True)
def show_share(part: float) -> str:
    """Formats a probability as a percentage.

    >>> show_share(0.05)
    '5 %'
    """
    if 0.0 < part < 1e-9:
        return repr(part)  # the exponent form is shorter
    return f"{_trim(Decimal(repr(part)) * 100)} %"


READERS = {
    "duration": duration,
    "duration or off": duration_or_off,
    "count": count,
    "bytes": size,
    "rate": rate,
    "number": number,
    "flag": flag,
}
"""The reader of each parameter type."""


def show(kind: str, value: object) -> object:
    """Formats `value`, a parameter of type `kind`, so that its reader returns the same value."""
    if value is None:
        return "off"
    if kind in ("duration", "duration or off"):
        return show_duration(value)
    if kind == "bytes":
        return show_size(value)
    if kind == "rate":
        return show_rate(value)
    return value
