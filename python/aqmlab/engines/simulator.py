"""The engine `sim`, which runs trials in the simulator's core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab.engines import core_check
from aqmlab.engines.engine import Prepared, Refusal, Say
from aqmlab.engines.trial_spec import TrialSpec


@dataclass(frozen=True)
class Simulator:
    """The engine `sim`, which has no options."""

    name: str = "sim"
    runner: str = "aqmlab._core:run"
    identity: tuple[str, ...] = ("core", "build")
    reports_progress: bool = False
    keeps_packets: bool = True
    bit_cost: float = 1e-6
    remark: str = ""

    def refusal(self, spec: TrialSpec, *, build: bool = True) -> Refusal | None:
        """The reason why the core cannot run a trial, if there is one."""
        return core_check.refusal(spec)

    def is_built(self) -> bool:
        """Returns true, because the core is part of this package."""
        return True

    def prepare(self, specs: Sequence[TrialSpec], say: Say) -> Prepared:
        """Does nothing, because the core needs no preparation."""
        return Prepared()
