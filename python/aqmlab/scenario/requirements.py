"""The requirements that a scenario states for the Quality of Outcome (QoO).

The crate `apps` holds the sets of requirements, and the crate `verdict` computes the scores.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator

from aqmlab import _core
from aqmlab.base.core_requirement import CoreRequirement, OwnRequirement
from aqmlab.base.errors import BadMemberError, BadValueError, shown
from aqmlab.scenario.fields import Frozen, FrozenDict, LinkRate, Value
from aqmlab.scenario.quantities import Duration, Share

SETS = tuple(one["name"] for one in _core.catalogue()["requirements"])
"""The names of the core's sets of requirements."""

PERCENTILES = tuple(_core.requirement_percentiles())
"""The percentiles of round-trip times that a requirement may limit."""

_ONE_WAY = tuple(name for name in PERCENTILES if f"owd_{name}_ms" in _core.flow_numbers())
"""The percentiles of one-way delays that a requirement may limit."""


def _set(name: str) -> str:
    if name and name not in SETS:
        raise BadValueError.unknown("set of requirements", name, SETS)
    return name


def _percentile(name: str) -> str:
    if name not in PERCENTILES:
        raise BadValueError.unknown("percentile", name, PERCENTILES)
    return name


def _direction(value: object) -> object:
    if value not in ("both", "up", "down"):
        raise BadValueError.unknown("direction", shown(value), ("both", "up", "down"))
    return value


def _pair(value: object) -> object:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise BadValueError(
            f"`{shown(value)}` is not a pair",
            'write the optimal and the unacceptable value, such as ["150 ms", "400 ms"]',
        )
    return value


_Pair = BeforeValidator(_pair)
_Percentile = Annotated[str, AfterValidator(_percentile)]


class Requirement(Value):
    """The requirement of an application for the Quality of Outcome: a set, or own values.

    A pair is the optimal and the unacceptable value. `delay` has a pair for each percentile: of
    round-trip times, or of one-way delays if `direction` is "up" or "down". `loss` is a pair of
    shares, and `rate` is the required rate.
    """

    set: Annotated[str, AfterValidator(_set), WithJsonSchema({"enum": list(SETS)})] = ""
    direction: Annotated[Literal["both", "up", "down"], BeforeValidator(_direction)] = "both"
    delay: Annotated[dict[_Percentile, Annotated[tuple[Duration, Duration], _Pair]], Frozen] = (
        FrozenDict()
    )
    loss: Annotated[tuple[Share, Share] | None, _Pair] = None
    rate: LinkRate | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        own = [name for name in ("delay", "loss", "rate") if getattr(self, name)]
        if self.set and (own or self.direction != "both"):
            raise BadMemberError(
                "set", f"`{self.set}` is a whole requirement", "state a set or own values, not both"
            )
        if not self.set and not own:
            raise BadValueError("states no limit", f"write a set ({', '.join(SETS)}) or values")
        for name in self.delay if self.direction != "both" else ():
            if name not in _ONE_WAY:
                problem = f"the percentile `{name}` of one-way delays is not measured"
                raise BadMemberError(("delay", name), problem, f"one of {', '.join(_ONE_WAY)}")
        for name, (optimal, unacceptable) in self.delay.items():
            if optimal >= unacceptable:
                raise _out_of_order(("delay", name), optimal, unacceptable)
        if self.loss is not None and self.loss[0] >= self.loss[1]:
            raise _out_of_order(("loss",), *self.loss)
        return self

    def to_core(self) -> CoreRequirement:
        """The requirement as the core reads it."""
        if self.set:
            return self.set
        loss, rate = self.loss, self.rate
        return OwnRequirement(
            direction=self.direction,
            latency_ms={
                name: (low.ns / 1e6, high.ns / 1e6) for name, (low, high) in self.delay.items()
            },
            loss_percent=None if loss is None else (100 * loss[0].fraction, 100 * loss[1].fraction),
            rate_mbit=None if rate is None else rate.bps / 1e6,
        )


def _out_of_order(keys: tuple[str, ...], optimal: object, unacceptable: object) -> BadMemberError:
    problem = f"the optimal value, {optimal}, is not below the unacceptable value, {unacceptable}"
    return BadMemberError(keys, problem, "write the smaller value first")
