"""Two values of a loop that differ only in a stated default give the same trials."""

import pytest
from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner
from aqmlab.planning.without_defaults import without_defaults
from aqmlab.scenario import catalogue

KNOWN = catalogue.Catalogue(_core.catalogue())
HOME = """\
duration = "2 s"
path = { rate = "12/1 Mbit/s", rtt = "20 ms" }
apps.up = { kind = "bulk", direction = "up" }
vary."""


@pytest.fixture(autouse=True)
def real_catalogue(monkeypatch, small_catalogue):
    """Restores the simulator's own catalogue."""
    monkeypatch.setattr(catalogue, "load", lambda: KNOWN)


@pytest.fixture
def load(tmp_path):
    """A function that plans HOME with a loop."""
    path = tmp_path / "home.toml"

    def loaded(loop):
        path.write_text(HOME + loop)
        return planner.load(path).trials

    return loaded


@pytest.mark.parametrize(
    ("loop", "values"),
    [
        ('path.qdisc = ["pfifo", "pfifo limit=1000"]', "`pfifo` and `pfifo limit=1000`"),
        ('path.qdisc = ["fq_codel", "fq_codel limit=10240"]', "`fq_codel limit=10240`"),
        ('path.qdisc = ["codel ecn=no mtu=1514B", "codel"]', "`codel`"),
        ('path.up.qdisc = ["pfifo", {kind = "pfifo", limit = 1000}]', "`pfifo limit=1000`"),
        ('apps.up = [{kind = "bulk", parallel = 1}, {kind = "bulk"}]', "`bulk parallel=1`"),
        ('cc = [{label = "A"}, {label = "B", defaults.tcp.cc = "cubic"}]', "`A` and `B`"),
        (
            'cc = [{label = "A"}, {label = "B", defaults.tcp.cc = "cubic hystart=on"}]',
            "`A` and `B`",
        ),
        ('x = [{label = "A"}, {label = "B", defaults.home.initial_window = 10}]', "`A` and `B`"),
    ],
)
def test_a_value_that_states_a_default_is_the_value_without_it(load, loop, values):
    with pytest.raises(ScenarioError, match="make the same trials") as caught:
        load(loop)
    assert caught.value.where == f"home.toml:4: vary.{loop.partition(' = ')[0]}"
    assert values in caught.value.problem


def test_a_default_and_other_values_are_kept(load):
    assert len(load('path.qdisc = ["codel", "codel ecn=true", "codel limit=999"]')) == 3
    assert len(load('x = [{label = "A"}, {defaults.tcp.cc = "reno"}]')) == 2


def test_the_stored_text_of_a_trial_states_a_default_as_its_scenario_does(load):
    (trial,) = load('path.qdisc = ["pfifo limit=1000"]')
    assert '"params":{"limit":1000}' in trial.text


@pytest.mark.parametrize("kind", KNOWN["disciplines"].values(), ids=lambda kind: kind.name)
def test_a_trial_without_its_stated_defaults_has_the_same_packets(load, kind):
    stated = "".join(
        f', {one.name} = "{one.text}"' for one in kind.params.values() if one.name != "bandwidth"
    )
    (trial,) = load(f'path.qdisc = [{{kind = "{kind.name}"{stated}}}]')
    short = without_defaults(trial.spec)
    assert all(link.qdisc.params == {} for link in short.links)
    assert trial.spec != short
    assert digest(trial.spec) == digest(short), kind.name


def digest(spec):
    return _core.run(spec.text())["digest"]
