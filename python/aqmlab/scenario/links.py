"""Links in scenarios: rates, disciplines, shapers, overheads and impairments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from aqmlab import _core
from aqmlab.base.errors import BadValueError
from aqmlab.scenario import presets
from aqmlab.scenario.fields import Count, Flag, Qdisc, Value
from aqmlab.scenario.kind_schema import Properties, table
from aqmlab.scenario.line_rates import VARYING_SCHEMAS, LineRate, LineRateOrShare
from aqmlab.scenario.notation import Table
from aqmlab.scenario.parameters import Plain, base_units
from aqmlab.scenario.quantities import Duration, Share
from aqmlab.scenario.schema_definitions import reference

OVERHEADS = _core.overheads()
"""The overheads of kinds of lines by name, in the members of `Overhead`.

The core states them with their sources (`crates/trial/src/scenario.rs`).
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

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a name or a table."""
        return {"anyOf": [{"enum": list(OVERHEADS)}, table(own)]}

    @model_serializer
    def _write(self) -> str | Table:
        table = {name: getattr(self, name) for name in type(self).model_fields}
        short = {name: value for name, value in table.items() if value}
        names = [name for name, meant in OVERHEADS.items() if meant == short]
        return names[0] if names else short


SHAPERS = ("line", "htb", "dummynet", "cake")
"""Rate limiters: the wire itself, Linux's HTB, FreeBSD's dummynet, or the discipline `cake` itself.

HTB is in front of a faster wire. It sends a packet when its bucket of tokens is not in debt, and
charges the packet to the bucket afterwards. After a pause it therefore sends two packets together.
dummynet sends packets at its clock ticks, which are one millisecond apart. CAKE sends a packet when
the time that it charges for the previous packets has passed.
"""


def _shaper(value: object) -> str:
    if value not in SHAPERS:
        raise BadValueError.unknown("shaper", value, SHAPERS)
    return str(value)


Shaper = Annotated[
    Literal["line", "htb", "dummynet", "cake"],
    BeforeValidator(_shaper),
    WithJsonSchema({"enum": list(SHAPERS)}),
]


def _pfifo() -> Qdisc:
    return Qdisc(kind="pfifo")


class _Port(Value):
    """A discipline before a link. In a file, `queue` is a synonym of the key `qdisc`."""

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table in which `queue` is a synonym of `qdisc`."""
        return table(own | {"queue": own["qdisc"]})


class Hop(_Port):
    """One direction of a modem: a discipline before a link with a finite rate."""

    rate: LineRate
    qdisc: Qdisc = Field(default_factory=_pfifo)
    overhead: Overhead = Overhead()


class _Gateway(_Port):
    """One direction of a gateway: a discipline before a shaped link."""

    rate: LineRateOrShare = Field(
        description="the link's rate; with a modem also a share of the modem's rate, "
        '`"95 %"`. The rate may [vary](#rates-that-vary)'
    )
    qdisc: Qdisc = Field(
        default_factory=_pfifo, description="the discipline before the link; `queue` is a synonym"
    )
    shaper: Shaper | None = Field(
        None,
        description='the mechanism that limits the rate: `"line"`, `"htb"`, `"dummynet"` or '
        '`"cake"`; by default `"cake"` for a CAKE with a `bandwidth`, and otherwise `"line"`',
    )
    pipe_delays: Flag = Field(
        False,
        description="whether dummynet's rate-limiting pipe also delays packets by half of `rtt`. "
        "Such a pipe is not idle while a packet is in transit, so dummynet deletes it and its "
        "discipline's state less often. Other shapers ignore this key",
    )
    overhead: Overhead = Field(
        Overhead(), description="the bytes that the link charges for a packet beyond its IP bytes"
    )

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table whose discipline may also be a preset."""
        pattern = f"^({'|'.join(presets.load())})(\\s+\\S+=\\S+)*$"
        preset = {"type": "string", "pattern": pattern}
        plain = own["qdisc"]
        qdisc = {"anyOf": [plain, preset], "description": plain["description"]}
        return super().written_schema(own | {"qdisc": qdisc}, handler)


class Impairments(Value):
    """The impairments of packets after a link."""

    loss: Share = Field(Share(0.0), description="the probability of a packet loss after the link")
    jitter: Duration = Field(
        Duration(0),
        description="the largest extra delay after the link, drawn uniformly for each packet",
    )
    reorder: Flag = Field(
        False, description="whether `jitter` may reorder packets, as netem's does"
    )

    def route_members(self) -> dict[str, Plain | None]:
        """The members of a trial's route, in base units.

        A key that is not in `_ALWAYS` gives no member if it has its default. A new key therefore
        leaves the texts of earlier trials as they are, and recorded campaigns can be resumed.
        """
        return {
            ROUTE_NAMES[key]: base_units(value)
            for key, info in Impairments.model_fields.items()
            if (value := getattr(self, key)) != info.default or key in _ALWAYS
        }


_ALWAYS = ("loss", "jitter", "reorder")
"""The keys with a member in every trial's route."""

ROUTE_NAMES = {
    key: key + getattr(info.annotation, "SUFFIX", "")
    for key, info in Impairments.model_fields.items()
}
"""The name of each key in a trial's route. Names of quantities end with the unit."""


class Link(Impairments, _Gateway):
    """One direction of the access line: a discipline before a link with a finite rate.

    The rate may be a share of the modem's rate, such as "95 %".
    """


def both_ways_schema(link: type[Hop | Link], handler: GetJsonSchemaHandler) -> Properties:
    """The schemas of the keys of `link` in a table in which they apply to both directions."""
    keys = handler.resolve_ref_schema(reference(link.__pydantic_core_schema__, handler))
    pair = {"type": "string", "examples": ["12/1 Mbit/s"], "description": "Down before up."}
    rate = {"anyOf": [pair, *VARYING_SCHEMAS]}
    return {**keys["properties"], "rate": rate}
