"""The engine `kernel` with its options: the source of its disciplines, and its place.

The module imports the rest of the engine on first use, because every plan reads this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from aqmlab.engines import core_check
from aqmlab.engines.engine import Prepared, Refusal, Say
from aqmlab.engines.trial_spec import TrialSpec

QdiscSource: TypeAlias = Literal["kernel", "sim"]
"""The source of the disciplines between the kernel's TCPs: the kernel, or the simulator."""

RunOn: TypeAlias = Literal["vm", "host"]
"""The place of the kernel: a virtual machine, or this host, as root and in real time."""

QDISC_SOURCES: tuple[QdiscSource, ...] = get_args(QdiscSource)
"""The sources of disciplines, the default first."""

RUN_ON: tuple[RunOn, ...] = get_args(RunOn)
"""The places, the default first."""

_WORDS = {"sim": "ours", "host": "host"}
"""The parts of a name, which stand for options other than the defaults. Stored campaigns contain
these names, so they do not change."""


@dataclass(frozen=True)
class LinuxKernel:
    """The Linux kernel with its TCP."""

    qdisc_source: QdiscSource = "kernel"
    run_on: RunOn = "vm"
    reports_progress: bool = True

    @property
    def name(self) -> str:
        """The name of the engine with its options.

        >>> LinuxKernel().name, LinuxKernel("sim").name, LinuxKernel("sim", "host").name
        ('kernel', 'kernel-ours', 'kernel-ours-host')
        """
        chosen = (_WORDS.get(option) for option in (self.qdisc_source, self.run_on))
        return "-".join(["kernel", *filter(None, chosen)])

    @property
    def runner(self) -> str:
        """The function that runs a trial."""
        module = "host" if self.is_in_real_time else "engine"
        return f"aqmlab.engines.kernel.{module}:run_prepared"

    @property
    def is_in_real_time(self) -> bool:
        """Whether two runs of a trial differ, because the clock is that of the host."""
        return self.run_on == "host"

    @property
    def identity(self) -> tuple[str, ...]:
        """The versions on which results depend."""
        if self.is_in_real_time:
            return ("host", "agent")
        return ("kernel", "qemu", "agent", "machine", "image")

    @property
    def keeps_packets(self) -> bool:
        """Whether the runner writes captures, which a run in virtual time repeats exactly."""
        return not self.is_in_real_time

    @property
    def bit_cost(self) -> float:
        """The cost of one bit/s. In real time a trial takes its duration."""
        return 0.0 if self.is_in_real_time else 1e-7

    @property
    def remark(self) -> str:
        """A remark that readers of its results need."""
        remark = "in real time, so digests differ from run to run"
        return remark if self.is_in_real_time else ""

    def has(self, family: str, kind: str) -> bool:
        """Returns whether the kernel, or the simulator's disciplines, have a kind."""
        from aqmlab.engines.kernel import abilities

        return kind in abilities.kinds(family, self.qdisc_source)

    def refusal(self, spec: TrialSpec) -> Refusal | None:
        """The reason why the agent cannot run a trial, if there is one.

        Raises `MissingError` for missing requirements before it builds the agent.
        """
        from aqmlab.engines.kernel import abilities

        found = core_check.refusal(spec)
        return found or abilities.refusal(spec, self.qdisc_source, self.run_on)

    def is_built(self) -> bool:
        """Returns whether the agent is built; raises `MissingError` for missing requirements."""
        from aqmlab.engines.kernel import abilities

        return abilities.is_built(self.run_on)

    def prepare(self, specs: Sequence[TrialSpec], say: Say) -> Prepared:
        """Builds everything that `specs` need; raises `MissingError` for missing requirements."""
        if self.is_in_real_time:
            from aqmlab.engines.kernel import host

            return host.prepare(specs, say, self.qdisc_source)
        from aqmlab.engines.kernel import installed

        return installed.prepare(specs, say, qdisc_source=self.qdisc_source)
