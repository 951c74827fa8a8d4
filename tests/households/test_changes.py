"""Changes of a household's own parameters, by `--set` and `--vary`."""

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.households import loading
from aqmlab.households.traffic import scenario_of
from aqmlab.planning import planner
from aqmlab.planning.change_text import assignments, variations

HOME = "home2026-family"


def planned(*sets, source=HOME, vary=()):
    return planner.load(source, sets=assignments(sets), vary=variations(vary), seeds=1)


def of_household(**changed):
    """The scenario of the household that states `changed` itself."""
    home = loading.load(HOME)
    return scenario_of(type(home)(**home.to_dict() | changed)).to_dict()


@pytest.mark.parametrize(
    ("sets", "changed"),
    [
        (["tier=10/2 Mbit/s"], {"tier": "10/2 Mbit/s"}),
        (['tier="10/2 Mbit/s"', "line=fibre"], {"tier": "10/2 Mbit/s", "line": "gpon"}),
        (["line=cable"], {"line": "docsis"}),
    ],
)
@pytest.mark.parametrize("source", [HOME, loading.load(HOME)], ids=["name", "value"])
def test_a_set_of_tier_or_line_equals_the_household_that_states_it(source, sets, changed):
    plan = planned(*sets, source=source)
    assert plan.scenario | {"seeds": 0} == of_household(**changed) | {"seeds": 0}
    assert not plan.warnings


def test_a_household_file_takes_a_tier(tmp_path):
    path = tmp_path / "home.toml"
    path.write_text('tier = "50/20 Mbit/s"\n[people.anna.devices]\nnotebook = ["game"]\n')
    plan = planned("tier=10/2 Mbit/s", "path.rtt=30 ms", source=path)
    assert plan.scenario["path"]["rtt"] == "30 ms"
    assert plan.trials[0].spec != planned("path.rtt=30 ms", source=path).trials[0].spec


@pytest.mark.parametrize(
    ("sets", "vary", "problem", "hint"),
    [
        (["tier=10 Mbit/s"], [], "--set: tier: `10 Mbit/s` is one rate", "write both"),
        (["tier=10"], [], "--set: tier: `10` is not a pair of rates", "write"),
        (["line=cabel"], [], "--set: line: unknown line `cabel`", "did you mean `cable`?"),
        (["tier=1000/1000 Mbit/s", "line=vdsl"], [], "too fast for the line `vdsl`", "at most"),
        ([], ["tier=10/2 Mbit/s,20/5 Mbit/s"], "--vary: `tier` cannot be varied", "once for each"),
    ],
)
def test_an_invalid_tier_or_line_is_refused(sets, vary, problem, hint):
    with pytest.raises(ScenarioError) as found:
        planned(*sets, vary=vary)
    assert problem in f"{found.value.where}: {found.value.problem}"
    assert hint in found.value.hint


def test_a_household_with_its_own_scenario_has_no_tier_to_set():
    with pytest.raises(ScenarioError, match="the scenario `boerlage2016-d6` states the line"):
        planned("tier=10/2 Mbit/s", source=loading.load("boerlage2016-d6"))
    with pytest.raises(ScenarioError) as found:
        planned("tier=10/2 Mbit/s", source="boerlage2016-d6")
    assert found.value.hint == "did you mean `path.rate`?"


@pytest.mark.parametrize(
    ("sets", "vary", "ways"),
    [
        (["path.rate=10/2 Mbit/s"], [], "down and up"),
        (["path.up.rate=2 Mbit/s"], [], "up"),
        ([], ["path.down.rate=2 Mbit/s,3 Mbit/s"], "down"),
        (["path.rate=9/2 Mbit/s", "path.qdisc=pfifo"], [], None),
        (["path.rate=9/2 Mbit/s", "path.up.qdisc=pfifo"], [], "down"),
        (["path.rtt=9 ms"], [], None),
        (["line=vdsl", "path.rate=9/2 Mbit/s"], [], None),  # its queues have a number of packets
    ],
)
def test_a_rate_without_its_queue_gives_a_warning(sets, vary, ways):
    told = [one for one in planned(*sets, vary=vary).warnings if "sized for" in one]
    assert len(told) == (ways is not None)
    if ways:
        assert told[0].startswith(f"today's queue ({ways}) stays sized for the tier ")
        assert "--set tier=" in told[0]
