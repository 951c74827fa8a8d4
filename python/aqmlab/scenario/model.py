"""The scenario as frozen values, identical in Python and in TOML.

A scenario states everything on which its trials depend, except the engine. Quantities are values
with one canonical spelling (`Rate.parse("12mbit")` is "12 Mbit/s"), so equal quantities compare as
equal. The constructors accept quantities in scenario notation, and refuse unknown names and wrong
units. `aqmlab.planning` converts quantities to base units.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from aqmlab import _core
from aqmlab.base.errors import BadMemberError, BadValueError, ScenarioError, shown
from aqmlab.base.python_words import member, spoken
from aqmlab.scenario import merge, sweep, toml_writer, type_errors
from aqmlab.scenario.applications import App, Host, Timing
from aqmlab.scenario.fields import (
    Flag,
    Frozen,
    FrozenDict,
    LinkRate,
    OrOff,
    Seeds,
    Span,
    Value,
    Whole,
    plain,
)
from aqmlab.scenario.figure_names import FIGURES
from aqmlab.scenario.kind_schema import Properties, table
from aqmlab.scenario.line_rates import RateSteps, RateTrace
from aqmlab.scenario.links import Hop, Link, both_ways_schema
from aqmlab.scenario.notation import Table, refuse_deep
from aqmlab.scenario.quantities import NS_PER_S, Duration, Share
from aqmlab.scenario.requirements import Requirement
from aqmlab.scenario.wifi import Wifi

_DEFAULTS = _core.scenario_defaults()
"""The defaults of some keys, in nanoseconds. They are in the core because the page needs them."""


class Modem(Value):
    """A modem on the access line, with a queue at each end of the line.

    `rate`, `qdisc` and `overhead` may be given once for both directions. `down` is the queue at the
    provider's end, and `up` is the modem's own queue. With a modem, the rates of `path` are the
    rates to which the gateway shapes.
    """

    down: Hop
    up: Hop

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table with the keys of both directions."""
        return table(both_ways_schema(Hop, handler) | own)


