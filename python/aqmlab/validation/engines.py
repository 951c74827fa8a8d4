"""The engines of a validation: the simulator, the kernel, and peers.

A `Runner` takes the trial as JSON and returns its tables. A runner that cannot run a trial raises
`ValueError` with the reason, such as `aqmlab.engines.kernel.RefusedError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.engines import core_check, registry
from aqmlab.engines.engine import Outcome, Refusal, Runner, load_runner
from aqmlab.engines.kernel import RefusedError, abilities, agent, engine, installed
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.validation.grid import Cell


@dataclass(frozen=True, slots=True)
class Peer:
    """Another simulator, which a validation compares with the kernel."""

    runner: str
    """The peer's `Runner` as "module:function"."""
    preparer: str | None = None
    """A function that checks the requirements, as "module:function"."""


PEERS: dict[str, Peer] = {"ns3": Peer("aqmlab.engines.ns3:run", "aqmlab.engines.ns3:prepare")}
"""The peers by name."""


def simulator() -> Runner:
    """The runner of the engine `sim`."""
    return load_runner(registry.engine("sim").runner)


def peer(name: str) -> Runner:
    """The runner of the prepared peer `name`; raises `RequestError` if there is none."""
    if name not in PEERS:
        hint = suggestion(name, PEERS) if PEERS else None
        raise RequestError(f"there is no peer called `{name}`", hint)
    found = PEERS[name]
    if found.preparer is not None:
        resolve_name(found.preparer)()
    return load_runner(found.runner)


@dataclass(frozen=True, slots=True)
class Maker:
    """The kernel engine with one agent, which makes trials of a reference set."""

    run: Callable[[str], Outcome]
    recipe: Mapping[str, str]
    """The versions and options on which the results depend."""
    program: Path | None = None
    """The path of the agent."""
    refusal: Callable[[TrialSpec], Refusal | None] = lambda spec: None
    """Returns the reason why the agent refuses a trial, if it does."""

    def can_run(self, spec: TrialSpec) -> bool:
        """Whether the agent accepts a trial."""
        return self.refusal(spec) is None


def kernel(cells: Sequence[Cell], say: Callable[[str], None], program: Path | None = None) -> Maker:
    """The kernel engine with the agent `program`; by default with this package's agent.

    All trials of a maker use one image, even if a new build appears meanwhile. Raises
    `aqmlab.engines.kernel.MissingError` if a program is not installed.
    """
    used = program or agent.find(say)
    prepared = installed.prepare([cell.spec for cell in cells], say, used)

    def refusal(spec: TrialSpec) -> Refusal | None:
        return core_check.refusal(spec) or abilities.refusal(spec, program=used)

    def run(spec_json: str) -> Outcome:
        refused = refusal(TrialSpec.read(spec_json))
        if refused is not None:
            raise RefusedError(refused.problem, refused.hint)
        return engine.run_prepared(spec_json, **prepared.options)

    return Maker(run, dict(prepared.versions), used, refusal)
