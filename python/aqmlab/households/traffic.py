"""A household as a scenario: its line with today's queues, and the traffic of its activities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from aqmlab import _core
from aqmlab.base.unique_names import Names
from aqmlab.households import line as lines
from aqmlab.households.household import Household, OwnedUse
from aqmlab.households.tier import rates_of
from aqmlab.scenario import loading
from aqmlab.scenario.fields import plain
from aqmlab.scenario.model import Scenario, build
from aqmlab.scenario.notation import Table
from aqmlab.scenario.quantities import Duration

MEASURED_FROM = "5 s"
"""The start of the statistics in a household that is simulated for more than 20 s.

By this time all activities without a later `start` have begun.
"""


_SPEAKER = frozenset(("me", "i"))
"""Names of the person who describes the household."""


class NamedApp(NamedTuple):
    """An application of a household.

    `name` is its name in the scenario, `words` its name in plain words, `table` its table in the
    scenario, and `tolerance` the round-trip time that it tolerates, if the activity states one.
    """

    name: str
    words: str
    table: Table
    tolerance: str | None


def scenario_of(household: Household) -> Scenario:
    """The household as a scenario that compares today's gateway with FQ-CoDel.

    If the household names a built-in scenario, the result is that scenario.
    """
    if household.scenario is not None:
        return build(loading.read_builtin(household.scenario))
    line = lines.find(household.line)
    down, up = rates_of(household.tier)
    apps = list(named_apps(household))
    fifo = {"down": line.fifo("down", down), "up": line.fifo("up", up)}
    limits = {one.name: one.tolerance for one in apps if one.tolerance is not None}
    return Scenario.from_dict(
        {
            "title": household.title or "A household",
            "description": household.description,
            "duration": str(household.duration),
            "seeds": household.seeds,
            "path": {
                "rate": household.tier,
                "rtt": str(household.rtt),
                "overhead": plain(line.overhead),
                **{way: {"qdisc": qdisc} for way, qdisc in fifo.items()},
            },
            "apps": {one.name: one.table for one in apps},
            "measure": {"from": MEASURED_FROM} if household.duration.ns > 20 * 10**9 else {},
            "vary": {
                "gateway": [
                    {"label": "today"} | {f"path.{way}.qdisc": one for way, one in fifo.items()},
                    {"label": "FQ-CoDel", "path.qdisc": "fq_codel"},
                ]
            },
            "report": {"tolerances": limits},
        }
    )


def named_apps(household: Household) -> Iterator[NamedApp]:
    """Yields the applications of all simultaneous activities. Each device is one host."""
    taken: dict[str, int] = {}
    hosts = _hosts(household)
    for owned in household.uses():
        for key, app in owned.use.activity.apps.items():
            name = _name(owned, key)
            taken[name] = taken.get(name, 0) + 1
            if taken[name] > 1:
                name = f"{name}.{taken[name]}"
            table = plain(app) | _timing(owned) | {"host": hosts[owned.who, owned.device]}
            limit = owned.use.activity.tolerances.get(key)
            yield NamedApp(name, words_of(owned), table, None if limit is None else str(limit))


def _hosts(household: Household) -> dict[tuple[str, str], str]:
    """The name of each device's host, by person (empty for a thing) and device."""
    names, hosts = Names(), {}
    for one in household.uses():
        if (one.who, one.device) not in hosts:
            wanted = _slug(f"{one.who} {one.device}")
            hosts[one.who, one.device] = names.free(wanted)
    return hosts


def words_of(owned: OwnedUse) -> str:
    """An activity and its owner in plain words."""
    if owned.who.lower() in _SPEAKER:
        return "my " + re.sub(r"^an? ", "", owned.use.activity.title)
    return _core.owned_activity(owned.who, owned.use.activity.title)


def _timing(owned: OwnedUse) -> dict[str, Any]:
    """The start and stop of an application, as far as the household states them.

    Several copies are a list of starts, because `count` is a parameter of some kinds.
    """
    use = owned.use
    start = use.start if use.count == 1 else (use.start or Duration(0),) * use.count
    given = {"start": start, "stop": use.stop}
    return {name: plain(value) for name, value in given.items() if value is not None}


def _name(owned: OwnedUse, key: str) -> str:
    return f"{_slug(owned.who or owned.device)}-{_slug(key)}"


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[\w]+", text.lower())) or "x"
