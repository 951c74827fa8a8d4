"""The values of parameters of kinds, in their three forms.

A parameter is a value (`Duration`, a number, a word). Its spelling is the value in a scenario's
notation. Its base units are the value in the simulator's form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aqmlab.base.errors import BadValueError
from aqmlab.scenario.number_text import count, flag, not_a, number
from aqmlab.scenario.quantities import Duration, Quantity, Rate, Size

_OFF = frozenset(("off", "none", "never"))

Plain = bool | int | float | str
"""A value in TOML's types: text, a number or a boolean."""

Parameter = Quantity | Plain | None
"""The value of a parameter. `None` is off."""


def duration_or_off(value: object) -> Duration | None:
    """Reads a duration; `None` for "off", "none", "never", false and `None`."""
    if value is None or value is False or (isinstance(value, str) and value.strip() in _OFF):
        return None
    try:
        return Duration.parse(value)
    except BadValueError as problem:
        if problem.problem.endswith("is not a duration"):
            raise not_a('duration, nor "off"', value, "40 ms", ("ms", "s")) from None
        raise


def rate_or_off(value: object) -> Rate | None:
    """Reads a rate; `None` for "off", "none", "never", false and `None`."""
    if value is None or value is False or (isinstance(value, str) and value.strip() in _OFF):
        return None
    return Rate.parse(value)


READERS: Mapping[str, Callable[[object], Parameter]] = {
    "duration": Duration.parse,
    "duration or off": duration_or_off,
    "count": count,
    "bytes": Size.parse,
    "rate": Rate.parse,
    "rate or off": rate_or_off,
    "number": number,
    "flag": flag,
}
"""The reader of each parameter type."""

_TYPES: Mapping[str, Callable[[int], Quantity]] = {
    "duration": Duration, "duration or off": Duration, "bytes": Size, "rate": Rate,
    "rate or off": Rate,
}  # fmt: skip


def of_base_units(kind: str, value: Plain | None) -> Parameter:
    """The value of a parameter of type `kind`, from `value` in base units."""
    quantity = _TYPES.get(kind)
    return quantity(int(value)) if quantity is not None and value is not None else value


def base_units(value: Parameter) -> Plain | None:
    """A parameter in the simulator's form: ns, bit/s or bytes."""
    return value.base_units if isinstance(value, Quantity) else value


def spelled(value: Parameter) -> Plain:
    """A parameter in scenario notation, from which its reader returns an equal value."""
    if value is None:
        return "off"
    return str(value) if isinstance(value, Quantity) else value
