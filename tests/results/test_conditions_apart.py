"""Two trials share a label if and only if they are seeds of one condition."""

import itertools
import json
import tempfile
from pathlib import Path

import pytest
from aqmlab import api
from aqmlab.base.condition_text import condition_text
from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import LabError
from aqmlab.planning import planner
from aqmlab.results import grouping
from aqmlab.results.grouping import refuse_merged
from aqmlab.results.labels import Label, label_trials
from aqmlab.results.results import load
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import structs
from support.campaigns import app, entry_of, spec_of

HOME = """\
seeds = 2
path.rate = "12/1 Mbit/s"
path.qdisc = "pie"
apps.up = { kind = "bulk" }
apps.down = { kind = "ping" }
[vary]
"""
VALUES = {
    "path.rtt": ["10 ms", "20 ms", "10000001 ns"],
    "path.qdisc": ["pie", "pie target=5ms", "pie limit=9", "codel"],
    "path.loss": ["1 %", "2 %"],
    "path.rate": ["12/1 Mbit/s", "25/5 Mbit/s", "12000001/1000000 bit/s"],
    "apps.up.start": ["1 s", "2 s"],
    "apps.up.rtt": ["10 ms", "20 ms"],
    "apps.down.start": ["1 s", "2 s"],
    "hosts.home.cc": ["reno", "cubic"],
}
TEXTS = ["pie", "pie target=5ms", "pie start=1 s", "codel", "start=1 s", "α", "β", "a/b", "a-b",
         "A", "a", "1 s", "1 s s=pie", "pie #1", "10 ms", "12/1"]  # fmt: skip
NAMES = ["s", "t", "scheme", "start", "pie", "x.start", "qdisc", "rate"]