class Path(Value):
    """The path between the home and the internet.

    The keys of `Link` may be given once for both directions, the rates as "12/1 Mbit/s", down
    before up. `lan` is the rate of the home network, an Ethernet with FIFOs of 1000 packets. `wifi`
    makes the home network an 802.11n network. Without `lan` and `wifi`, packets between hosts and
    gateway take no time. `modem` is a line beyond the gateway with its own queues. Without a modem,
    the gateway's link is the line.
    """

    down: Link
    up: Link
    rtt: Duration = Duration(_DEFAULTS["rtt"])
    modem: Annotated[Modem | None, OrOff] = None
    lan: Annotated[LinkRate | None, OrOff] = None
    wifi: Annotated[Wifi | None, OrOff] = None
    host_jitter: Duration = Duration(_DEFAULTS["host_jitter"])
    start_jitter: Duration = Duration(_DEFAULTS["start_jitter"])

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table with the keys of both directions."""
        return table(both_ways_schema(Link, handler) | own)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return merge.expand(merge.Layer({"path": plain(value)})).data["path"]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.lan is not None and self.wifi is not None:
            raise BadMemberError("lan", "given together with `wifi`", "leave one of the two out")
        for way in ("down", "up"):
            rate = getattr(self, way).rate
            if not isinstance(rate, Share):
                continue
            if self.modem is None:
                problem = f"`{rate}` is a share of the modem's rate, and there is no modem"
                raise BadMemberError((way, "rate"), problem, "write a rate, or add path.modem.rate")
            if isinstance(getattr(self.modem, way).rate, (RateSteps, RateTrace)):
                problem = f"`{rate}` is a share of the modem's rate, and that rate varies"
                raise BadMemberError((way, "rate"), problem, 'write a rate, such as "20 Mbit/s"')
        return self


class Measure(Value):
    """The measurements of a trial. `from` and `to` bound the statistics.

    Without `series`, no time series are kept. With `series`, a trial longer than `points` steps
    has longer steps, so memory does not grow with the length of the trial.
    """

    enabled: Flag = True
    from_: Duration = Field(default=Duration(0), alias="from")
    to: Annotated[Span | None, OrOff] = None
    window: Span = Duration(NS_PER_S)
    step: Span = Duration(250_000_000)
    sample: Duration = Duration(100_000_000)
    packets: Flag = False
    series: Flag = True
    points: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1024

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.window.ns % self.step.ns:
            raise BadMemberError(
                "window",
                f"`{self.window}` is not a whole multiple of the step, `{self.step}`",
                'write, for instance, window = "1 s" and step = "250 ms"',
            )
        if self.to is not None and self.to <= self.from_:
            raise BadMemberError("to", f"`{self.to}` is not after `from`, `{self.from_}`")
        return self


def _figure(name: str) -> str:
    if name not in FIGURES:
        raise BadValueError.unknown("figure", name, FIGURES)
    return name


_FIGURE = WithJsonSchema({"enum": list(FIGURES)})


class Report(Value):
    """The contents of the report: figures by name, limits for applications, notes."""

    figures: tuple[Annotated[str, AfterValidator(_figure), _FIGURE], ...] = ()
    tolerances: Annotated[dict[str, Duration], Frozen] = FrozenDict()
    rates: Annotated[dict[str, LinkRate], Frozen] = FrozenDict()
    requirements: Annotated[dict[str, Requirement], Frozen] = FrozenDict()
    notes: str = ""


class Scenario(Value):
    """A home, its access line, its applications and the varied parameters."""

    title: str = ""
    description: str = ""
    duration: Span = Duration(_DEFAULTS["duration"])
    seeds: Seeds = 1
    path: Path
    hosts: Annotated[dict[str, Host], Frozen] = FrozenDict()
    defaults: Timing = Timing()
    apps: Annotated[dict[str, App], Frozen]
    measure: Measure = Measure()
    vary: Annotated[Table, BeforeValidator(plain), Frozen] = FrozenDict()
    report: Report = Report()

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a file, in which applications may be an array."""
        about = "A built-in scenario, or a file in the same folder."
        app = own["apps"]["additionalProperties"]
        own["apps"]["additionalProperties"] = {"anyOf": [app, {"enum": ["off", False]}]}
        own["apps"] = {"anyOf": [own["apps"], {"type": "array", "items": app}]}
        own["vary"]["description"] = "Loops, outermost first."
        return table({"extends": {"type": "string", "description": about}} | own)

    def __init__(self, /, **values: Any) -> None:
        """Checks `values`; raises `ScenarioError` for a scenario that cannot be run."""
        refuse_deep(values, "")
        try:
            super().__init__(**values)
        except ValidationError as error:
            keys, problem = first_problem(error, type(self))
            error_here = ScenarioError(
                member(keys),
                spoken(problem.problem),
                problem.hint and spoken(problem.hint),
            )
            error_here.member = BadMemberError(keys, problem.problem, problem.hint)
            raise error_here from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.apps:
            raise BadMemberError(
                "apps", "no application is given", "add a table such as [apps.upload]"
            )
        copies = sum(app.copies(self.defaults) for app in self.apps.values())
        if copies > merge.MOST_APPS:
            problem = f"{copies} applications are too many, {merge.MOST_APPS} at most"
            raise BadMemberError("apps", problem, "each copy counts")
        for name in self.apps:
            # Names appear in figures, tables and messages; SVG forbids control characters.
            if not name.isprintable() or not 0 < len(name) <= 100:
                raise BadMemberError(("apps", name), "a name is one line of at most 100 characters")
        for keys, timing in [
            (("defaults",), self.defaults),
            *((("apps", name), app) for name, app in self.apps.items()),
        ]:
            for side in ("home", "wan", "tcp"):
                end = getattr(timing, side)
                if isinstance(end, str) and end not in self.hosts:
                    unknown = BadValueError.unknown("host", end, self.hosts)
                    raise unknown.inside((*keys, side))
        sweep.loops(self.vary)
        return self

    def to_dict(self) -> Table:
        """The scenario as nested TOML tables, without default values."""
        table = self.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        for way in ("down", "up"):
            table["path"].setdefault(way, {})
        return table

    def to_toml(self) -> str:
        """The text of a scenario file, from which `from_toml` restores this value."""
        return toml_writer.write(self.to_dict())

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Scenario:
        """The scenario of nested tables; the inverse of `to_dict`."""
        refuse_deep(table, "")
        return build(merge.expand(merge.Layer(dict(table))))

    @classmethod
    def from_toml(cls, text: str, source: str = "scenario") -> Scenario:
        """The scenario of a TOML text without `extends`."""
        merge.refuse_path(text, source)
        return build(merge.from_toml(text, source))

    def but(self, **changes: Any) -> Scenario:
        """A copy of this scenario with some members changed: `home.but(path={"rtt": "20 ms"})`."""
        refuse_deep(changes, "")
        return self._changed(merge.expand(merge.Layer(plain(changes))))

    def set(self, address: str, value: Any) -> Scenario:
        """A copy of this scenario with one member changed: `home.set("path.qdisc", "fq_codel")`."""
        refuse_deep(value, address)
        return self._changed(merge.from_address(address, plain(value), ""))

    def _changed(self, over: merge.Layer) -> Scenario:
        base = merge.Layer(self.to_dict())
        merge.refuse_unknown_removals(base, over)
        return build(merge.merge(base, over))


