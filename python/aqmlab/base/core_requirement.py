"""A stated requirement for the Quality of Outcome as the core reads it, in ms, % and Mbit/s.

The manifest of a campaign holds stated requirements in the same form.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

_Number = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
_Pair = tuple[_Number, _Number]


class OwnRequirement(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The values of a requirement. A pair is the optimal and the unacceptable value.

    The keys of `latency_ms` are the names of the limited statistics of the delay.
    """

    direction: Literal["both", "up", "down"] = "both"
    latency_ms: Mapping[str, _Pair] = {}
    loss_percent: _Pair | None = None
    rate_mbit: _Number | None = None


CoreRequirement: TypeAlias = str | OwnRequirement
"""The name of a set of requirements, or the values of a requirement."""
