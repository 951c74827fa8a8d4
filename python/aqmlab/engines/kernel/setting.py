"""A setting of a discipline, in the forms of tc and of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aqmlab.engines.trial_spec import Argument


@dataclass(frozen=True)
class Setting:
    """Options of tc, the equivalent parameters of the simulator, and the form of packets."""

    options: str
    params: Mapping[str, Argument] = field(default_factory=dict)
    overhead: int = 0
    """Bytes that the discipline counts beyond a packet's IP length: 14 for Ethernet."""
    unlike: tuple[range, ...] = ()
    """Ranges of excluded lengths.

    A packet with one of these lengths is shortened to the length before the range.
    """
    headed: bool = False
    """Whether packets have hosts, DSCPs and TCP headers."""
    shaped: bool = False
    """Whether the discipline shapes to the rate of the trace, without HTB above it."""

    def length(self, wanted: int) -> int:
        """The length of the packet that replaces a packet of `wanted` bytes."""
        return next((lengths.start - 1 for lengths in self.unlike if wanted in lengths), wanted)

    def options_at(self, rate_bps: int) -> str:
        """The options of tc in a trace of this rate."""
        return f"bandwidth {rate_bps}bit {self.options}".strip() if self.shaped else self.options

    def params_at(self, rate_bps: int) -> Mapping[str, Argument]:
        """The parameters of the simulator in a trace of this rate."""
        return {"bandwidth": rate_bps, **self.params} if self.shaped else self.params
