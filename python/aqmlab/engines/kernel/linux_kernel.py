"""The engine `kernel` with its options, as the registry loads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aqmlab.engines import core_check
from aqmlab.engines.engine import Prepared, Refusal, Say
from aqmlab.engines.kernel import abilities, host, installed
from aqmlab.engines.kernel.options import QdiscSource, RunOn, engine_name
from aqmlab.engines.trial_spec import TrialSpec


@dataclass(frozen=True)
class LinuxKernel:
    """The engine `kernel` with its options."""

    qdisc_source: QdiscSource = "kernel"
    run_on: RunOn = "vm"
    reports_progress: bool = True

    @property
    def name(self) -> str:
        """The name of the engine with its options."""
        return engine_name(self.qdisc_source, self.run_on)

    @property
    def runner(self) -> str:
        """The function that runs a trial, as "module:name"."""
        module = "host" if self.is_in_real_time else "engine"
        return f"aqmlab.engines.kernel.{module}:run_prepared"

    @property
    def is_in_real_time(self) -> bool:
        """Whether trials use the host's clock, so that two runs of a trial differ."""
        return self.run_on == "host"

    @property
    def identity(self) -> tuple[str, ...]:
        """The versions on which results depend."""
        if self.is_in_real_time:
            return ("host", "agent")
        return ("kernel", "qemu", "agent", "machine", "image")

    @property
    def keeps_packets(self) -> bool:
        """Whether the runner takes `captures`.

        It does only in virtual time, in which a second run of a trial has exactly the same packets.
        """
        return not self.is_in_real_time

    @property
    def bit_cost(self) -> float:
        """The run time that each bit/s adds: see `engine.Engine.bit_cost`.

        In real time it is zero, because a trial takes exactly its duration.
        """
        return 0.0 if self.is_in_real_time else 1e-7

    @property
    def remark(self) -> str:
        """A remark that readers of the engine's results need; empty in virtual time."""
        remark = "in real time, so digests differ from run to run"
        return remark if self.is_in_real_time else ""

    def refusal(self, spec: TrialSpec, *, build: bool = True) -> Refusal | None:
        """The reason why the engine cannot run a trial, if there is one.

        Raises `MissingError` for missing requirements, before the agent is built.
        """
        found = core_check.refusal(spec)
        return found or abilities.refusal(spec, self.qdisc_source, self.run_on, build=build)

    def is_built(self) -> bool:
        """Returns whether the agent is built; raises `MissingError` for missing requirements."""
        return abilities.is_built(self.run_on)

    def prepare(self, specs: Sequence[TrialSpec], say: Say) -> Prepared:
        """Checks the requirements of `specs` and builds what is not in the cache.

        Raises `MissingError` for missing requirements.
        """
        if self.is_in_real_time:
            return host.prepare(specs, say, self.qdisc_source)
        return installed.prepare(specs, say, qdisc_source=self.qdisc_source)
