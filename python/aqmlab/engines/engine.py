"""The interface of an engine, and the values that it exchanges with its callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, NotRequired, Protocol, TypeAlias, TypedDict

from aqmlab.engines.trial_spec import TrialSpec

Address: TypeAlias = tuple[str | int, ...]
"""A location in a resolved trial, such as `("links", 0, "qdisc")`."""

Say: TypeAlias = Callable[[str], None]
"""A function that receives a message for the user before a slow step."""

Tables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Tables by name, each with its columns by name: NumPy arrays, or lists of words."""


class Outcome(TypedDict):
    """The result of a trial."""

    digest: str
    """A digest of every packet with its times."""
    events: int
    packets: int
    tables: Tables
    kernel: NotRequired[str]
    """The release of the kernel that ran the trial."""


class Runner(Protocol):
    """A function that runs one trial, in this process or in a worker."""

    def __call__(self, spec_json: str, /, **options: Any) -> Outcome:
        """Runs a trial; raises `ValueError` if the engine cannot run it.

        All runners take `Prepared.options`. A runner that keeps packets also takes `captures`, the
        names of two files for all packet headers. A runner that reports progress also takes
        `progress`, a function that receives the number of the trial's seconds that have passed.
        """


@dataclass(frozen=True, slots=True)
class Refusal:
    """An unsupported part of a trial, with its location and the reason."""

    at: Address
    problem: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared engine: its versions, and the options of its runner."""

    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the runner, which are passed to another process as JSON."""


class Engine(Protocol):
    """An engine with its options. It runs trials, and refuses trials that it cannot run."""

    @property
    def name(self) -> str:
        """The name of the engine with its options, in conditions and manifests."""

    @property
    def runner(self) -> str:
        """The `Runner` as "module:name", because workers import it themselves."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The versions on which results depend. They are part of a campaign's key."""

    @property
    def reports_progress(self) -> bool:
        """Whether the runner takes `progress`."""

    @property
    def keeps_packets(self) -> bool:
        """Whether the runner takes `captures`."""

    @property
    def bit_cost(self) -> float:
        """The run time that each bit/s of the links' rates adds to a simulated second.

        The unit is the run time of a simulated second without traffic.
        """

    @property
    def remark(self) -> str:
        """A remark that readers of the engine's results need; empty if there is none."""

    def refusal(self, spec: TrialSpec, *, build: bool = True) -> Refusal | None:
        """The reason why the engine cannot run a trial, if it is known before the start.

        If `build` is false, the engine builds no program for the check. It may then overlook
        reasons.
        """

    def is_built(self) -> bool:
        """Returns whether trials can be checked and prepared without building a program."""

    def prepare(self, specs: Sequence[TrialSpec], say: Say) -> Prepared:
        """Prepares the engine for `specs`; raises `LabError` for missing requirements."""


def load_runner(name: str) -> Runner:
    """Imports the runner named "module:name"."""
    runner: Runner = resolve_name(name)
    return runner
