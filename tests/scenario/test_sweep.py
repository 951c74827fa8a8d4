"""Loops: order, linked loops, changes on the command line, and names."""

import copy
import json

import pytest
from aqmlab.engines.trial_spec import KindSpec
from aqmlab.planning import combinations, planner
from aqmlab.scenario import merge, seeds
from aqmlab.scenario import model as scenarios
from support import changes as changes_of

HOME = """\
seeds = 2
[path]
rate = "12/1 Mbit/s"
[apps.up]
kind = "bulk"
[vary]
path.rate = ["12/1 Mbit/s", "25/5 Mbit/s"]
scheme = [
    { label = "FIFO", path.qdisc = "pfifo limit=490" },
    { label = "AQM", path.qdisc = { kind = "codel", limit = 1000 }, hosts.home.ecn = true },
]
path.rtt = ["20 ms", "40 ms", "60 ms"]
"""


@pytest.fixture
def home(tmp_path):
    """A function that loads HOME with the changes of a command line."""
    path = tmp_path / "home.toml"
    path.write_text(HOME)
    return lambda **changes: changes_of.load(path, **changes)


def test_the_first_loop_is_the_outermost_and_seeds_are_innermost(home):
    loaded = home()
    assert loaded.conditions == ("rate", "scheme", "rtt")
    ids = [trial.id for trial in loaded.trials]
    assert len(ids) == len(set(ids)) == 2 * 2 * 3 * 2
    assert ids[:3] == [
        "rate=12-1,scheme=FIFO,rtt=20ms,seed=1",
        "rate=12-1,scheme=FIFO,rtt=20ms,seed=2",
        "rate=12-1,scheme=FIFO,rtt=40ms,seed=1",
    ]
    assert ids[-1] == "rate=25-5,scheme=AQM,rtt=60ms,seed=2"
    last = loaded.trials[-1]
    assert last.conditions == {"rate": "25/5 Mbit/s", "scheme": "AQM", "rtt": "60 ms"}
    assert last.seed == last.spec.seed == 2
    assert last.rtt_base_ms == {"up": 60.0}


def test_linked_changes_come_together(home):
    by_scheme = {trial.conditions["scheme"]: trial.spec for trial in home().trials}
    assert by_scheme["FIFO"].links[0].qdisc == KindSpec(kind="pfifo", params={"limit": 490})
    assert by_scheme["AQM"].links[1].qdisc == KindSpec(kind="codel", params={"limit": 1_000})
    assert by_scheme["FIFO"].apps[0].home.ecn is False
    assert by_scheme["AQM"].apps[0].home.ecn is True


@pytest.mark.parametrize(
    ("changes", "conditions", "count"),
    [
        ({"seeds": 5}, ("rate", "scheme", "rtt"), 12 * 5),
        ({"seeds": "3-7"}, ("rate", "scheme", "rtt"), 12 * 5),
        ({"sets": ["path.rtt=1 ms"]}, ("rate", "scheme"), 8),
        ({"sets": ["path.rate=1/1 Mbit/s"]}, ("scheme", "rtt"), 12),
        ({"sets": ["path.down.rate=1 Mbit/s"]}, ("rate", "scheme", "rtt"), 24),
        ({"sets": ["path.down.rate=1 Mbit/s", "path.up.rate=1 Mbit/s"]}, ("scheme", "rtt"), 12),
        ({"sets": ["path.qdisc=codel"]}, ("rate", "scheme", "rtt"), 24),
        ({"sets": ["path.qdisc=codel", "hosts.home.ecn=true"]}, ("rate", "rtt"), 12),
        ({"vary": ["path.rtt=1 ms,2 ms"]}, ("rate", "scheme", "rtt"), 16),
        ({"vary": ["apps.up.start=1 s,2 s"]}, ("rate", "scheme", "rtt", "up.start"), 48),
        ({"vary": ["path.loss=0 %,1 %"]}, ("rate", "scheme", "rtt", "loss"), 48),
    ],
)
def test_the_command_line_changes_any_of_it(home, changes, conditions, count):
    loaded = home(**changes)
    assert (loaded.conditions, len(loaded.trials)) == (conditions, count)


def test_what_is_set_wins_over_what_is_varied(home):
    for trial in home(sets=["path.down.qdisc=pie", "path.up.qdisc.limit=7"]).trials:
        up, down = trial.spec.links
        assert down.qdisc.kind == "pie"
        assert up.qdisc.params["limit"] == 7


def test_labels_tell_values_apart(home):
    loaded = home(
        sets=["hosts.home.ecn=false"],
        vary=["path.qdisc=pfifo,codel limit=9,{kind = 'codel', limit = 8}"],
        seeds=1,
    )
    assert loaded.conditions == ("rate", "rtt", "qdisc")
    assert [trial.conditions["qdisc"] for trial in loaded.trials[:3]] == [
        "pfifo",
        "codel limit=9",
        "codel limit=8",
    ]
    assert loaded.trials[1].id == "rate=12-1,rtt=20ms,qdisc=codellimit9,seed=1"


def test_a_scenario_may_be_completed_by_its_loops(tmp_path):
    path = tmp_path / "home.toml"
    path.write_text('[apps.up]\nkind = "bulk"\n[vary]\npath.rate = ["1/1 Mbit/s", "2/1 Mbit/s"]\n')
    assert len(planner.load(path).trials) == 2