def build(layer: merge.Layer) -> Scenario:
    """The scenario of an expanded layer; errors name the file and the line of the key."""
    try:
        return Scenario(**layer.data)
    except ScenarioError as error:
        if error.member is None:
            raise
        raise error.member.at(layer.where(error.member.keys)) from None


def first_problem(
    error: ValidationError, model: type[Value]
) -> tuple[tuple[str, ...], BadValueError]:
    """The first problem in an `error` of `model`: the keys of the member, and the message."""
    found = error.errors(include_url=False)
    first = found[0]
    if first["type"] == "missing":  # a misspelt key is the probable cause
        first = next((one for one in found if one["type"] == "extra_forbidden"), first)
    keys = tuple(str(key) for key in first["loc"] if str(key) not in _TAGS)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, BadMemberError):
        return (*keys, *cause.keys), cause
    if isinstance(cause, BadValueError):
        return keys, cause
    if isinstance(cause, ScenarioError):  # the error concerns a part in the short form
        return keys or tuple(cause.where.split(".")), BadValueError(cause.problem, cause.hint)
    if first["type"] == "extra_forbidden":
        return keys, _unknown_key(keys, _fields_beside(keys, model))
    if first["type"] == "missing":
        return keys, BadValueError("is missing", _MISSING.get(keys[-1]))
    return keys, type_errors.in_words(first, keys)


_MEANT = {
    "bandwidth": "rate", "bw": "rate", "speed": "rate", "delay": "rtt", "latency": "rtt",
    "aqm": "qdisc", "discipline": "qdisc", "type": "kind", "time": "duration",
    "runtime": "duration", "length": "duration", "seed": "seeds", "tier": "rate",
}  # fmt: skip
"""The keys of scenarios, by their other common names."""


def _unknown_key(keys: tuple[str, ...], known: list[str]) -> BadValueError:
    meant = _MEANT.get(keys[-1].lower(), keys[-1])
    if meant in known:
        return BadValueError(f"unknown key `{shown(keys[-1])}`", f"did you mean `{meant}`?")
    if len(keys) == 1 and meant in (*Path.model_fields, *merge.BOTH_WAYS, "queue"):
        return BadValueError(
            f"unknown key `{shown(keys[-1])}`", f"did you mean `path.{meant}`, in the table [path]?"
        )
    if not known:  # the position is in no table
        return BadValueError(f"unknown key `{shown(keys[-1])}`")
    return BadValueError.unknown("key", keys[-1], known)


_TAGS = ("str", "tuple[str, ...]", "Host", "[key]")
_MISSING = {
    "path": 'add [path] with rate = "12/1 Mbit/s" and rtt = "40 ms"',
    "down": 'add rate = "12/1 Mbit/s", down before up, to [path]',
    "up": 'add rate = "12/1 Mbit/s", down before up, to [path]',
    "rate": 'add rate = "12/1 Mbit/s", down before up, to [path]',
    "apps": "add a table such as [apps.upload]",
}


def _fields_beside(keys: tuple[str, ...], model: Any) -> list[str]:
    """The valid names at the position of the last of `keys`."""
    for key in keys[:-1]:
        model = _member_type(model, key)
    names = [info.alias or name for name, info in getattr(model, "model_fields", {}).items()]
    if model is Path:
        names += merge.BOTH_WAYS
    if model is Modem:
        names += Hop.model_fields
    return [*names, "extends"] if model is Scenario else names


def _member_type(model: Any, key: str) -> Any:
    """The type of the member `key` of a table of the type `model`; `None` if it is unknown."""
    fields: Mapping[str, Any] = getattr(model, "model_fields", {})
    found = next((one for name, one in fields.items() if key in (name, one.alias)), None)
    if found is not None:
        return _table_type(found.annotation)
    kind, members = get_origin(model), get_args(model)
    if kind is dict:
        return _table_type(members[1])
    return _table_type(members[0]) if kind is tuple else None


def _table_type(annotation: Any) -> Any:
    """The type of a table, without `Annotated` and without the other types of a union."""
    if get_origin(annotation) is Annotated:
        return _table_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        tables = map(_table_type, get_args(annotation))
        return next(
            (one for one in tables if hasattr(one, "model_fields") or get_origin(one)), None
        )
    return annotation
