"""A plan: the resolved trials of a source, with the facts that a report needs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from aqmlab.base.condition_text import condition_text
from aqmlab.base.core_requirement import CoreRequirement
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning.lowering import rtt_base_ms
from aqmlab.scenario.notation import Table
from aqmlab.scenario.sweep import Condition

MOST_RESOLVED = 1_000_000
"""The maximum number of applications in all combinations together, to limit a plan's memory.

In a TEACUP config, generators and links count as well.
"""


class Seedless:
    """The facts of a resolved trial that do not depend on its seed, each computed once."""

    def __init__(self, spec: TrialSpec) -> None:
        self._spec = spec

    @cached_property
    def rtt_base_ms(self) -> dict[str, float]:
        """The round-trip time without queues of each application, in milliseconds."""
        return rtt_base_ms(self._spec)

    @cached_property
    def rest_of_text(self) -> str:
        """The trial as JSON after its first member, the seed."""
        return self._spec.text().removeprefix(_seed_text(self._spec.seed))

    @cached_property
    def digest(self) -> str:
        """The digest of the trial without its seed."""
        return condition_digest(self._spec)


def _seed_text(seed: int) -> str:
    return f'{{"seed":{seed}'


@dataclass(frozen=True)
class PlannedTrial:
    """A trial of a plan on one engine.

    `conditions` holds the value of each loop by its column. `spec` is the resolved trial.
    `seedless` is common to trials that differ only in their seed.
    """

    id: str
    conditions: dict[str, Condition]
    seed: int
    spec: TrialSpec
    engine: str = "sim"
    seedless: Seedless | None = field(default=None, repr=False, compare=False)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The values of the conditions as text, by name."""
        return {name: condition_text(value) for name, value in self.conditions.items()}

    @cached_property
    def _facts(self) -> Seedless:
        return self.seedless or Seedless(self.spec)

    @property
    def rtt_base_ms(self) -> dict[str, float]:
        """The round-trip time without queues of each application, in milliseconds."""
        return self._facts.rtt_base_ms

    @property
    def text(self) -> str:
        """The trial as JSON, in the form that campaigns store."""
        return _seed_text(self.seed) + self._facts.rest_of_text

    @property
    def condition_digest(self) -> str:
        """The digest of the trial without its seed."""
        return self._facts.digest


@dataclass(frozen=True)
class Plan:
    """All trials of a campaign, with the facts that a report needs.

    `conditions` names the varied parameters, outermost loop first. `stated_tolerances`
    and `rates` hold the largest round-trip time and the lowest rate that the scenario states for
    an application, in milliseconds and Mbit/s. `requirements` holds the stated requirements for
    the Quality of Outcome, in the form of `Requirement.to_core`. `scenario` is the scenario after
    inheritance and overrides (for a TEACUP config, its variables).
    """

    name: str
    title: str
    description: str
    source: str
    trials: tuple[PlannedTrial, ...]
    conditions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    stated_tolerances: dict[str, float] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    requirements: dict[str, CoreRequirement] = field(default_factory=dict)
    notes: str = ""
    scenario: Table = field(default_factory=dict)
    text: str = ""
    """The source text including comments, or the TOML of a `Scenario`."""

    @cached_property
    def _values(self) -> dict[str, dict[str, None]]:
        return {}

    def values_of(self, condition: str) -> Collection[str]:
        """The values of a condition as text, each once, in the order of the trials."""
        if condition not in self._values:
            found = (trial.texts[condition] for trial in self.trials)
            self._values[condition] = dict.fromkeys(found)
        return self._values[condition]


def condition_digest(spec: TrialSpec) -> str:
    """A digest of a resolved trial without its seed. All trials of a condition share it."""
    return hashlib.sha256(spec.canonical_text(seed=False).encode()).hexdigest()[:16]
