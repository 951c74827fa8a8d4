"""Loops that would label numbers wrongly are refused, with the line to change."""

import itertools

import pytest
from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import ScenarioError
from aqmlab.results.labels import label_trials
from support import changes as changes_of
from support.campaigns import entry_of

HOME = """\
[path]
rate = "12/1 Mbit/s"
[apps.up]
kind = "bulk"
[vary]
"""


@pytest.fixture
def load(tmp_path):
    """A function that plans HOME with some loops."""
    path = tmp_path / "home.toml"

    def loaded(loops, **changes):
        path.write_text(HOME + loops)
        return changes_of.load(path, **changes)

    return loaded


@pytest.fixture
def refused(load):
    """A function that returns the message with which HOME with some loops is refused."""

    def words(loops, **changes):
        with pytest.raises(ScenarioError) as caught:
            load(loops, **changes)
        return str(caught.value)

    return words


@pytest.mark.parametrize(
    ("loops", "place", "named"),
    [
        ('path.rtt = ["10 ms", "20 ms", "10 ms"]', "home.toml:6: vary.path.rtt", ["10 ms"]),
        ('path.rtt = ["10 ms", "0.01 s"]', "home.toml:6: vary.path.rtt", ["10 ms", "0.01 s"]),
        ('path.rate = ["1/1 Mbit/s", "1 Mbit/s"]', "home.toml:6: vary.path.rate", ["1 Mbit/s"]),
        ('path.qdisc = ["codel limit=5", {kind = "codel", limit = 5}]', ":6: vary.path.qdisc", []),
        ("measure.points = [5, 5.0]", "home.toml:6: vary.measure.points", ["5"]),
        ('apps.up.count = [2, "2"]', "home.toml:6: vary.apps.up.count", ["2"]),
        (
            'scheme = [\n{label = "A", path.rtt = "1 ms"},\n{label = "A", path.rtt = "2 ms"}]',
            "home.toml:8: vary.scheme",
            ["A"],
        ),
        ('scheme = [{label = 1, path.rtt = "1 ms"}, {label = "1", path.rtt = "2 ms"}]', ":6", []),
        ('scheme = [{label = "A"}, {label = "B"}]', "home.toml:6: vary.scheme", ["A", "B"]),
        (
            'scheme = [{label = "A", path.rtt = "1 ms"}, {label = "B", path.rtt = "1000 us"}]',
            "home.toml:6: vary.scheme",
            ["A", "B"],
        ),
    ],
)
def test_a_value_given_twice_is_refused(refused, loops, place, named):
    message = refused(loops)
    assert place in message
    assert all(f"`{name}`" in message for name in named)


def test_a_loop_on_which_nothing_depends_is_refused(refused):
    message = refused('path.rtt = ["1 ms", "200 ms"]\ndefaults.rtt = ["5 ms", "6 ms"]')
    assert "home.toml:6: vary.path.rtt: `1 ms` and `200 ms` make the same trials" in message


def test_a_loop_that_matters_somewhere_is_kept(load):
    loops = 'path.shaper = ["line", "dummynet"]\npath.pipe_delays = [true, false]'
    assert len(load(loops).trials) == 4


@pytest.mark.parametrize(
    "loops",
    [
        'path.rate = ["1/1 Mbit/s", "2/1 Mbit/s"]\npath.down.rate = ["3 Mbit/s", "4 Mbit/s"]',
        'path.down.rate = ["3 Mbit/s", "4 Mbit/s"]\npath.rate = ["1/1 Mbit/s", "2/1 Mbit/s"]',
        'path.qdisc = ["pfifo", "codel"]\npath.queue = ["pfifo limit=4", "codel limit=9"]',
        'path.qdisc = ["pfifo limit=4", "codel"]\n"path.qdisc.limit" = [5, 6]',
        'path.qdisc.limit = [5, 6]\n"path.up.qdisc.params.limit" = [7, 8]',
        'path.rtt = ["1 ms", "2 ms"]\nscheme = [{label = "A", path.rtt = "200 ms"}]',
        'scheme = [{label = "A", path.rtt = "200 ms"}]\nother = [{label = "B", path.rtt = "1 ms"}]',
        'path.rtt = ["1 ms", "2 ms"]\nscheme = [{path.qdisc = "pfifo"}, {path.rtt = "3 ms"}]',
        'apps.up = [{kind = "bulk"}, {kind = "ping"}]\n"apps.up.kind" = ["bulk", "ping"]',
        'apps.up.size = ["1 MB", "2 MB"]\napps.up.params.size = ["3 MB", "4 MB"]',
        'hosts.home.settings.delayed_ack = ["1 ms", "2 ms"]\n'
        'hosts.home.delayed_ack = ["3 ms", "4 ms"]',
    ],
)
def test_two_loops_over_one_address_are_refused_by_name(refused, loops):
    message = refused(loops)
    first, second = (line.split(" = ")[0].strip('"') for line in loops.split("\n"))
    assert "home.toml:7: vary" in message and f"vary.{first.replace('.params', '')}" in message
    assert second.replace(" ", "") in message.replace(" ", "")


