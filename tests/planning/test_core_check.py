"""Errors that only the core detects are reported before a run, with their place in the scenario."""

from pathlib import Path

import pytest
from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.engines import core_check
from aqmlab.planning import planner
from aqmlab.scenario import catalogue, json_schema
from aqmlab.scenario.model import Scenario
from support import changes as changes_of

DATA = Path(__file__).parent / "data"
KNOWN = catalogue.Catalogue(_core.catalogue())
REFUSAL = core_check.refusal


@pytest.fixture(autouse=True)
def real_core(monkeypatch, small_catalogue):
    """Restores the simulator's own catalogue and checks."""
    monkeypatch.setattr(core_check, "refusal", REFUSAL)
    monkeypatch.setattr(catalogue, "load", lambda: KNOWN)


HEAD = """\
[path]
rate = "12/1 Mbit/s"
qdisc = "codel"
[measure]
step = "250 ms"
[hosts.home]
mtu = "1500 B"
[apps.probe]
kind = "ping"
payload = "56 B"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"56 B"', '"1473 B"', "home.toml:10: apps.probe.payload: 1473 B do not fit a packet of"),
        ('"1500 B"', '"80 B"', "home.toml:10: apps.probe.payload: 56 B do not fit a packet of 80"),
        ('"1500 B"', '"60 B"', "home.toml:7: hosts.home.mtu: 60 B is not between 68 (RFC 791)"),
        ('"250 ms"', '"1 ns"', "home.toml:5: measure.step: more than 20 million steps"),
        ('"12/1 Mbit/s"', '"12/1 Mbit/s"\nrtt = "3 h"', "toml:3: path.rtt: longer than an hour"),
        ('"codel"', '"ared max_p=-1"', "home.toml:3: path.qdisc.max_p: `-1` is out of bounds"),
        ('"codel"', '"codel target=0"', "`0` is out of bounds: target goes from 1 us to"),
        ('"codel"', '"sfq perturb=0"', 'hint: write "off" for none'),
    ],
)  # fmt: skip
def test_limits_of_the_core_are_found_on_their_line(tmp_path, old, new, message):
    path = tmp_path / "home.toml"
    path.write_text(HEAD.replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        planner.load(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sets": ["apps.probe.payload=8 kB"]}, "--set: apps.probe.payload: 8000 B do not fit"),
        ({"sets": ["path.qdisc=fq_codel flows=4294967296"]}, "--set: path.qdisc.flows: `4"),
        ({"vary": ["path.qdisc=codel,pie alpha=33"]}, "--vary: path.qdisc.alpha: `33` is out of"),
        ({"vary": ["apps.probe.payload=100 B,2 kB"]}, "--vary: apps.probe.payload: 2000 B do not"),
    ],
)  # fmt: skip
def test_the_command_line_is_held_to_the_same(tmp_path, changes, message):
    path = tmp_path / "home.toml"
    path.write_text(HEAD)
    with pytest.raises(ScenarioError) as caught:
        changes_of.load(path, **changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "flood",
    ["kind = 'bulk', parallel = 1000", "kind = 'web', hosts = 1000, connections = 10"],
)
def test_too_many_connections_are_refused_before_a_run(tmp_path, flood):
    path = tmp_path / "home.toml"
    path.write_text(f"{HEAD}[apps]\nflood = {{ {flood}, count = 401 }}\n")
    with pytest.raises(ScenarioError) as caught:
        planner.load(path)
    assert "connections of all applications together at one time; at most 400000" in str(
        caught.value
    )


@pytest.mark.parametrize("duration", ["24 h", "168 h"])
def test_a_long_trial_is_kept_in_coarser_steps_and_not_refused(tmp_path, duration):
    path = tmp_path / "home.toml"
    path.write_text(HEAD)
    (trial,) = changes_of.load(path, sets=[f"duration={duration}"]).trials
    assert trial.spec.duration_ns >= 24 * 3600 * 10**9


def test_so_are_values_in_python():
    home = Scenario.from_toml(HEAD)
    with pytest.raises(ScenarioError, match=r"apps.probe.payload: 8000 B do not fit"):
        planner.load(home.set("apps.probe.payload", "8 kB"))
    with pytest.raises(ScenarioError, match="interval goes from 1 us to 86400 s"):
        home.set("apps.probe.interval", "30 h")


def test_so_are_teacup_configs(tmp_path):
    path = tmp_path / "config.py"
    path.write_text((DATA / "v1_1_two_routers.py").read_text().replace("psize=700", "psize=1600"))
    with pytest.raises(ScenarioError) as caught:
        planner.load(path)
    where = "config.py:52: start_nttcp: payload: "
    assert str(caught.value).startswith(f"{where}1600 B do not fit a packet of 1500 B")


def test_bounds_stand_in_the_schema_and_hold_the_defaults():
    wanted = json_schema.schema()["$defs"]["Qdisc"]["anyOf"]
    table = next(
        one for one in wanted if one.get("properties", {}).get("kind", {}).get("const") == "sfq"
    )
    assert table["properties"]["depth"]["minimum"] == 1
    assert table["properties"]["depth"]["maximum"] == 127
    assert "From 1 s to" in table["properties"]["perturb"]["description"]
    for family in KNOWN.values():
        for kind in family.values():
            for param in kind.params.values():
                assert (param.allowed == "") == (param.type in ("flag", "word")), param.name
                assert param.read(param.show(param.default)) == param.default, param.name