@st.composite
def steps(draw):
    """The steps of a linked loop: all, some or none have labels, and few keys are in all steps."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        addresses = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=2,
                                  unique=True))  # fmt: skip
        step = {address: draw(st.sampled_from(VALUES[address])) for address in addresses}
        if draw(st.booleans()):
            step["label"] = draw(st.sampled_from(TEXTS))
        made.append(step)
    return made


@st.composite
def loops(draw):
    """Some loops by name, each with its values or its steps."""
    address = st.sampled_from(sorted(VALUES))
    varied = draw(st.lists(address, max_size=2, unique=True))
    found = {name: draw(st.lists(st.sampled_from(VALUES[name]), min_size=1, unique=True))
             for name in varied}  # fmt: skip
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)):
        found[name] = draw(steps())
    return found


def as_toml(found):
    def value(one):
        if isinstance(one, dict):
            return "{" + ", ".join(f"{key} = {json.dumps(one[key], ensure_ascii=False)}"
                                   for key in one) + "}"  # fmt: skip
        return json.dumps(one)

    return "".join(
        f"{json.dumps(name)} = [{', '.join(map(value, values))}]\n"
        for name, values in found.items()
    )


def told(trials):
    """The facts of each trial from which labels are made."""
    return [entry_of(one.conditions, one.spec, one.id) for one in trials]


def without_seed(spec):
    return spec.canonical_text(seed=False)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(loops())
def test_equal_labels_are_equal_trials_but_for_the_seed_in_random_loops(found):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home.toml"
        path.write_text(HOME + as_toml(found), "utf-8")
        try:
            trials = planner.load(path).trials
        except ScenarioError:
            assume(False)
    labels = label_trials(told(trials))
    for (one, its), (other, others) in itertools.combinations(zip(trials, labels, strict=True), 2):
        alike = one.conditions == other.conditions
        assert (its == others) is alike, (its, one.conditions, other.conditions)
        assert (its.brief == others.brief) is (str(its) == str(others)) is alike
        if alike:
            assert one.seed != other.seed and without_seed(one.spec) == without_seed(other.spec)


WORDS = st.sampled_from([*TEXTS, "pie x=1", "1", "2", "2 b=3", "3"])
CONDITIONS = st.dictionaries(st.sampled_from(["a", "b", "x.a", "up.qdisc", "qdisc"]), WORDS)


@given(st.lists(st.tuples(CONDITIONS, st.sampled_from(["pie", "codel"]),
                          st.sampled_from([10, 20])), max_size=6))  # fmt: skip
def test_equal_labels_are_equal_conditions_in_any_selection(drawn):
    trials = [
        entry_of(conditions, spec_of(queue, apps=[app("near", rtt_ms=rtt_ms)]))
        for conditions, queue, rtt_ms in drawn
    ]
    labels = label_trials(trials)
    for (one, its), (other, others) in itertools.combinations(zip(trials, labels, strict=True), 2):
        texts = [{name: condition_text(value) for name, value in trial.conditions.items()}
                 for trial in (one, other)]  # fmt: skip
        if texts[0] != texts[1]:
            assert its != others and its.brief != others.brief and str(its) != str(others)


def test_a_step_that_sets_what_others_do_not_is_a_condition_of_its_own():
    trials = [{"rtt": "10 ms"}, {"rtt": "10 ms", "up.start": "5 s"}]
    labels = label_trials([entry_of(one, spec_of("pie")) for one in trials])
    assert [label.queue for label in labels] == ["pie", "pie start=5 s"]


def test_a_label_that_is_called_like_the_queue_hides_nothing():
    labels = label_trials([entry_of({"s": text}, spec_of("pie")) for text in ("pie", "other")])
    assert [label.queue for label in labels] == ["pie s=pie", "pie s=other"]


def test_a_word_of_a_label_names_no_other_condition():
    conditions = [{"limit": "1", "down.limit": "5"}, {"limit": "1", "down.limit": "6"}]
    labels = label_trials([entry_of(one, spec_of("pie")) for one in conditions])
    assert [label.queue for label in labels] == ["pie down.limit=5", "pie down.limit=6"]


def entry(name, seed, condition="a", **conditions):
    """The entry of a trial in a manifest. The digest of its condition repeats `condition`."""
    return entry_of(conditions, spec_of("pie", seed=seed), name, condition=condition * 16)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (entry("two", 2, s="B"), "their conditions"),
        (entry("two", 2, "b", s="A"), "what was run"),
        (entry("two", 1, s="A"), "both have the seed 1"),
        (structs.replace(entry("two", 2, s="A"), engine="kernel"), "their engines"),
    ],
)
def test_trials_that_are_no_seeds_of_one_condition_are_never_grouped(other, named):
    trials = [entry("one", 1, s="A"), other]
    with pytest.raises(LabError) as caught:
        refuse_merged(trials, [Label("pie", "12/1", "")] * 2)
    assert "`one`" in str(caught.value) and "`two`" in str(caught.value)
    assert named in str(caught.value)


def test_results_whose_labels_would_merge_conditions_are_refused(home_results, monkeypatch):
    monkeypatch.setattr(grouping, "label_trials", lambda all: [Label("pie", "", "")] * len(all))
    with pytest.raises(LabError, match="not repetitions of one condition"):
        load(home_results.path).verdicts  # noqa: B018


def test_a_step_with_a_key_of_its_own_is_a_condition_of_verdicts(tmp_path):
    scenario = tmp_path / "home.toml"
    scenario.write_text(
        'duration = "1 s"\npath.rate = "12/1 Mbit/s"\napps.p.kind = "ping"\n'
        "[vary]\ns = [{path.rtt = '10 ms'}, {path.rtt = '10 ms', apps.p.start = '500 ms'}]\n"
    )
    results = api.run(scenario, out=tmp_path / "out")
    assert [one.seeds for one in results.judged] == [1, 1]
    verdicts = results.table("verdicts")
    assert verdicts["p.start"].unique().sort(nulls_last=True).to_list() == ["500 ms", None]
