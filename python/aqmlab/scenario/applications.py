"""The applications of a scenario, and the hosts at their ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from aqmlab import _core
from aqmlab.base.errors import BadMemberError, BadValueError, nearest, shown
from aqmlab.scenario import catalogue, kind_schema, merge
from aqmlab.scenario.fields import (
    Buffer,
    CongestionControl,
    Count,
    Flag,
    FrozenDict,
    OrOff,
    Params,
    Span,
    Times,
    Value,
    checked,
    inner_table,
    plain,
    spelled_all,
)
from aqmlab.scenario.kind_schema import Properties
from aqmlab.scenario.notation import Table
from aqmlab.scenario.number_text import count
from aqmlab.scenario.quantities import Duration, Size


class Host(Value):
    """The TCP settings of one end of an application.

    An omitted member has the value of the table of lower precedence. If no table has the member,
    `profile` is "linux", `ecn` is off, `mtu` is 1500 B, the application decides on `nodelay` and
    `quickack`, and the profile decides on the other members.

    Other keys are settings of the profile, such as `delayed_ack`.
    """

    profile: str | None = None
    cc: CongestionControl | None = None
    ecn: Flag | None = None
    send_buffer: Buffer | None = None
    receive_buffer: Buffer | None = None
    mtu: Size | None = None
    nodelay: Flag | None = None
    quickack: Flag | None = None
    settings: Params = FrozenDict()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            if isinstance(value, Host):
                return value
            raise BadValueError(
                f"`{shown(value)}` is not a table", 'write { profile = "linux", … }'
            )
        known = catalogue.load()
        profiles = known["profiles"]
        profile = value.get("profile")
        if profile is not None and (not isinstance(profile, str) or profile not in profiles):
            raise BadValueError.unknown("host profile", profile, profiles).inside("profile")
        own = {key: part for key, part in value.items() if key in cls.model_fields}
        further = {key: part for key, part in value.items() if key not in cls.model_fields}
        further.update(inner_table(own, "settings"))
        for name in further:
            problem = known.refuse_setting(profile, name) if profile else None
            if problem:
                raise problem.inside(name)
        kind = profiles[profile] if profile else known.any_profile() if further else None
        if kind is not None:
            own["settings"] = checked(kind, further, tuple(cls.model_fields))
        return own

    @model_serializer
    def _write(self) -> Table:
        table: Table = plain(_said(self))
        return table | spelled_all(self.settings)

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table with the settings of every profile."""
        profiles = catalogue.load()["profiles"]
        del own["settings"]
        settings: Properties = {}
        for kind in profiles.values():
            settings |= kind_schema.params(kind, handler)
        return kind_schema.table(settings | own | {"profile": {"enum": list(profiles)}})

    def over(self, below: Host) -> Host:
        """Combines these settings with the settings of `below`.

        A setting of `below` applies if it is unset here. If this profile is set and differs, the
        congestion control of `below` does not apply.
        """
        table = merge.merge(
            merge.Layer({"host": dict(below)}), merge.Layer({"host": _said(self)})
        ).data["host"]
        table["settings"] = dict(below.settings) | dict(self.settings)
        return Host.model_construct(**table)


def _said(host: Host) -> Table:
    return {name: value for name, value in host if value is not None and name != "settings"}


def _end(value: Any) -> Any:
    return value if isinstance(value, str) else Host.model_validate(value)


End = Annotated[str | Host, BeforeValidator(_end)]
"""The name of a host of the scenario, or changes to the settings of the host at that end."""


class Timing(Value):
    """The members that an application and `defaults` share: times, ends and TCP settings."""

    start: Times = Duration(0)
    stop: Annotated[Span | None, OrOff] = None
    duration: Annotated[Span | None, OrOff] = None
    rtt: Times | None = None
    home: End | None = None
    wan: End | None = None
    tcp: End | None = None


_PRIORITY = WithJsonSchema({"type": ["integer", "string"], "minimum": 0, "maximum": 15})

CODEPOINTS = _core.codepoints()
"""The numbers of the Differentiated Services codepoints by name (`crates/trial/src/dscp.rs`)."""


def _codepoint(value: object) -> int:
    if isinstance(value, str) and value.upper() in CODEPOINTS:
        return CODEPOINTS[value.upper()]
    try:
        number = count(value)
    except BadValueError:
        raise BadValueError.unknown("codepoint", str(value), CODEPOINTS) from None
    if not 0 <= number <= 63:
        raise BadValueError(f"{number} is not between 0 and 63")
    return number


Codepoint = Annotated[
    int,
    BeforeValidator(_codepoint),
    WithJsonSchema(
        {"anyOf": [{"enum": list(CODEPOINTS)}, {"type": "integer", "minimum": 0, "maximum": 63}]}
    ),
]
"""The number of a Differentiated Services codepoint. A scenario states its name or its number."""