def test_blanks_in_an_address_mean_nothing(refused):
    message = refused('path.rtt = ["1 ms", "2 ms"]\n"path. rtt" = ["3 ms", "4 ms"]')
    assert message == "home.toml:7: vary.path. rtt: varied twice"


def test_a_loop_over_disciplines_and_one_over_their_limit_go_together_in_any_order(load):
    loops = ['path.qdisc = ["pfifo", "codel"]', '"path.qdisc.limit" = [5, 6]']
    for order in itertools.permutations(loops):
        for trial in load("\n".join(order)).trials:
            found = {(one.qdisc.kind, one.qdisc.params["limit"])
                     for one in trial.spec.links}  # fmt: skip
            assert found == {(trial.conditions["qdisc"], trial.conditions["qdisc.limit"])}


def test_a_profile_and_its_congestion_control_go_together_in_any_order(load):
    steps = ['hosts.home.profile = ["linux", "freebsd"]', 'hosts.home.cc = ["reno", "cubic"]']
    for order in itertools.permutations(steps):
        for trial in load("\n".join(order)).trials:
            home = trial.spec.apps[0].home
            assert home.cc.kind == trial.conditions["hosts.home.cc"]
            assert home.profile == trial.conditions["hosts.home.profile"]


def test_an_application_that_one_loop_takes_away_may_be_varied_by_another(load):
    loops = ['who = [{label = "all"}, {label = "one", apps.up = "off"}]', 'apps.up.start = ["1 s"]']
    app = 'apps.b = [{kind = "ping"}]\n'
    for order in itertools.permutations(loops):
        trials = load(app + "\n".join(order)).trials
        assert [len(one.spec.apps) for one in trials] == [2, 1]


