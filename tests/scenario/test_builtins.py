"""The built-in scenarios and two TEACUP configs, tested with the simulator itself."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from aqmlab import _core
from aqmlab.engines.trial_spec import MeasureSpec, values
from aqmlab.planning import lowering, planner
from aqmlab.scenario import catalogue, json_schema, loading
from aqmlab.scenario.model import Scenario
from msgspec.structs import replace
from support import fake_teacup

DATA = Path(__file__).parents[1] / "planning" / "data"
SCHEMA = jsonschema.Draft202012Validator(json_schema.schema())


@pytest.fixture(autouse=True)
def real_catalogue(monkeypatch):
    """Restores the simulator's own catalogue."""
    kinds = catalogue.Catalogue(catalogue.raw())
    monkeypatch.setattr(catalogue, "load", lambda: kinds)


@pytest.mark.parametrize(
    ("name", "trials", "conditions"),
    [
        ("autorate", 9, ("gateway",)),
        ("bufferbloat", 3, ("qdisc",)),
        ("cumaranayagam2016", 4, ("rate", "qdisc")),
        ("household", 6, ("qdisc",)),
        ("kua2017", 4 * 4 * 12, ("rate", "qdisc", "rtt")),
        ("kua2017-demo", 4 * 3, ("qdisc",)),
        ("kua2017-linux", 4, ("qdisc",)),
        ("rpm", 3, ("qdisc",)),
        ("rrul", 1, ()),
        ("shaper", 15, ("rate",)),
        ("two-hosts", 12, ("qdisc",)),
        ("voip-under-load", 12, ("qdisc",)),
        ("web-protocols", 24, ("loss", "web.protocol")),
        ("web-under-load", 12, ("qdisc",)),
        *((f"boerlage2016-d{number}", 55 * 3 * 2, ("rate", "rtt")) for number in range(1, 7)),
    ],
)
def test_built_in_scenarios_are_complete(name, trials, conditions):
    loaded = planner.load(name)
    assert (len(loaded.trials), loaded.conditions) == (trials, conditions)
    assert loaded.warnings == () and loaded.text == loading.builtin_text(name)
    assert len({trial.id for trial in loaded.trials}) == trials
    assert loaded.title and loaded.description and loaded.figures


def test_the_table_above_names_them_all():
    assert len(loading.builtin_names()) == 20
    assert set(loading.builtins()) == set(loading.builtin_names())


def shortened(spec):
    """The trial as JSON, shortened to 20 simulated milliseconds."""
    return replace(spec, duration_ns=20_000_000, measure=MeasureSpec(enabled=False)).text()


@pytest.mark.parametrize("name", loading.builtin_names())
def test_the_simulator_takes_every_kind_of_trial(name):
    """The simulator refuses unknown keys, kinds and parameters before a trial starts."""
    loaded = planner.load(name)
    seen = set()
    for trial in loaded.trials:
        kinds = json.dumps([values(link.qdisc) for link in trial.spec.links])
        if kinds not in seen:
            seen.add(kinds)
            _core.run(shortened(trial.spec))


@pytest.mark.parametrize("name", ["v1_1_two_routers.py", "freebsd_router.py"])
def test_the_simulator_takes_teacup_trials(name):
    for trial in planner.load(DATA / name).trials[-1:]:
        _core.run(shortened(trial.spec))


@pytest.mark.parametrize("name", loading.builtin_names())
def test_built_in_scenarios_round_trip(name):
    layer = loading.read_builtin(name)
    scenario = Scenario.from_dict(layer.data)
    again = Scenario.from_toml(scenario.to_toml())
    assert again == scenario
    assert lowering.resolve(again).spec == lowering.resolve(scenario).spec


@pytest.mark.parametrize("name", loading.builtin_names())
def test_every_line_that_is_a_choice_has_a_reason(name):
    """At least one line has a comment for every four lines that assign a value."""
    lines = loading.builtin_text(name).splitlines()
    explained = sum("#" in line for line in lines)
    choices = sum("=" in line for line in lines)
    assert explained >= choices / 4
    assert lines[0].startswith("#"), "the source comes first"


@pytest.mark.parametrize("name", loading.builtin_names())
def test_the_schema_accepts_every_built_in(name):
    SCHEMA.validate(tomllib.loads(loading.builtin_text(name)))


@pytest.mark.parametrize(
    "text",
    [
        '[path]\nrtt = "40"',
        '[path]\nrt = "40 ms"',
        '[path]\nqdisc = "fq_code"',
        '[path]\nqdisc = { kind = "codel", taget = "5 ms" }',
        '[apps.a]\nkind = "bulkk"',
        '[apps.a]\nkind = "bulk"\ndirection = "sideways"',
        '[hosts.home]\nprofile = "beos"',
        "[measure]\nwindow = 1",
        'pth = "x"',
    ],
)
def test_the_schema_refuses_slips(text):
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate(tomllib.loads(text))


def test_teacup_names_exist_in_the_simulator():
    """Every kind and parameter to which configs are mapped exists in the simulator."""
    real = catalogue.load()
    for family, entries in fake_teacup.RAW.items():
        for entry in entries:
            kind = real[family][entry["name"]]
            for param in entry["params"]:
                assert param["name"] in kind.params, (kind.name, param)
                assert kind.params[param["name"]].type == param["type"], (kind.name, param)


def test_the_catalogue_is_documented():
    for family in catalogue.load().values():
        assert family
        for kind in family.values():
            assert kind.summary and kind.source
            for param in kind.params.values():
                assert param.doc and param.read(param.show(param.default)) == param.default