class App(Timing):
    """One application: a kind, its parameters, its times and its copies.

    `count` is the number of copies, and `stagger` is the interval between their starts. A list of
    `start` times makes one copy for each. A list of `rtt` gives each copy its own round-trip time.
    `tcp` applies to both ends. If a kind has a parameter with one of these names, such as the
    `count` of `bursts`, the key sets that parameter. `priority` is Linux's `skb->priority`, 0 to
    15, from which `pfifo_fast` selects a band. `host` names the host in the home that runs the
    application; applications of one host share its address. `dscp` is the codepoint of the
    application's packets, from which CAKE selects a tin.
    """

    kind: str
    params: Params = FrozenDict()
    start: Times | None = None  # type: ignore[assignment]
    count: Count = 1
    stagger: Duration = Duration(0)
    priority: Annotated[Count, _PRIORITY] | None = None
    host: str | None = None
    dscp: Codepoint | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            if isinstance(value, App):
                return value
            is_kind = isinstance(value, str) and value in catalogue.load()["apps"]
            meant = f'{{ kind = "{value}" }}' if is_kind else '{ kind = "bulk", … }'
            raise BadValueError(f"`{shown(value)}` is not a table", f"write {meant}")
        if "kind" not in value:
            slip = "type" if "type" in value else nearest("kind", map(str, value))
            if slip is not None:
                raise BadMemberError(slip, f"unknown key `{shown(slip)}`", "did you mean `kind`?")
            raise BadMemberError("kind", "is missing", _kinds_hint())
        try:
            kind = catalogue.load().find("apps", value["kind"])
        except BadValueError as problem:
            hint = _TRANSFERS.get(str(value["kind"]).lower(), problem.hint)
            raise BadMemberError("kind", problem.problem, hint) from None
        own = {
            key: part
            for key, part in value.items()
            if key in cls.model_fields and key not in kind.params
        }
        given = {key: part for key, part in value.items() if key not in own}
        given.update(inner_table(own, "params"))
        return own | {"kind": kind.name, "params": checked(kind, given, tuple(cls.model_fields))}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= self.count <= 1_000:
            raise BadMemberError("count", f"{self.count} is not between 1 and 1000")
        if self.priority is not None and not 0 <= self.priority <= 15:
            raise BadMemberError("priority", f"{self.priority} is not between 0 and 15")
        if self.host is not None and not (self.host.isprintable() and 0 < len(self.host) <= 100):
            raise BadMemberError("host", "a name is one line of at most 100 characters")
        if self.stop is not None and self.duration is not None:
            raise BadMemberError("stop", "given together with `duration`", "write one of the two")
        if isinstance(self.start, tuple) and (self.count > 1 or not self.start):
            raise BadMemberError(
                "start", "a list of starts already sets the number of copies", "leave out `count`"
            )
        copies = self.copies(self)
        if isinstance(self.rtt, tuple) and len(self.rtt) != copies:
            raise BadMemberError("rtt", f"{len(self.rtt)} round-trip times for {copies} copies")
        return self

    @classmethod
    def written_schema(cls, own: Properties, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of a table of one kind, or of a change to an application's table."""
        kinds = catalogue.load()["apps"]
        del own["params"]
        own["name"] = {"type": "string", "description": "The name, in an array of applications."}
        tables = [
            kind_schema.table(own | kind_schema.named(kind) | kind_schema.params(kind, handler))
            | {"required": ["kind"]}
            for kind in kinds.values()
        ]
        no_kind = kind_schema.any_params(kinds) | own | {"kind": {"not": {}}}
        return {"anyOf": [*tables, kind_schema.table(no_kind)]}

    def copies(self, defaults: Timing) -> int:
        """The number of copies: the length of `start` if it is a list, or else `count`.

        `defaults` supplies an unset `start`.
        """
        start = self.start if self.start is not None else defaults.start
        return len(start) if isinstance(start, tuple) else self.count

    @model_serializer
    def _write(self) -> Table:
        table: Table = {"kind": self.kind, **spelled_all(self.params)}
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            is_own = name not in ("kind", "params", *self.params)
            if is_own and value is not None and value != info.default:
                table[name] = plain(value)
        return table


_TRANSFERS = {
    **dict.fromkeys(("download", "update"), 'did you mean `bulk` with direction = "down"?'),
    **dict.fromkeys(("upload", "backup"), 'did you mean `bulk` with direction = "up"?'),
    **dict.fromkeys(("tcp", "iperf", "iperf3", "ftp", "netperf"), "did you mean `bulk`?"),
    **dict.fromkeys(("udp",), "did you mean `cbr`?"),
    **dict.fromkeys(("video", "film", "youtube", "netflix", "streaming"), "did you mean `dash`?"),
    **dict.fromkeys(("gaming", "games", "gamer"), "did you mean `game`?"),
    **dict.fromkeys(
        ("zoom", "teams", "meet", "facetime", "videocall"), "did you mean `webrtc_call`?"
    ),
    **dict.fromkeys(("call", "phone", "telephone", "sip"), "did you mean `voip`?"),
    **dict.fromkeys(("browsing", "browser", "pages", "http", "www"), "did you mean `web`?"),
    **dict.fromkeys(("music", "radio", "audio", "spotify"), "did you mean `audio_stream`?"),
    **dict.fromkeys(("photos", "photo"), "did you mean `photo_upload`?"),
    **dict.fromkeys(("responsiveness", "networkquality", "speedtest"), "did you mean `rpm`?"),
}
"""Hints for common names of applications that are not names of kinds."""


def _kinds_hint() -> str:
    return f"there are {', '.join(sorted(catalogue.load()['apps']))}"
