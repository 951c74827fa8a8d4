"""Quantities and parts of scenarios: frozen values with one canonical spelling."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_serializer,
    model_validator,
)

from aqmlab.base.errors import BadMemberError, BadValueError, shown, suggestion
from aqmlab.scenario import catalogue, merge, quantities, seeds


class FrozenDict(dict[str, Any]):
    """An immutable dictionary, for use in frozen values."""

    def _refuse(self, *_: object, **__: object) -> None:
        raise TypeError("a scenario is immutable; use `.but()` or `.set()`")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse  # type: ignore[assignment]
    __ior__ = _refuse  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


Frozen = AfterValidator(FrozenDict)
Params = Annotated[dict[str, Any], Frozen]


def _text(kind: str) -> BeforeValidator:
    read = quantities.READERS[kind]
    return BeforeValidator(lambda value: quantities.show(kind, read(value)))


def _positive_duration(value: object) -> str:
    span = quantities.duration(value)
    if span == 0:
        raise BadValueError(
            f"`{shown(value)}` is zero", 'write a duration above zero, such as "30 s"'
        )
    return quantities.show_duration(span)


def refuse_rate(bps: int, written: object) -> None:
    """Raises `BadValueError` if a link cannot have the rate `written`."""
    if not 1_000 <= bps <= 100_000_000_000:
        raise BadValueError(
            f"`{shown(written)}` is outside the supported range",
            "write a rate between 1 kbit/s and 100 Gbit/s",
        )


def _limited_rate(value: object) -> str:
    bps = quantities.rate(value)
    refuse_rate(bps, value)
    return quantities.show_rate(bps)


def is_share(rate: str) -> bool:
    """Returns whether a rate is a share of another rate."""
    return rate.endswith("%")


def _rate_or_share(value: object) -> str:
    if not isinstance(value, str) or not is_share(value.strip()):
        return _limited_rate(value)
    part = quantities.share(value)
    if not part:
        raise BadValueError(f"`{shown(value)}` is a rate of zero")
    return quantities.show_share(part)


def _buffer(value: object) -> str:
    if value == "auto":
        return "auto"
    try:
        buffer_bytes = quantities.size(value)
    except BadValueError as problem:
        raise BadValueError(problem.problem, 'write "auto" or a size such as "300 kB"') from None
    if buffer_bytes == 0:
        raise BadValueError(
            f"`{shown(value)}` holds nothing", 'write "auto" or a size such as "300 kB"'
        )
    return quantities.show_size(buffer_bytes)


def _rtts(value: object) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(quantities.show_duration(quantities.duration(one)) for one in value)
    return quantities.show_duration(quantities.duration(value))


Duration = Annotated[str, _text("duration")]
Span = Annotated[str, BeforeValidator(_positive_duration)]
Rate = Annotated[str, BeforeValidator(_limited_rate)]
LinkRate = Annotated[str, BeforeValidator(_rate_or_share)]
Size = Annotated[str, _text("bytes")]
Share = Annotated[
    str, BeforeValidator(lambda value: quantities.show_share(quantities.share(value)))
]
Flag = Annotated[bool, BeforeValidator(quantities.flag)]
Count = Annotated[int, BeforeValidator(quantities.count)]
Seeds = Annotated[int | str, BeforeValidator(seeds.spelled)]
Buffer = Annotated[str, BeforeValidator(_buffer)]
Times = Annotated[str | tuple[str, ...], BeforeValidator(_rtts)]


class Value(BaseModel):
    """A part of a scenario, which is frozen, hashable and compared by value."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.model_dump_json()))


class Choice(Value):
    """The name of a kind, with the parameters that differ from its defaults.

    Its forms are a name, "fq_codel limit=1000", or a table with `kind`.
    """

    family: ClassVar[str]
    kind: str
    params: Params = FrozenDict()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, cls):
            return {"kind": value.kind, "params": value.params}
        if isinstance(value, str):
            value = merge.kind_table(value)
        if not isinstance(value, Mapping):
            raise BadValueError(f"`{shown(value)}` is not a {catalogue.FAMILIES[cls.family]}")
        if "kind" not in value:
            raise BadValueError("no `kind` is given", 'write { kind = "…", … }')
        given = {key: part for key, part in value.items() if key != "kind"}
        given.update(inner_table(given, "params"))
        kind = catalogue.load().find(cls.family, value["kind"])
        return {"kind": kind.name, "params": checked(kind, given)}

    @model_serializer
    def _write(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.params}


