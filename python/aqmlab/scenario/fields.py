"""The types of the members of scenarios: frozen values with one canonical spelling."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Set
from numbers import Integral, Number, Real
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from aqmlab.base.errors import BadMemberError, BadValueError, shown, suggestion
from aqmlab.scenario import catalogue, kind_schema, seeds
from aqmlab.scenario.notation import Table
from aqmlab.scenario.number_text import count, flag
from aqmlab.scenario.parameters import Parameter, Plain, base_units, spelled
from aqmlab.scenario.quantities import Duration, Quantity, Rate, Share, Size
from aqmlab.scenario.schema_definitions import COUNT, FLAG, PERCENTAGE

_Member = TypeVar("_Member")


class FrozenDict(dict[str, _Member]):
    """An immutable dictionary, for use in frozen values."""

    def _refuse(self, *_: object, **__: object) -> None:
        raise TypeError("a scenario is immutable; use `.but()` or `.set()`")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse  # type: ignore[assignment]
    __ior__ = _refuse  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, _Member]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


Frozen = AfterValidator(FrozenDict)


class _OrOff:
    """Lets an optional member be "off", because TOML has no null."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_absent, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [*handler(core)["anyOf"], {"enum": ["off"]}]}


def _absent(value: object) -> object:
    return None if isinstance(value, str) and value.strip() == "off" else value


OrOff = _OrOff()
"""Marks a member `X | None` that a scenario's file can also set to "off", which means `None`."""


class _Checked:
    """Marks a member that a validator of its model has already checked."""

    def __get_pydantic_core_schema__(self, _: Any, __: Any) -> CoreSchema:
        return core_schema.any_schema()


Params = Annotated[FrozenDict[Parameter], _Checked()]
"""Parameters of a kind, or settings of a host's profile."""


def _duration_above_zero(value: object) -> Duration:
    duration = Duration.parse(value)
    if duration.ns == 0:
        raise BadValueError(
            f"`{shown(value)}` is zero", 'write a duration above zero, such as "30 s"'
        )
    return duration


def refuse_rate(bps: int, written: object) -> None:
    """Raises `BadValueError`, which shows `written`, if a link cannot have the rate `bps`."""
    if not 1_000 <= bps <= 100_000_000_000:
        raise BadValueError(
            f"`{shown(written)}` is outside the supported range",
            "write a rate between 1 kbit/s and 100 Gbit/s",
        )


def _link_rate(value: object) -> Rate:
    rate = Rate.parse(value)
    refuse_rate(rate.bps, value)
    return rate


def _rate_or_share(value: object) -> Rate | Share:
    is_text = isinstance(value, str) and value.strip().endswith("%")
    if not is_text and not isinstance(value, Share):
        return _link_rate(value)
    share = Share.parse(value)
    if not share.fraction:
        raise BadValueError(f"`{shown(value)}` is a rate of zero")
    return share


def _buffer(value: object) -> Size | str:
    if value == "auto":
        return "auto"
    try:
        size = Size.parse(value)
    except BadValueError as problem:
        raise BadValueError(problem.problem, 'write "auto" or a size such as "300 kB"') from None
    if size.bytes == 0:
        raise BadValueError(
            f"`{shown(value)}` holds nothing", 'write "auto" or a size such as "300 kB"'
        )
    return size


