"""The rates of links: a constant rate, steps over time, or a trace of delivery opportunities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, model_serializer
from pydantic.json_schema import JsonSchemaValue

from aqmlab.base.errors import BadMemberError, BadValueError, shown
from aqmlab.scenario.fields import Value, refuse_rate
from aqmlab.scenario.notation import rate_pair
from aqmlab.scenario.number_text import split
from aqmlab.scenario.quantities import Duration, Rate, Share
from aqmlab.scenario.schema_definitions import PERCENTAGE

MOST_STEPS = 10_000
"""The maximum number of steps of a rate, as in the simulator."""

_PAUSE = "0 bit/s"
_STEPS_HINT = 'write [["0 s", "20 Mbit/s"], ["10 s", "5 Mbit/s"]]'
_TRACE_HINT = 'write { trace = "lte.down" }, a file in the scenario\'s folder'


class RateSteps(Value):
    """A rate that changes at stated times. The last rate applies until the end of the trial."""

    steps: tuple[tuple[Duration, Rate | None], ...]
    """Times, the first of which is zero, and the rates from then on. At `None` nothing is sent."""

    @model_serializer
    def _write(self) -> list[list[str]]:
        return [[str(at), str(rate) if rate else _PAUSE] for at, rate in self.steps]


class RateTrace(Value):
    """A trace of delivery opportunities in mahimahi's format, which the link replays."""

    trace: str
    """The name of the file, in the folder of the scenario."""


def _steps(value: list[Any] | tuple[Any, ...]) -> RateSteps:
    if not 0 < len(value) <= MOST_STEPS:
        raise BadValueError(f"{len(value)} steps are not 1 to {MOST_STEPS}", _STEPS_HINT)
    steps: list[tuple[Duration, Rate | None]] = []
    for number, step in enumerate(value):
        try:
            steps.append(_step(step, steps))
        except BadValueError as problem:
            raise problem.inside(str(number)) from None
    for number in (0, len(steps) - 1):
        if steps[number][1] is None:
            which = "first" if number == 0 else "last"
            hint = "a pause is between two rates"
            raise BadMemberError(str(number), f"the {which} rate is zero", hint)
    return RateSteps(steps=tuple(steps))


def _step(step: Any, before: list[tuple[Duration, Rate | None]]) -> tuple[Duration, Rate | None]:
    if not isinstance(step, (list, tuple)) or len(step) != 2:
        raise BadValueError(f"`{shown(step)}` is not a time and a rate", _STEPS_HINT)
    at = Duration.parse(step[0])
    if not before and at.ns:
        raise BadValueError(f"the first step is at {at}", 'begin with a step at "0 s"')
    if before and at <= before[-1][0]:
        raise BadValueError(f"{at} is not after the previous step, at {before[-1][0]}")
    if step[1] is None or is_pause(step[1]):
        return at, None
    rate = Rate.parse(step[1])
    refuse_rate(rate.bps, step[1])
    return at, rate


def is_pause(value: object) -> bool:
    """Returns whether a value is a rate of zero, such as "0 bit/s"."""
    parts = split(value) if isinstance(value, str) else None
    return parts is not None and parts[0] == 0 and bool(parts[1])


def _trace(value: Mapping[str, Any]) -> RateTrace:
    name = value.get("trace")
    if set(value) != {"trace"}:
        raise BadValueError(f"`{shown(dict(value))}` is not a trace", _TRACE_HINT)
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= 255:
        raise BadMemberError("trace", f"`{shown(name)}` is not the name of a file", _TRACE_HINT)
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        raise BadMemberError(
            "trace", f"`{shown(name)}` is outside the scenario's folder", _TRACE_HINT
        )
    return RateTrace(trace=name)


def _line_rate(value: object) -> Rate | RateSteps | RateTrace:
    if isinstance(value, (RateSteps, RateTrace)):
        return value
    if isinstance(value, (list, tuple)):
        return _steps(value)
    if isinstance(value, Mapping):
        return _trace(value)
    rate = Rate.parse(value)
    refuse_rate(rate.bps, value)
    return rate


def _line_rate_or_share(value: object) -> Rate | RateSteps | RateTrace | Share:
    is_text = isinstance(value, str) and value.strip().endswith("%")
    if not is_text and not isinstance(value, Share):
        return _line_rate(value)
    share = Share.parse(value)
    if not share.fraction:
        raise BadValueError(f"`{shown(value)}` is a rate of zero")
    return share


VARYING_SCHEMAS: tuple[JsonSchemaValue, ...] = (
    {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_STEPS,
        "items": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": {"type": "string"},
        },
        "description": "Times and the rates from then on.",
        "examples": [[["0 s", "20 Mbit/s"], ["10 s", "5 Mbit/s"]]],
    },
    {
        "type": "object",
        "properties": {"trace": {"type": "string", "maxLength": 255}},
        "additionalProperties": False,
        "description": "A trace of delivery opportunities in mahimahi's format.",
        "examples": [{"trace": "lte.down"}],
    },
)
"""The JSON Schemas of the rates that vary."""

_Steps = Annotated[RateSteps, WithJsonSchema(VARYING_SCHEMAS[0])]
_Trace = Annotated[RateTrace, WithJsonSchema(VARYING_SCHEMAS[1])]

_Percentage = Annotated[Share, WithJsonSchema(PERCENTAGE)]

LineRate = Annotated[Rate | _Steps | _Trace, BeforeValidator(_line_rate)]
"""The rate of a line: constant, in steps, or a trace."""

LineRateOrShare = Annotated[
    Rate | _Percentage | _Steps | _Trace, BeforeValidator(_line_rate_or_share)
]
"""The rate of a line, or a percentage of another rate."""


def both_directions(value: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Splits the steps of both directions into the steps down and up.

    Raises `BadValueError` for a step that is not a time and a rate.
    """
    down, up = [], []
    for step in value:
        if not isinstance(step, (list, tuple)) or len(step) != 2:
            raise BadValueError(f"`{shown(step)}` is not a time and a rate", _STEPS_HINT)
        at, rate = step
        pair = (rate, rate)
        if isinstance(rate, str) and not is_pause(rate):
            pair = rate_pair(rate)
        down.append([at, pair[0]])
        up.append([at, pair[1]])
    return down, up