def inner_table(table: dict[str, Any], key: str) -> Mapping[str, Any]:
    """Removes the table at `key` from `table` and returns it; an absent table is empty.

    Raises `BadMemberError` if the member is not a table.
    """
    inner = table.pop(key, None)
    if inner is None:
        return {}
    if not isinstance(inner, Mapping):
        raise BadMemberError(key, f"`{shown(inner)}` is not a table", "leave it out")
    return inner


def checked(
    kind: catalogue.Kind, given: Mapping[str, Any], also: tuple[str, ...] = ()
) -> FrozenDict:
    """Checks the parameters `given` to `kind` and converts them to their canonical spelling.

    `also` lists other valid names in the same table, for the hint.
    """
    params = {}
    for name, value in given.items():
        param = kind.params.get(name)
        if param is None:
            hint = suggestion(str(name), [*kind.params, *also])
            raise BadMemberError(
                str(name), f"unknown parameter `{shown(name)}` of `{kind.name}`", hint
            )
        try:
            params[name] = param.show(param.read(value))
        except BadValueError as problem:
            raise problem.inside(name) from None
    return FrozenDict(params)


class Qdisc(Choice):
    """A queue discipline."""

    family = "disciplines"


class CongestionControl(Choice):
    """A congestion control."""

    family = "tcp"


OVERHEADS: dict[str, dict[str, Any]] = {
    "ip": {},
    "ethernet": {"bytes": 14, "counted": 14},
    "ethernet-wire": {"bytes": 38, "minimum": 84, "counted": 14},
    "docsis": {"bytes": 18, "minimum": 64, "counted": 14},
    "pppoe": {"bytes": 30, "counted": 14},
    "atm": {"bytes": 40, "atm": True, "counted": 14},
}
"""The bytes that links charge beyond IP, and the bytes that the discipline before a link counts.

`ip` is dummynet at layer 3. `ethernet` is a Linux shaper, which charges the frame without its
check sequence. The others are ethernet, docsis, pppoe-ptm (VDSL) and pppoe-llcsnap (ADSL) of
tc-cake(8). With these, a discipline of a Linux gateway counts the frame.
"""


class Overhead(Value):
    """The bytes that a link charges for a packet beyond IP, by name or as a table."""

    bytes: Count = 0
    minimum: Count = 0
    atm: Flag = False
    counted: Count = 0

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in OVERHEADS:
                raise BadValueError.unknown("overhead", value, OVERHEADS)
            return OVERHEADS[value]
        return value

    @model_serializer
    def _write(self) -> str | dict[str, Any]:
        table = {name: getattr(self, name) for name in type(self).model_fields}
        short = {name: value for name, value in table.items() if value}
        names = [name for name, meant in OVERHEADS.items() if meant == short]
        return names[0] if names else short


SHAPERS = ("line", "htb", "dummynet")
"""Rate limiters: the wire, Linux's HTB or FreeBSD's dummynet. HTB shapes before a faster wire. It
releases a packet at the start of its transmission time, and one more packet after a pause.
Dummynet releases packets at its clock ticks, which are one millisecond apart."""


def _shaper(value: object) -> str:
    if value not in SHAPERS:
        raise BadValueError.unknown("shaper", value, SHAPERS)
    return str(value)


Shaper = Annotated[Literal["line", "htb", "dummynet"], BeforeValidator(_shaper)]


class Hop(Value):
    """One direction of a modem: a discipline before a link with a finite rate."""

    rate: Rate
    qdisc: Qdisc = Field(default_factory=lambda: Qdisc(kind="pfifo"))
    overhead: Overhead = Overhead()


class Link(Value):
    """One direction of the access line: a discipline before a link with a finite rate.

    The rate may be a share of the modem's rate, such as "95 %".
    """

    rate: LinkRate
    qdisc: Qdisc = Field(default_factory=lambda: Qdisc(kind="pfifo"))
    shaper: Shaper = "line"
    pipe_delays: Flag = False
    overhead: Overhead = Overhead()
    loss: Share = "0 %"
    jitter: Duration = "0 s"
    reorder: Flag = False
