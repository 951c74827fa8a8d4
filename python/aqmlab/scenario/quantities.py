"""Quantities of scenarios as exact values: `Duration`, `Rate`, `Size` and `Share`.

`parse` accepts text, a Python number or a value of the type, and raises `BadValueError` for other
values. A number between two base units is rounded to the nearest. `str` returns the canonical
spelling, from which `parse` returns an equal value.

Except for zero, `parse` refuses a number without a unit if there is a choice of units. `bit` means
bits and `B` means bytes. `Mbps` means megabits, although `mbps` of tc(8) means megabytes.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticSerializationUnexpectedValue, core_schema

from aqmlab.base.errors import BadValueError, shown
from aqmlab.scenario.number_text import (
    not_a,
    number,
    plain,
    split,
    trimmed,
    whole,
)
from aqmlab.scenario.schema_definitions import NUMBER_PATTERN, Definition

NS_PER_S = 1_000_000_000
"""The number of nanoseconds in a second."""

_DURATIONS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": NS_PER_S, "sec": NS_PER_S, "second": NS_PER_S, "seconds": NS_PER_S,
    "min": 60 * NS_PER_S, "h": 3_600 * NS_PER_S,
}  # fmt: skip
_RATES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RATE_UNIT = re.compile(r"([kmg]?)(?:bits?/s|bits?|bps)", re.I)
_TWO_RATES = re.compile(r"([0-9.]{1,20})[^/]{0,10}/\s*[0-9.]{1,20}\s*(\S{0,9})")
_SIZES = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
    "byte": 1, "bytes": 1,
}  # fmt: skip


_DURATION_PATTERN = NUMBER_PATTERN + r"(ns|us|µs|ms|s|sec|seconds?|min|h)\s*$"


class Quantity:
    """A value with a unit: frozen, hashable, and ordered among values of its type."""

    __slots__ = ()
    SCHEMA: ClassVar[Definition]
    """The JSON Schema of the quantity's spellings."""
    SUFFIX: ClassVar[str]
    """The unit at the end of names that hold base units."""

    @classmethod
    @abstractmethod
    def parse(cls, value: object) -> Self:
        """Reads a quantity from text, a number or a value of this type.

        Raises `BadValueError` for a wrong value.
        """

    @property
    @abstractmethod
    def base_units(self) -> int | float:
        """The quantity as a number of base units."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            ref=cls.SCHEMA.ref,
            serialization=core_schema.plain_serializer_function_ser_schema(
                cls._written, return_schema=core_schema.str_schema()
            ),
        )

    @classmethod
    def _written(cls, value: object) -> str:
        if not isinstance(value, cls):  # a union then tries its next type
            raise PydanticSerializationUnexpectedValue(f"not a {cls.__name__}")
        return str(value)

    @classmethod
    def __get_pydantic_json_schema__(cls, _: CoreSchema, __: GetJsonSchemaHandler) -> Any:
        return dict(cls.SCHEMA.schema)


def _refuse_below(of: Quantity, amount: object, least: int, what: str) -> None:
    if type(amount) is not int or amount < least:
        raise BadValueError(
            f"`{shown(amount)}` is not a whole number of {what}", _parsed(of, amount)
        )


def _parsed(of: Quantity, amount: object) -> str | None:
    """A hint if text is in the place of a number of base units."""
    name = type(of).__name__
    return f'write {name}.parse("{shown(amount)}")' if isinstance(amount, str) else None


@dataclass(frozen=True, slots=True, order=True)
class Duration(Quantity):
    """A duration in whole nanoseconds.

    >>> Duration.parse("40 ms"), str(Duration.parse("1500ms")), Duration.parse(0).ns
    (Duration(ns=40000000), '1.5 s', 0)
    """

    ns: int
    SUFFIX: ClassVar[str] = "_ns"
    SCHEMA: ClassVar[Definition] = Definition(
        "Duration",
        {
            "description": "A duration with its unit: ns, us, ms, s, min or h.",
            "anyOf": [
                {
                    "type": "string",
                    "pattern": _DURATION_PATTERN,
                },
                {"enum": [0, "0"]},
            ],
            "examples": ["40 ms", "30 s"],
        },
    )

    def __post_init__(self) -> None:
        _refuse_below(self, self.ns, 0, "nanoseconds from 0")

    @classmethod
    def parse(cls, value: object) -> Self:
        """Reads a duration. Zero needs no unit."""
        if isinstance(value, cls):
            return value
        if plain(value) == 0:
            return cls(0)
        parts = split(value)
        scale = _DURATIONS.get(parts[1]) if parts else None
        if parts is None or scale is None:
            raise not_a("duration", value, "40 ms", ("ms", "s"))
        return cls(whole(parts[0] * scale, value, "duration", (NS_PER_S, "s")))

    @property
    def base_units(self) -> int:
        """The number of nanoseconds."""
        return self.ns

    def __str__(self) -> str:
        """The duration in the largest of s, ms, us and ns that does not exceed it, or "0 s"."""
        if self.ns == 0:
            return "0 s"
        steps = ((NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns"))
        return _in_largest(self.ns, steps)


@dataclass(frozen=True, slots=True, order=True)
class Rate(Quantity):
    """A rate in whole bits per second, above zero.

    >>> Rate.parse("12 Mbit/s"), str(Rate.parse("500kbit")), Rate.parse("1.5mbit").bps
    (Rate(bps=12000000), '500 kbit/s', 1500000)
    """

    bps: int
    SUFFIX: ClassVar[str] = "_bps"
    SCHEMA: ClassVar[Definition] = Definition(
        "Rate",
        {
            "description": "A rate with its unit: bit/s, kbit/s, Mbit/s or Gbit/s.",
            "type": "string",
            "pattern": NUMBER_PATTERN + r"[kmgKMG]?(bits?/s|bits?|bps)\s*$",
            "examples": ["12 Mbit/s"],
        },
    )

    def __post_init__(self) -> None:
        _refuse_below(self, self.bps, 1, "bits per second from 1")

    @classmethod
    def parse(cls, value: object) -> Self:
        """Reads a rate; refuses zero."""
        if isinstance(value, cls):
            return value
        parts = split(value)
        unit = _RATE_UNIT.fullmatch(parts[1]) if parts else None
        if parts is None or unit is None:
            raise _no_rate(value, parts)
        bps = whole(parts[0] * _RATES[unit[1].lower()], value, "rate", (10**9, "Gbit/s"))
        if bps == 0:
            raise BadValueError(
                f"`{shown(value)}` is a rate of zero, at which a queue never drains",
                'write a rate above zero, such as "64 kbit/s"',
            )
        return cls(bps)

    @property
    def base_units(self) -> int:
        """The number of bits per second."""
        return self.bps

    def __str__(self) -> str:
        """The rate in the largest unit that does not exceed the rate."""
        steps = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))
        return _in_largest(self.bps, steps)


def _no_rate(value: object, parts: tuple[Decimal, str] | None) -> BadValueError:
    if parts and re.fullmatch(r"[kKmMgG]i?B(/s|ps)?", parts[1]):
        return BadValueError(f"`{shown(value)}` counts bytes", 'rates are in bits: "12 Mbit/s"')
    if isinstance(value, str) and (pair := _TWO_RATES.fullmatch(value.strip())):
        down, unit = pair.groups()
        return BadValueError(
            f"`{shown(value)}` is two rates where one is wanted",
            f'write one, such as "{down} {unit or "Mbit/s"}"; '
            f"two, down before up, belong in path.rate",
        )
    if parts and parts[1].lower() in ("k", "m", "g", "kb", "mb", "gb", "kbs", "mbs", "gbs"):
        meant = f"{trimmed(parts[0])} {parts[1][0].replace('K', 'k').replace('m', 'M')}bit/s"
        return BadValueError(f"`{shown(value)}` is not a rate", f'did you mean "{meant}"?')
    return not_a("rate", value, "12 Mbit/s", ("Mbit/s", "kbit/s"))


@dataclass(frozen=True, slots=True, order=True)
class Size(Quantity):
    """A size in whole bytes.

    >>> Size.parse("300 kB"), str(Size.parse("65536 B")), Size.parse("1514 B").bytes
    (Size(bytes=300000), '64 KiB', 1514)
    """

    bytes: int
    SUFFIX: ClassVar[str] = "_bytes"
    SCHEMA: ClassVar[Definition] = Definition(
        "Size",
        {
            "description": "A size with its unit: B, kB, MB, GB, KiB, MiB or GiB.",
            "anyOf": [
                {"type": "string", "pattern": NUMBER_PATTERN + r"([kKMG]i?B|kb|K|B|bytes?)\s*$"},
                {"enum": [0, "0"]},
            ],
            "examples": ["300 kB", "64 KiB"],
        },
    )

    def __post_init__(self) -> None:
        _refuse_below(self, self.bytes, 0, "bytes from 0")

    @classmethod
    def parse(cls, value: object) -> Self:
        """Reads a size. Zero needs no unit."""
        if isinstance(value, cls):
            return value
        if plain(value) == 0:
            return cls(0)
        parts = split(value)
        if parts is None or not parts[1]:
            raise not_a("size", value, "300 kB", ("B", "kB"))
        unit = {"kb": "kB", "KB": "kB", "K": "KiB"}.get(parts[1], parts[1])
        if unit not in _SIZES:
            raise not_a("size", value, "300 kB")
        return cls(whole(parts[0] * _SIZES[unit], value, "size", (10**9, "GB")))

    @property
    def base_units(self) -> int:
        """The number of bytes."""
        return self.bytes

    def __str__(self) -> str:
        """The size in the first of MB, MiB, kB and KiB of which it is a multiple, or else in B.

        Zero is "0 B".
        """
        for scale, unit in ((10**6, "MB"), (2**20, "MiB"), (10**3, "kB"), (2**10, "KiB")):
            if self.bytes and self.bytes % scale == 0:
                return f"{self.bytes // scale} {unit}"
        return f"{self.bytes} B"


@dataclass(frozen=True, slots=True, order=True)
class Share(Quantity):
    """A share of a whole, such as a probability: a number from 0 to 1.

    >>> Share.parse("5 %"), str(Share.parse(0.125)), Share.parse(1).fraction
    (Share(fraction=0.05), '12.5 %', 1.0)
    """

    fraction: float
    SUFFIX: ClassVar[str] = ""
    SCHEMA: ClassVar[Definition] = Definition(
        "Share",
        {
            "description": "A share of a whole, as a percentage or as a number from 0 to 1.",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": NUMBER_PATTERN + r"%?\s*$"},
            ],
            "examples": ["5 %", 0.05],
        },
    )

    def __post_init__(self) -> None:
        if type(self.fraction) is not float or not 0.0 <= self.fraction <= 1.0:
            problem = f"`{shown(self.fraction)}` is not a float between 0 and 1"
            raise BadValueError(problem, _parsed(self, self.fraction))
        object.__setattr__(self, "fraction", self.fraction or 0.0)  # not -0.0

    @classmethod
    def parse(cls, value: object) -> Self:
        """Reads a number from 0 to 1, or a percentage."""
        if isinstance(value, cls):
            return value
        fraction = number(value)
        if not 0.0 <= fraction <= 1.0:
            raise BadValueError(
                f"`{shown(value)}` is not between 0 and 1", 'for five in a hundred write "5 %"'
            )
        return cls(fraction)

    @property
    def base_units(self) -> float:
        """The share as a number from 0 to 1."""
        return self.fraction

    def __str__(self) -> str:
        """The share as a percentage."""
        percentage = Decimal(repr(self.fraction)) * 100
        if 0.0 < self.fraction < 1e-9:
            return f"{percentage:e} %"  # the exponent form is shorter
        return f"{trimmed(percentage)} %"


def _in_largest(amount: int, steps: tuple[tuple[int, str], ...]) -> str:
    """Formats `amount` in the first unit of `steps` that does not exceed it, or in the last."""
    for scale, unit in steps:
        if amount >= scale:
            return f"{trimmed(Decimal(amount) / scale)} {unit}"
    return f"{amount} {steps[-1][1]}"
