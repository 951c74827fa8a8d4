"""A plan: the resolved trials of a source, with the facts that a report needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from aqmlab.base.condition_text import condition_text
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.planning.lowering import rtt_base_ms
from aqmlab.scenario.sweep import Condition

MOST_RESOLVED = 1_000_000
"""The maximum number of applications in all combinations, which determine a plan's memory."""

TOLERANCES_MS: dict[str, float] = {
    "voip": 150.0,
    "video_call": 150.0,
    "game": 200.0,
    "web": 2_000.0,
    "bursts": 2_000.0,
    "dash": 10_000.0,
    "audio_stream": 10_000.0,
    "notification": 10_000.0,
}
"""The largest round-trip time that a kind of application tolerates, in milliseconds.

Source: ITU-T G.1010 as adapted by Boerlage et al. 2016, Table I: voice and video up to 150 ms,
games up to 200 ms, web and e-mail up to 2 s, streaming and messaging up to 10 s. Bulk transfers
have no bound.
"""


@dataclass(frozen=True)
class PlannedTrial:
    """One run of an engine. `spec` is the resolved trial."""

    id: str
    conditions: dict[str, Condition]
    seed: int
    spec: TrialSpec
    engine: str = "sim"

    @cached_property
    def texts(self) -> dict[str, str]:
        """The conditions as text."""
        return {name: condition_text(value) for name, value in self.conditions.items()}

    @property
    def rtt_base_ms(self) -> dict[str, float]:
        """The round-trip time of each application without queues."""
        return rtt_base_ms(self.spec)

    @property
    def text(self) -> str:
        """The trial as JSON, in the form that campaigns store."""
        return self.spec.text()


@dataclass(frozen=True)
class Plan:
    """All trials of a campaign, with the facts that a report needs.

    `conditions` names the varied parameters, outermost loop first. `tolerances` holds the largest
    round-trip time that each application tolerates, in milliseconds. `rates` holds the lowest rate
    stated for an application, in Mbit/s. `scenario` is the scenario after inheritance and overrides
    (for a TEACUP config, its variables).
    """

    name: str
    title: str
    description: str
    source: str
    trials: tuple[PlannedTrial, ...]
    conditions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    tolerances: dict[str, float] = field(default_factory=dict)
    stated_tolerances: dict[str, float] = field(default_factory=dict)
    """The members of `tolerances` that the scenario states."""
    rates: dict[str, float] = field(default_factory=dict)
    notes: str = ""
    scenario: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    """The source text including comments, or the TOML of a `Scenario`."""


def condition_digest(spec: TrialSpec) -> str:
    """A digest of a resolved trial without its seed. All trials of a condition share it."""
    return hashlib.sha256(spec.canonical_text(seed=False).encode()).hexdigest()[:16]


def tolerances(trials: Iterable[PlannedTrial]) -> dict[str, float]:
    """The default tolerance of each application of `trials`: a round-trip time in ms."""
    return {
        app.name: TOLERANCES_MS[app.app.kind]
        for trial in trials
        for app in trial.spec.apps
        if app.app.kind in TOLERANCES_MS
    }
