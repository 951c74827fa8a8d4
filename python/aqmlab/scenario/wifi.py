"""The 802.11n network of a home in scenarios."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from aqmlab.base.errors import BadValueError, shown
from aqmlab.scenario.fields import Count, Flag, Qdisc, Value
from aqmlab.scenario.quantities import Duration, Share

_WORST_MCS = 31
_WIDTHS = {20: "20 MHz", 40: "40 MHz"}


def _rates(value: object) -> str:
    """Reads an MCS index for both directions, or two indices such as "15/7", down before up."""
    words = re.fullmatch(r"([0-9]{1,2})(?:\s*/\s*([0-9]{1,2}))?", str(value).strip())
    ways = [int(word) for word in words.groups() if word is not None] if words else []
    if not ways or isinstance(value, bool) or max(ways) > _WORST_MCS:
        raise BadValueError(
            f"`{shown(value)}` is not an index of modulation and coding",
            'write a number from 0 to 31, or "15/7", down before up',
        )
    return "/".join(str(way) for way in dict.fromkeys(ways))


def _width(value: object) -> str:
    for mhz, text in _WIDTHS.items():
        if str(value).replace(" ", "").lower() in (str(mhz), f"{mhz}mhz"):
            return text
    raise BadValueError(f"`{shown(value)}` is not a width of 802.11n", 'write "20 MHz" or "40 MHz"')


_MCS = WithJsonSchema({"type": ["integer", "string"], "examples": [15, "15/7"]})
_WIDTH = WithJsonSchema({"enum": list(_WIDTHS.values())})


class Wifi(Value):
    """One access point and one station on a shared medium, with the queue above each radio.

    `mcs`, `width` and `short_guard` set the rate. `mcs` is the index of modulation and coding, 0 to
    31; "15/7" gives one index for each direction, down before up. `loss` is the probability that a
    frame is lost on the air. `aggregate` and `airtime` limit one transmission, in frames and in
    time. `driver` is the number of frames that fit into the driver's queue below the discipline.
    """

    qdisc: Qdisc = Field(default_factory=lambda: Qdisc(kind="pfifo"))
    mcs: Annotated[str, BeforeValidator(_rates), _MCS] = "15"
    width: Annotated[str, BeforeValidator(_width), _WIDTH] = _WIDTHS[20]
    short_guard: Flag = False
    loss: Share = Share(0.0)
    aggregate: Count = 32
    airtime: Duration = Duration(4_096_000)
    driver: Count = 124

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if isinstance(value, (Value, dict)):
            return value
        raise BadValueError(
            f"`{shown(value)}` is not a table", 'write { mcs = 15, qdisc = "fq_codel" }, or {}'
        )