def _durations(value: object) -> Duration | tuple[Duration, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(map(Duration.parse, value))
    return Duration.parse(value)


def _no_switch(value: object) -> object:
    if isinstance(value, bool):  # Python counts `True` as 1
        raise BadValueError(f"`{shown(value)}` is a switch, not a number", "write a whole number")
    return value


Span = Annotated[Duration, BeforeValidator(_duration_above_zero)]
"""A duration above zero."""

LinkRate = Annotated[Rate, BeforeValidator(_link_rate)]
"""A rate that a link can have."""

_Percentage = Annotated[Share, WithJsonSchema(PERCENTAGE)]
RateOrShare = Annotated[Rate | _Percentage, BeforeValidator(_rate_or_share)]
"""A rate that a link can have, or a percentage of another rate."""

Buffer = Annotated[Size | Literal["auto"], BeforeValidator(_buffer)]
"""The size of a socket's buffer; "auto" lets the host adapt the size."""

Times = Annotated[Duration | tuple[Duration, ...], BeforeValidator(_durations)]
"""One duration for all copies of an application, or a duration for each copy."""

Flag = Annotated[bool, BeforeValidator(flag), FLAG]
Count = Annotated[int, BeforeValidator(count), COUNT]
Whole = Annotated[int, BeforeValidator(_no_switch)]
"""A whole number without a noun."""

Seeds = Annotated[int | str, BeforeValidator(seeds.spelled), WithJsonSchema(seeds.SCHEMA)]


def _member(made: JsonSchemaValue) -> JsonSchemaValue:
    """The schema of a member in a file, without null, which TOML lacks."""
    kept = {key: value for key, value in made.items() if key != "title"}
    if kept.get("default", ...) is None:
        del kept["default"]
    choices = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del kept["anyOf"]
        kept |= choices[0]
        return kept
    return kept | {"anyOf": choices} if choices else kept


class Value(BaseModel):
    """A part of a scenario, which is frozen, hashable and compared by value."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yields the required members, and the members that differ from their defaults."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if field.is_required() or value != field.get_default(call_default_factory=True):
                yield name, value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            raise AttributeError(
                f"`{name}` cannot be set: a `{type(self).__name__}` is immutable;"
                " `.but()` and `.set()` of a scenario return changed copies"
            )
        super().__setattr__(name, value)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.model_dump_json()))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of the table in a file.

        The schema requires no key, because `extends` may supply any key.
        """
        made = handler.resolve_ref_schema(handler(core))
        own = {name: _member(one) for name, one in made.get("properties", {}).items()}
        return {"description": inspect.cleandoc(cls.__doc__ or "")} | cls.written_schema(
            own, handler
        )

    @classmethod
    def written_schema(
        cls, own: kind_schema.Properties, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of this value's notations. `own` holds the schemas of its members by name."""
        return kind_schema.table(own)


def plain(value: Any) -> Any:
    """Converts a Python value to the form in a scenario file: text, a number, a list or a table.

    Numbers of numpy become numbers of Python. Arrays, columns of data frames, and generators become
    lists of at most `MOST_MEMBERS` values. Any other value is unchanged.
    """
    if isinstance(value, Value):
        return value.model_dump(by_alias=True, exclude_none=True, mode="json")
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Number):
        return _python_number(value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Set)):
        return [plain(part) for part in itertools.islice(value, MOST_MEMBERS)]
    return value


MOST_MEMBERS = 100_001
"""The maximum number of values that `plain` reads from a generator, which may be endless."""


def _python_number(value: object) -> object:
    if type(value) in (bool, int, float):  # numpy's float is a `float`
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


class Choice(Value):
    """The name of a kind, with the parameters that the scenario sets.

    In a scenario, a choice is a name, text such as "fq_codel limit=1000", or a table with `kind`.
    """

    family: ClassVar[str]
    kind: str
    params: Params = FrozenDict()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            value = catalogue.table_of(cls.family, value)
        if not isinstance(value, Mapping):
            raise BadValueError(f"`{shown(value)}` is not a {catalogue.FAMILIES[cls.family]}")
        if "kind" not in value:
            raise BadValueError("no `kind` is given", 'write { kind = "…", … }')
        given = {key: part for key, part in value.items() if key != "kind"}
        given.update(inner_table(given, "params"))
        kind = catalogue.load().find(cls.family, value["kind"])
        return {"kind": kind.name, "params": checked(kind, given)}

    @model_serializer
    def _write(self) -> Table:
        return {"kind": self.kind, **spelled_all(self.params)}

    @classmethod
    def written_schema(
        cls, own: kind_schema.Properties, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of a name, a name with parameters, or a table."""
        return kind_schema.choice(catalogue.load()[cls.family], handler)


def spelled_all(params: Mapping[str, Parameter]) -> dict[str, Plain]:
    """The parameters `params` in scenario notation."""
    return {name: spelled(value) for name, value in params.items()}


def in_base_units(params: Mapping[str, Parameter]) -> dict[str, Plain | None]:
    """The parameters `params` in the simulator's form: ns, bytes and bit/s."""
    return {name: base_units(value) for name, value in params.items()}


def inner_table(table: Table, key: str) -> Mapping[str, Any]:
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
) -> FrozenDict[Parameter]:
    """Checks the parameters `given` to `kind` and converts them to values.

    `also` lists other valid names in the same table, for the hint. Raises `BadMemberError` for an
    unknown parameter or an invalid value.
    """
    params: dict[str, Parameter] = {}
    for name, value in given.items():
        param = kind.params.get(name)
        if param is None:
            hint = suggestion(str(name), [*kind.params, *also])
            raise BadMemberError(
                str(name), f"unknown parameter `{shown(name)}` of `{kind.name}`", hint
            )
        try:
            params[name] = param.parse(value)
        except BadValueError as problem:
            raise problem.inside(name) from None
    return FrozenDict(params)


class Qdisc(Choice):
    """A queue discipline, with its parameters."""

    family = "disciplines"


class CongestionControl(Choice):
    """A congestion control algorithm, with its parameters."""

    family = "tcp"
