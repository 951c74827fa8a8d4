"""A selection of trials states only facts that hold for each trial, in any scenario."""

import pytest
from aqmlab import api
from aqmlab.base.failures import RequestError
from aqmlab.results import spans
from aqmlab.studies.papers.rfc7928.ellipses import seconds
from aqmlab.studies.selection import Selection, Source

HOME = 'path.rate = "4/1 Mbit/s"\napps.a = { kind = "bulk" }\n'


@pytest.fixture
def selected(tmp_path):
    """A function that runs scenarios and selects all of their trials."""

    def run(**scenarios):
        sources = []
        for name, text in scenarios.items():
            (tmp_path / f"{name}.toml").write_text(HOME + text, "utf-8")
            results = api.run(tmp_path / f"{name}.toml", out=tmp_path / name, jobs=1)
            wanted = frozenset(one.id for one in results.manifest.trials)
            sources.append(Source(tmp_path / name, wanted, name))
        return Selection(sources)

    return run


def test_each_scenarios_spans_and_kinds_are_its_own(selected):
    both = selected(
        one='duration = "2 s"\nmeasure.from = "1 s"',
        two='duration = "3 s"\napps.a = "off"\napps.b = { kind = "ping" }\n'.replace(
            'apps.a = "off"\n', ""
        ),
    )
    assert spans.measured_text(both.manifest) == "1 to 2 s or 0 to 3 s, which differs by trial"
    assert {(one.label.queue, one.app, one.kind) for one in both.judged} == {
        ("pfifo scenario=one", "a", "bulk"),
        ("pfifo scenario=two", "a", "bulk"),
        ("pfifo scenario=two", "b", "ping"),
    }


def test_a_limit_that_a_scenario_states_is_that_of_its_own_trials(selected):
    stated = 'duration = "2 s"\nreport.tolerances.a = "{} ms"'
    three = selected(one='duration = "2 s"', two=stated.format(7), three=stated.format(9))
    limits = {
        one.label.queue.partition("=")[2]: [
            check.good for check in one.findings if check.need == "round trips"
        ]
        for one in three.judged
    }
    assert limits == {"one": [], "two": [7.0], "three": [9.0]}


def test_a_condition_called_like_the_column_of_scenarios_is_refused(selected):
    loop = '[vary]\nScenario = [{ label = "A", path.rtt = "9 ms" }]'
    assert selected(one=f'duration = "1 s"\n{loop}').manifest.conditions == ("Scenario",)
    with pytest.raises(RequestError, match="condition `Scenario`: `scenario` is reserved"):
        selected(one=f'duration = "1 s"\n{loop}', two='duration = "1 s"')


def test_seconds_of_ellipses_are_those_that_their_own_trial_measured(selected):
    loop = '[vary]\nmeasure.from = ["1 s", "3 s"]\nduration = ["4 s", "5 s"]'
    found = seconds(selected(one=loop), ["a"])
    spans_s = found.group_by("measure.from", "duration", maintain_order=True).agg("second").rows()
    assert {(start, end): list(map(int, own)) for start, end, own in spans_s} == {
        ("1 s", "4 s"): [1, 2, 3],
        ("1 s", "5 s"): [1, 2, 3, 4],
        ("3 s", "4 s"): [3],
        ("3 s", "5 s"): [3, 4],
    }
