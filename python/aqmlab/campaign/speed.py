"""How fast this machine ran trials of late, and so, how long others will take.

Every run of a campaign leaves what it measured in the user's cache, for its engine in its very
version: what is expected of another campaign rests on what was measured here, or is not known.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab.base.failures import DiskError
from aqmlab.base.files import cache_folder, write_atomically
from aqmlab.campaign.costs import cost, simulated_s
from aqmlab.campaign.store.folder import Trial
from aqmlab.engines import registry

_MOST_SCENARIOS = 200
"""Scenarios that are remembered of an engine; those that were run last."""

_FIELDS = ("trials", "cost", "busy_s", "simulated_s", "stored_s", "stored_bytes")


@dataclass(frozen=True, slots=True)
class Expected:
    """What trials will take, from what others took."""

    busy_s: float
    """Seconds of one process."""
    stored_bytes: float
    """What their tables will have."""
    trials: int
    """The trials on which this rests."""
    alike: bool
    """Whether those were of the same scenario."""

    def seconds(self, processes: int, trials: int) -> float:
        """How long `trials` of these take in so many processes."""
        return self.busy_s / max(1, min(processes, trials))


@dataclass(frozen=True, slots=True)
class Lot:
    """Trials of a scenario on an engine."""

    scenario: str
    engine: str
    versions: Mapping[str, str]
    trials: Sequence[Trial]

    @property
    def key(self) -> str:
        """What runs them, in the version on which their speed depends."""
        return f"{self.engine} {registry.identity(self.engine, self.versions)}"


def expected(lots: Iterable[Lot]) -> Expected | None:
    """What trials will take; `None` if no trial of their engines was run here."""
    known = _read()
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


def note(lot: Lot, busy_s: float, stored: Sequence[Trial], stored_bytes: int) -> None:
    """Remembers that the trials of `lot` took so long, and what the tables of `stored` have."""
    if not lot.trials:
        return
    known = _read()
    scenarios = known.setdefault(lot.key, {})
    before = scenarios.pop(lot.scenario, dict.fromkeys(_FIELDS, 0))
    scenarios[lot.scenario] = {
        "trials": before["trials"] + len(lot.trials),
        "cost": before["cost"] + sum(map(cost, lot.trials)),
        "busy_s": before["busy_s"] + busy_s,
        "simulated_s": before["simulated_s"] + sum(map(simulated_s, lot.trials)),
        "stored_s": sum(map(simulated_s, stored)),
        "stored_bytes": stored_bytes,
    }
    for old in list(scenarios)[:-_MOST_SCENARIOS]:
        del scenarios[old]
    with contextlib.suppress(OSError, DiskError):  # who cannot remember has lost little
        _path().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_path(), json.dumps(known, indent=1).encode(), synced=False)


def _expected(lot: Lot, scenarios: Mapping[str, Mapping[str, float]]) -> Expected | None:
    alike = scenarios.get(lot.scenario)
    known = [alike] if alike else list(scenarios.values())
    total = {name: sum(one[name] for one in known) for name in _FIELDS}
    if not total["cost"]:
        return None
    busy_s = sum(map(cost, lot.trials)) * total["busy_s"] / total["cost"]
    stored = sum(map(simulated_s, lot.trials)) * total["stored_bytes"] / (total["stored_s"] or 1)
    return Expected(busy_s, stored, int(total["trials"]), bool(alike))


def _path() -> Path:
    return cache_folder() / "speed.json"


def _read() -> dict[str, dict[str, Any]]:
    try:
        known = json.loads(_path().read_text(encoding="utf-8"))
        engines_known = {key: dict(scenarios) for key, scenarios in known.items()}
        for scenarios in engines_known.values():
            for one in scenarios.values():
                if not all(isinstance(one[name], (int, float)) for name in _FIELDS):
                    return {}
    except (OSError, ValueError, AttributeError, KeyError, TypeError, DiskError):
        return {}
    return engines_known