NAMES = ["trial", "Seed", "chunk", "CAMPAIGN", "*", "^.*$", "^a$", "", " ", "1st", "a/b", "a\\nb",
         "condition.a", "-", "a,b", "a=b", "é" * 101, "a ", "x'y", "%s"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_table_cannot_have_is_refused_with_what_is_allowed(refused, name):
    message = refused(f'"{name}" = [{{label = "A", path.rtt = "1 ms"}}]')
    assert "home.toml:6: vary" in message and "begins with a letter" in message


@pytest.mark.parametrize("name", ["select", "order", "Ort", "größe", "a b", "a-b", "a.b", "flow"])
def test_other_names_are_the_users(load, name):
    assert load(f'"{name}" = [{{label = "A", path.rtt = "1 ms"}}]').conditions == (name,)


@pytest.mark.parametrize("app", ["trial", "seed", "chunk", "Campaign", "*", "^a$", "1"])
def test_an_address_whose_short_name_a_table_cannot_have_is_called_in_full(load, app):
    loops = f'apps."{app}" = [{{kind = "ping"}}, {{kind = "bulk"}}]'
    assert load(loops).conditions == (f"apps.{app}",)


@pytest.mark.parametrize(
    "loops",
    [
        'rtt = [{label = "A", path.rate = "1/1 Mbit/s"}]\npath.rtt = ["1 ms", "2 ms"]',
        'RTT = [{label = "A", path.rate = "1/1 Mbit/s"}]\npath.rtt = ["1 ms", "2 ms"]',
        'a = [{label = "A", path.rate = "1/1 Mbit/s"}]\nA = [{label = "A", path.rtt = "1 ms"}]',
        'path.down.rate = ["1 Mbit/s", "2 Mbit/s"]\n'
        '"apps.down" = [{kind = "cbr", rate = "1 Mbit/s"}]'
        '\napps.down.rate = ["3 Mbit/s", "4 Mbit/s"]',
        's = [{path.down.rate = "1 Mbit/s", apps.down.rate = "2 Mbit/s"}]',
        's = [{path.up.rate = "1 Mbit/s"}, {path.rtt = "2 ms"}]\nrtt = [{label = "A"}]',
    ],
)
def test_two_loops_with_one_name_are_refused(refused, loops):
    message = refused(loops)
    assert "home.toml:" in message and "vary" in message and "the same column name" in message


def test_steps_without_labels_are_told_apart_by_parameters(load):
    steps = '[{path.qdisc = "pfifo limit=1", path.rtt = "1 ms"}, {path.qdisc = "pfifo limit=2"}]'
    loaded = load(f"s = {steps}")
    assert [one.conditions["qdisc"] for one in loaded.trials] == ["pfifo limit=1", "pfifo limit=2"]
    assert loaded.conditions == ("qdisc", "rtt"), "those of all steps"


def test_a_label_is_no_longer_than_a_figure_can_show(load):
    load(f'home = [{{label = "{"x" * 1_000}", path.rtt = "9 ms"}}]')
    with pytest.raises(ScenarioError, match="a label has at most 1000 characters"):
        load(f'home = [{{label = "{"x" * 1_001}", path.rtt = "9 ms"}}]')


def test_long_values_are_told_apart(load):
    starts = [[f"{number} s" for number in range(20)] + [f"{last} s"] for last in (20, 21)]
    texts = ", ".join("[" + ", ".join(f'"{one}"' for one in own) + "]" for own in starts)
    conditions = [one.conditions["up.start"] for one in load(f"apps.up.start = [{texts}]").trials]
    assert len(set(conditions)) == 2


def test_close_numbers_are_told_apart():
    assert condition_text(0.12345678) != condition_text(0.12345679)
    assert condition_text(1.0) == "1" and condition_text(0.1) == "0.1"


def test_names_of_trials_tell_values_apart_that_files_cannot(load):
    labels = ["a/b", "a-b", "a b", "ab", "é", "ü", "a-b-2", "x" * 90, "x" * 91]
    steps = [f'{{label = "{one}", path.rtt = "{at} ms"}}' for at, one in enumerate(labels, 1)]
    loaded = load(f"s = [{', '.join(steps)}]", seeds=2)
    by_value = {}
    for trial in loaded.trials:
        name, seed = trial.id.rsplit(",seed=", 1)
        assert int(seed) == trial.seed
        by_value.setdefault(trial.conditions["s"], set()).add(name)
    assert [len(names) for names in by_value.values()] == [1] * len(labels)
    assert len({name for names in by_value.values() for name in names}) == len(labels)
    engines = [one.id for one in load(f"s = [{', '.join(steps)}]", engine="sim").trials]
    assert len(set(engines)) == len(labels)


def test_different_conditions_have_different_labels(load):
    loops = (
        'path.rate = ["12/1 Mbit/s", "12000001/1000000 bit/s"]\n'
        'path.rtt = ["10 ms", "10000001 ns"]\npath.loss = ["0.1 %", "0.10000001 %"]\n'
        's = [{label = "codel"}, {label = "codel x=1", measure.points = 7}]'
    )
    trials = load(loops).trials
    entries = [entry_of(one.conditions, one.spec, one.id) for one in trials]
    assert len(trials) == 16
    assert len(set(label_trials(entries))) == 16


def test_what_is_set_and_varied_by_other_names_is_refused(refused):
    for sets, vary in (
        (["path.queue=pfifo"], ["path.qdisc=pfifo,codel"]),
        (["path.down.rate=1 Mbit/s"], ["path.rate=1/1 Mbit/s,2/1 Mbit/s"]),
        (["path.rtt=1 ms"], ["path. rtt=1 ms,2 ms"]),
    ):
        message = refused("", sets=sets, vary=vary)
        assert message.startswith("--vary") and "is both set and varied" in message


def test_one_address_is_varied_by_one_option(refused):
    message = refused("", vary=["path.rtt=1 ms,2 ms", "path.rtt=3 ms,4 ms"])
    assert message.startswith("--vary: `path.rtt` is given twice")


def test_what_is_set_in_part_of_what_a_file_varies_is_said(load):
    loops = 'path.rate = ["1/1 Mbit/s", "2/2 Mbit/s"]'
    assert load(loops, sets=["path.down.rate=3 Mbit/s"], vary=["path.rtt=1 ms,2 ms"]).warnings == (
        "--set path.down.rate applies to every value of the loop path.rate",
    )


def test_the_later_of_two_options_wins_and_a_profile_keeps_its_congestion_control(load):
    def spec(*sets):
        return load("", sets=list(sets)).trials[0].spec

    rates = ("path.down.rate=3 Mbit/s", "path.rate=2/1 Mbit/s")
    assert spec(*rates).links[1].rate_bps == 2_000_000
    assert spec(*reversed(rates)).links[1].rate_bps == 3_000_000
    host = ("hosts.home.cc=reno", "hosts.home.profile=freebsd")
    for order in (host, host[::-1]):
        assert spec(*order).apps[0].home.cc.kind == "reno"


@pytest.mark.parametrize("name", ["engine", "Engine", "ENGINE"])
def test_a_loop_that_is_called_like_the_column_of_engines_is_refused(refused, name):
    steps = '[{label = "A", path.rtt = "1 ms"}, {label = "B", path.rtt = "2 ms"}]'
    message = refused(f"{name} = {steps}", engine="sim,kernel", build=False)
    assert message.startswith("--engine: ") and f"`{name}`" in message
    assert "rename" in message


def test_no_two_names_of_trials_differ_in_case_only(load):
    steps = ", ".join(f'{{label = "{one}", path.rtt = "{at} ms"}}'
                      for at, one in enumerate(["A", "a", "a-2", "A-2"], 1))  # fmt: skip
    ids = [trial.id.casefold() for trial in load(f"s = [{steps}]", seeds=2).trials]
    assert len(set(ids)) == len(ids) == 8