def test_names_are_fit_for_files_and_differ(tmp_path):
    path = tmp_path / "home.toml"
    labels = ["a/b", "a-b", "../x", "", "é" * 300, "\\\\n"]
    steps = ",\n".join(
        f'{{ label = "{label}", path.rtt = "{number + 1} ms" }}'
        for number, label in enumerate(labels)
    )
    path.write_text(HOME.split("[vary]")[0] + f"[vary]\nx = [\n{steps}\n]\n")
    ids = [trial.id for trial in planner.load(path).trials]
    assert len(set(ids)) == 2 * len(labels)
    assert all(len(name) < 200 and "/" not in name and name.isascii() for name in ids)


def test_a_plan_is_json_and_repeats(home):
    plan = home()
    first, second = (
        json.dumps([one.scenario, [trial.text for trial in one.trials]]) for one in (plan, home())
    )
    assert first == second
    assert plan.trials[0].id == "rate=12-1,scheme=FIFO,rtt=20ms,seed=1"
    assert plan.conditions == ("rate", "scheme", "rtt")


def test_short_runs_warn_about_what_they_cut(home):
    loaded = home(sets=["measure.to=20 s", "apps.up.start=15 s"], duration="10 s")
    assert loaded.warnings == (
        "apps.up starts at 15 s, after the end of the trial of 10 s",
        "measure.to is 20 s, after the end of the trial; statistics end at 10 s",
    )


@pytest.mark.parametrize(
    ("qdisc", "target", "interval"),
    [
        ("fq_codel target=5s interval=1ms", "5 s", "1 ms"),
        ("codel target=51ms", "51 ms", "100 ms"),
        ("fq_codel_freebsd interval=9ms", "5 ms", "9 ms"),
    ],
)
def test_a_target_that_is_not_well_below_its_interval_is_said_once(home, qdisc, target, interval):
    kind = qdisc.partition(" ")[0]
    assert home(sets=[f"path.qdisc={qdisc}"]).warnings == (
        f"the target of {kind}, {target}, is not well below its interval, {interval};"
        " RFC 8289 recommends 5 to 10 %",
    )


@pytest.mark.parametrize("qdisc", ["fq_codel target=50ms", "pie target=1s"])
def test_other_targets_are_passed_over(home, qdisc):
    assert home(sets=[f"path.qdisc={qdisc}"]).warnings == ()


@pytest.mark.parametrize(
    ("sets", "duration", "warnings"),
    [
        (
            ["path.rtt=400 s"],
            "10 min",
            ["the round-trip time without queues is 400 s; over a satellite it is 0.6 s"],
        ),
        (
            ["path.rtt=40 ms", "path.start_jitter=0 s"],
            "39 ms",
            [
                "the trial ends after 39 ms, before an answer can arrive:"
                " the round-trip time is 40 ms"
            ],
        ),
        (
            ["path.qdisc=pfifo limit=1"],
            "10 s",
            ["limit=1 of pfifo: while a packet waits, every arrival is dropped"],
        ),
        (["path.qdisc=pfifo limit=2", "path.rtt=5 s"], "10 s", []),
    ],
)
def test_values_that_are_probably_not_meant_are_said(home, sets, duration, warnings):
    assert home(sets=sets, duration=duration).warnings == tuple(warnings)


def test_a_start_that_chance_may_lay_behind_the_end_is_said(home):
    assert home(sets=["path.start_jitter=1 min"], duration="10 s").warnings == (
        "path.start_jitter is 60 s, so apps.up may start after the end of the trial of 10 s",
    )
    loaded = home(sets=["apps.up.count=3", "apps.up.stagger=4950 ms"], duration="9.95 s")
    assert loaded.warnings == (
        "path.start_jitter is 50 ms, so apps.up-3 may start after the end of the trial of 9.95 s",
    )


@pytest.mark.parametrize(
    ("value", "numbers", "spelled"),
    [
        (3, (1, 2, 3), 3),
        ("3", (1, 2, 3), 3),
        ("3-5", (3, 4, 5), "3-5"),
        ("1,7-8", (1, 7, 8), "1,7,8"),
        ([2, 1], (2, 1), "2,1"),
    ],
)
def test_seeds(value, numbers, spelled):
    assert seeds.numbers(value) == numbers
    assert seeds.spelled(value) == spelled
    assert seeds.numbers(seeds.spelled(value)) == numbers


def test_applications_that_no_loop_varies_are_checked_once(tmp_path, monkeypatch):
    """With a check for each combination, a plan of 100,000 combinations takes minutes."""
    file = tmp_path / "home.toml"
    file.write_text(HOME + '[apps.other]\nkind = "bulk"\n')
    tables = []

    def build(layer):
        tables.extend(app for app in layer.data["apps"].values() if isinstance(app, dict))
        return scenarios.build(layer)

    monkeypatch.setattr(combinations, "build", build)
    whole, first = 2, 2
    assert len(planner.load(file).trials) == 2 * 2 * 2 * 3
    assert len(tables) == whole + first
    tables.clear()
    assert len(changes_of.load(file, vary=["apps.up.start=1 s,2 s"]).trials) == 2 * 2 * 2 * 3 * 2
    assert len(tables) == whole + first - 1 + 2 * 2 * 3 * 2, "of what is varied, each"


def test_layers_that_are_merged_stay_as_they_were():
    base = merge.from_toml(HOME, "base")
    over = merge.from_toml(
        'apps.up = "off"\n[apps.b]\nkind = "ping"\n[path]\nrtt = "1 ms"\n', "over"
    )
    before = copy.deepcopy((base.data, over.data))
    merged = merge.merge(base, over)
    merge.merge(merged, merge.from_address("apps.b.start", "1 s", ""))
    merge.merge(merged, merge.from_address("path.down.rate", "1 Mbit/s", ""))
    assert (base.data, over.data) == before
    assert merged.data["apps"] == {"b": {"kind": "ping"}}
    assert merged.data["path"]["down"]["rate"] == "12 Mbit/s"
