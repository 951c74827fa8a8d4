"""Changes of a household's own parameters: `--set tier="50/20 Mbit/s"`, `--set line=cable`.

The sizes of a household's queues today follow from its tier and line. The household is therefore
changed before it becomes a scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aqmlab.base.errors import ScenarioError, shown
from aqmlab.households import line as lines
from aqmlab.households.household import Household, MisplacedError
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.scenario import merge

OWN = ("tier", "line")
"""The parameters that belong to the household, not to its scenario."""


def changed(household: Household, sets: Iterable[Assignment]) -> Household:
    """The household with the assignments of its own parameters; ignores all others.

    Raises `ScenarioError` for a value that the household cannot have.
    """
    own = {one.address: one.value for one in sets if one.address in OWN}
    if not own:
        return household
    if household.scenario is not None:
        problem = f"the scenario `{household.scenario}` states the line of this household"
        raise ScenarioError(f"--set: {min(own)}", problem, "set `path.rate` of the scenario")
    try:
        return Household(**household.to_dict() | own)
    except MisplacedError as error:
        raise error.at(f"--set: {error.where}") from None


def of_scenario(sets: Iterable[Assignment]) -> tuple[Assignment, ...]:
    """The assignments that concern the scenario of a household."""
    return tuple(one for one in sets if one.address not in OWN)


def refuse_varied(vary: Iterable[Variation]) -> None:
    """Raises `ScenarioError` if `--vary` names a parameter of the household itself."""
    for one in vary:
        if one.address in OWN:
            problem = f"`{one.address}` cannot be varied, because the loop `gateway` has its queues"
            hint = f"run once for each value, with `--set {one.address}=VALUE`"
            raise ScenarioError("--vary", problem, hint)


def queue_warnings(
    household: Household, sets: Sequence[Assignment], vary: Sequence[Variation]
) -> Iterator[str]:
    """Yields a warning if a change of a rate leaves the queue that was sized for another rate."""
    if household.scenario is not None:
        return
    changes = [(one.address, one.value) for one in sets]
    changes += [(one.address, value) for one in vary for value in one.values]
    addresses = set(_addresses(changes))
    line = lines.find(household.line)
    ways = [
        way
        for way in ("down", "up")
        if _changes_rate(addresses, way)
        and not merge.covers(addresses, f"path.{way}.qdisc")
        and line.size_depends_on_rate(way)
    ]
    if ways:
        yield (
            f"today's queue ({' and '.join(ways)}) stays sized for the tier {household.tier};"
            ' `--set tier="DOWN/UP Mbit/s"` changes the rates and the queues'
        )


def _addresses(changes: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Yields each address that the changes set, with both directions separate."""
    for address, value in changes:
        for keys, _ in merge.leaves(merge.from_address(address, value, shown(address)).data):
            yield ".".join(keys)


def _changes_rate(addresses: set[str], way: str) -> bool:
    rates = (f"path.{way}.rate", f"path.modem.{way}.rate")
    return any(one.startswith(rates) for one in addresses)
