"""Predicts run times of trials from recent runs on this machine.

Every run of a campaign stores its measurements in the user's cache, by engine and version. A
prediction uses only measurements from this machine. Without measurements, there is no prediction.
Without measurements of the same scenario, the pace and the size are the medians over all other
scenarios, because a single campaign with many or unusual trials would otherwise decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from msgspec import Meta, Struct

from aqmlab.base import measurements
from aqmlab.base.measurements import Amount
from aqmlab.campaign.costs import cost, simulated_s
from aqmlab.campaign.store.folder import Trial
from aqmlab.engines import registry

_FILE = "speeds.json"
"""The file in the cache. In `speed.json`, costs of earlier versions counted all links."""

_MOST_SCENARIOS = 200
"""The maximum number of scenarios in the cache for each `Lot.key`; the most recent ones stay."""

_MOST_S, _MOST_STORED_BYTES = 1e9, 1e15
"""The largest prediction, thirty years and a petabyte."""


class _Measured(Struct, frozen=True):
    """Sums over the trials of a scenario that have run on an engine.

    `stored_s` and `stored_bytes` cover only the trials in the tables of the last run.
    """

    trials: Annotated[int, Meta(ge=0, le=2**53)] = 0
    cost: Amount = 0.0
    busy_s: Amount = 0.0
    simulated_s: Amount = 0.0
    stored_s: Amount = 0.0
    stored_bytes: Amount = 0.0


_Known = dict[str, dict[str, _Measured]]
"""The measurements of each scenario, by `Lot.key` and by the scenario's name."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The predicted resources of trials."""

    busy_s: float
    """The total run time of all processes, in seconds."""
    stored_bytes: float
    """The size of the tables in bytes."""
    trials: int
    """The number of measured trials behind the prediction; of several lots, the largest number."""
    alike: bool
    """Whether the measured trials are of the same scenario as the predicted trials."""

    def seconds(self, processes: int, trials: int) -> float:
        """The predicted time until `processes` processes have run all of the `trials` trials."""
        return self.busy_s / max(1, min(processes, trials))


@dataclass(frozen=True, slots=True)
class Lot:
    """The trials of a scenario on one engine."""

    scenario: str
    engine: str
    versions: Mapping[str, str]
    trials: Sequence[Trial]

    @property
    def key(self) -> str:
        """The engine with the versions on which its speed depends."""
        return f"{self.engine} {registry.identity(self.engine, self.versions)}"


def expected(lots: Iterable[Lot]) -> Expected | None:
    """Predicts the resources of trials.

    Returns `None` without trials, or if one of their engines has never run here in this version.
    """
    known = measurements.read(_FILE, _Known)
    found = [_expected(lot, known.get(lot.key, {})) for lot in lots if lot.trials]
    if not found or None in found:
        return None
    all_of_it = [one for one in found if one is not None]
    return Expected(
        sum(one.busy_s for one in all_of_it),
        sum(one.stored_bytes for one in all_of_it),
        max(one.trials for one in all_of_it),
        all(one.alike for one in all_of_it),
    )


def paces(lots: Iterable[Lot]) -> dict[str, float]:
    """The expected seconds for one unit of cost, by engine, if this machine has run the engine."""
    known = measurements.read(_FILE, _Known)
    sums: dict[str, tuple[float, float]] = {}
    for lot in lots:
        found = _expected(lot, known.get(lot.key, {})) if lot.trials else None
        if found is not None and found.busy_s > 0:
            before = sums.get(lot.engine, (0.0, 0.0))
            sums[lot.engine] = before[0] + found.busy_s, before[1] + sum(map(cost, lot.trials))
    return {engine: busy_s / own_cost for engine, (busy_s, own_cost) in sums.items()}


def note(lot: Lot, busy_s: float, stored: Sequence[Trial], stored_bytes: int) -> None:
    """Stores the run time of the trials of `lot`, and the size of the tables of the campaign.

    `busy_s` is added to the run times of earlier runs. `stored_bytes`, the size of the tables with
    the trials `stored`, replaces the earlier size.
    """
    if not lot.trials:
        return
    known = measurements.read(_FILE, _Known)
    scenarios = known.setdefault(lot.key, {})
    before = scenarios.pop(lot.scenario, _Measured())
    scenarios[lot.scenario] = _Measured(
        trials=before.trials + len(lot.trials),
        cost=before.cost + sum(map(cost, lot.trials)),
        busy_s=before.busy_s + busy_s,
        simulated_s=before.simulated_s + sum(map(simulated_s, lot.trials)),
        stored_s=sum(map(simulated_s, stored)),
        stored_bytes=stored_bytes,
    )
    for old in list(scenarios)[:-_MOST_SCENARIOS]:
        del scenarios[old]
    measurements.store(_FILE, known)


def _expected(lot: Lot, scenarios: Mapping[str, _Measured]) -> Expected | None:
    alike = scenarios.get(lot.scenario)
    known = [one for one in ([alike] if alike else scenarios.values()) if one.cost]
    if not known:
        return None
    busy_s = median(one.busy_s / one.cost for one in known) * sum(map(cost, lot.trials))
    sizes = [one.stored_bytes / one.stored_s for one in known if one.stored_s]
    stored_bytes = median(sizes or [0.0]) * sum(map(simulated_s, lot.trials))
    if not (busy_s <= _MOST_S and stored_bytes <= _MOST_STORED_BYTES):
        return None  # the file in the cache is not ours
    return Expected(busy_s, stored_bytes, sum(one.trials for one in known), bool(alike))
