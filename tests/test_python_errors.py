"""Errors of the Python interface name its arguments, not options of the command line."""

import itertools
import re
import traceback
from pathlib import Path

import aqmlab
import numpy as np
import polars as pl
import pytest
from aqmlab import Scenario, api
from aqmlab.scenario.notation import rate_pair
from aqmlab.scenario.seeds import spelled

HOME = {"path": {"rate": "12/1 Mbit/s"}, "apps": {"a": {"kind": "bulk"}}}


@pytest.mark.parametrize(
    ("given", "where", "hint"),
    [
        ({"path__rt": "20 ms"}, "path__rt: unknown key `rt`", "did you mean `rtt`?"),
        ({"path.rt": "20 ms"}, "path.rt: unknown key `rt`", "did you mean `rtt`?"),
        ({"path__rtt": "20"}, "path__rtt: `20` is not", 'write the unit, too: "20 ms"'),
        ({"path__rtt": ["1 ms", "1 ms"]}, "path__rtt[1]: `1 ms` is given twice", "use `seeds`"),
        ({"path__qdisc": ["pie", "codell"]}, "path__qdisc: unknown", "did you mean `codel`?"),
        ({"seed": 3}, "unknown parameter `seed`", "did you mean `seeds`?"),
        ({"seeds": "x"}, "seeds: `x`", "write how many"),
        ({"duration": "5"}, "duration: `5`", "write the unit"),
        ({"engine": "simm"}, "engine: unknown engine `simm`", "did you mean `sim`?"),
        ({"engine": "kernel", "qdisc_source": "x"}, "qdisc_source: unknown", "kernel, sim"),
        ({"engine": "kernel", "run_on": "x"}, "run_on: unknown", "host, vm"),
        ({"apps__uplod__start": "2 s"}, "apps__uplod__start: unknown", "`Scenario.but(apps=…)`"),
    ],
)
def test_an_error_of_a_call_names_its_argument(given, where, hint):
    with pytest.raises((aqmlab.ScenarioError, aqmlab.LabError)) as caught:
        aqmlab.run("bufferbloat", **given)
    assert str(caught.value).startswith(where)
    assert hint in caught.value.hint
    assert not re.search(r"--[a-z]|\[path\]|\[apps", str(caught.value))


@pytest.mark.parametrize(
    ("given", "where", "hint"),
    [
        ({"path": {"rt": "3"}}, 'Scenario(path={"rt": …}): unknown key', "did you mean `rtt`?"),
        ({"path": None}, "Scenario(path=…): ", None),
        ({"paths": {}}, "Scenario(paths=…): unknown key", "did you mean `path`?"),
        ({"apps": {}}, "Scenario(apps=…): no application", 'apps={"upload": {"kind": "bulk"}}'),
        ({"apps": {"a": {"kind": "x"}}}, 'Scenario(apps={"a": {"kind": …}}): unknown', "bulk"),
        ({"rate": "1 Mbit/s"}, "Scenario(rate=…): unknown key", "in the dictionary `path`"),
    ],
)
def test_an_error_of_a_scenario_names_its_member(given, where, hint):
    with pytest.raises(aqmlab.ScenarioError) as caught:
        Scenario(**{**HOME, **given})
    assert str(caught.value).startswith(where)
    assert hint is None or hint in caught.value.hint
    assert type(caught.value) is aqmlab.ScenarioError


def test_a_missing_member_is_asked_for_in_python():
    with pytest.raises(aqmlab.ScenarioError) as caught:
        Scenario(apps={"a": {"kind": "bulk"}})
    assert caught.value.hint == 'add path={"rate": "12/1 Mbit/s", "rtt": "40 ms"}'


def test_a_folder_of_another_campaign_asks_for_another_argument(tmp_path):
    aqmlab.run(Scenario(**HOME, duration="1 s"), out=tmp_path)
    with pytest.raises(aqmlab.LabError) as caught:
        aqmlab.run(Scenario(**HOME, duration="2 s"), out=tmp_path)
    assert "`out=`" in caught.value.hint
    with pytest.raises(aqmlab.LabError, match=r"aqmlab\.run\(scenario, out=folder\)"):
        aqmlab.load(tmp_path / "other")


def test_errors_of_files_keep_the_words_of_files(tmp_path):
    (tmp_path / "home.toml").write_text('path.rate = "1/1 Mbit/s"\npath.rt = "1 ms"\n[apps.a]\n')
    with pytest.raises(aqmlab.ScenarioError, match=r"home\.toml:2: path\.rt: unknown key `rt`"):
        aqmlab.run(tmp_path / "home.toml")


@pytest.mark.parametrize(
    ("scenario", "given", "said"),
    [
        (None, {}, "scenario: `None` is not a scenario"),
        ({"path": {}}, {}, "scenario: `{path = {}}` is not a scenario"),
        ("bufferbloat", {"progress": 3}, "progress: `3` does not report progress"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(scenario, given, said):
    with pytest.raises(aqmlab.LabError) as caught:
        aqmlab.run(scenario, **given)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"path_qdisc": "pie"}, "did you mean `path__qdisc`?"),
        ({"path.qdis": "pie"}, "did you mean `qdisc`?"),
        ({"path__qdisc": []}, 'write a list of values, such as ["A", "B"]'),
    ],
)
def test_a_hint_is_written_as_an_argument(given, hint):
    with pytest.raises(aqmlab.ScenarioError) as caught:
        aqmlab.run("bufferbloat", **given)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("made", "problem", "hint"),
    [
        (lambda: rate_pair("12/1 MB/s"), "`12 MB/s` counts bytes", "rates are in bits"),
        (lambda: rate_pair("12 Mbit/s / 1"), "`1` is not a rate", "write the unit"),
        (lambda: aqmlab.Duration("30 s"), "not a whole number", 'write Duration.parse("30 s")'),
        (lambda: aqmlab.Rate("5 Mbit/s"), "not a whole number", 'Rate.parse("5 Mbit/s")'),
        (lambda: aqmlab.Share("5 %"), "not a float", 'Share.parse("5 %")'),
        (lambda: Scenario.from_toml("home.toml"), "not the text of", "pass the file's text"),
        (lambda: Scenario.from_toml(Path("home.toml")), "not the text of", "pass the file's text"),
        (lambda: aqmlab.Household.from_toml("home.toml"), "not the text of", "pass the file's"),
        (lambda: Scenario(**{**HOME, "apps": {"g": "game"}}), "is not", '{"kind": "game"}'),
        (lambda: Scenario(**{**HOME, "apps": {"g": 3}}), "is not", '{"kind": "bulk", …}'),
        (
            lambda: aqmlab.run("bufferbloat", engine="ns3"),
            "unknown engine",
            "there are kernel, sim",
        ),
    ],
)
def test_a_slip_of_python_gets_its_hint(made, problem, hint):
    with pytest.raises((ValueError, aqmlab.LabError)) as caught:
        made()
    assert problem in caught.value.problem
    assert hint in caught.value.hint


def test_every_error_of_the_package_is_a_lab_error():
    with pytest.raises(aqmlab.LabError, match="unknown"):
        aqmlab.run("bufferbloat", path__qdisc="codell")
    for name in ("ScenarioError", "RequestError", "MissingError", "TrialsError"):
        assert issubclass(getattr(aqmlab, name), aqmlab.LabError)
    assert issubclass(aqmlab.ScenarioError, ValueError)
    with pytest.raises(aqmlab.RequestError, match="jobs"):
        aqmlab.run("bufferbloat", jobs=0)


@pytest.mark.parametrize(
    "values",
    [
        np.array([5, 10]),
        pl.Series([5, 10]),
        range(5, 11, 5),
        (five for five in (5, 10)),
        [np.int64(5), np.float64(10.0)],
    ],
)
def test_values_come_from_anything_that_lists_them(values):
    sets, (vary,) = api._changes({"path__wifi__mcs": values})
    assert sets == ()
    assert vary.values == (5, 10)
    assert {type(one) for one in vary.values} <= {int, float}


def test_seeds_come_from_anything_that_lists_them():
    assert spelled(np.array([3, 4])) == spelled(seed for seed in (3, 4)) == "3-4"
    assert spelled(itertools.chain([7], [9])) == "7,9"
    for wrong in ({1, 2}, [1.5], itertools.count(), {1: 2}, [True]):
        with pytest.raises(ValueError, match="seeds"):
            spelled(wrong)


def test_progress_is_printed_on_request(tmp_path, capsys):
    made = aqmlab.run("bufferbloat", duration="2 s", seeds=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    count = len(made.manifest.trials)
    assert lines[0] == f"0/{count} trials"
    assert lines[-1] == f"{count}/{count} trials"
    made.report(tmp_path / "report.html", progress=True)
    assert re.match(r"drawing \w+, 1 of \d+ figures", capsys.readouterr().err)
    assert aqmlab.run("bufferbloat", duration="2 s", progress=False).complete
    assert capsys.readouterr().err == ""


def test_verdicts_are_compared_with_the_condition_that_the_caller_names():
    made = aqmlab.run("bufferbloat", duration="5 s", path__qdisc=["pfifo", "fq_codel"])
    first, second = (
        made.verdicts_against(name).filter(pl.col("difference").is_not_null())
        for name in ("pfifo", "fq_codel")
    )
    assert made.verdicts.equals(made.verdicts_against("pfifo"))
    assert set(first["qdisc"]) == {"fq_codel"} and set(second["qdisc"]) == {"pfifo"}
    assert first["difference"].to_list() == [-one for one in second["difference"]]
    told = [one["verdicts"] for one in made.to_json("fq_codel")]
    told_needs = [[need for one in own.values() for need in one["needs"]] for own in told]
    assert [any(need["difference"] for need in own) for own in told_needs] == [True, False]
    for ask in (made.verdicts_against, made.to_json):
        with pytest.raises(aqmlab.RequestError, match=r"^baseline: unknown condition `pie`"):
            ask("pie")


def test_an_unknown_attribute_has_one_suggestion():
    made = aqmlab.run("bufferbloat", duration="2 s")
    for owner, name, meant in ((aqmlab, "reprodce", "reproduce"), (made, "flow", "flows")):
        with pytest.raises(AttributeError) as caught:
            getattr(owner, name)
        [text] = traceback.format_exception_only(caught.value)
        assert text.count(meant) == 1


def test_completion_offers_tables_and_no_inner_names():
    made = aqmlab.run("bufferbloat", duration="2 s")
    names = set(dir(made))
    assert {"flows", "verdicts", "figure", "report"} <= names
    assert not names & {"by_chunk", "memo", "narrowed", "in_files"}
    assert set(dir(aqmlab)) == set(aqmlab.__all__)


def test_a_value_that_is_set_says_that_it_is_immutable():
    with pytest.raises(AttributeError, match=r"`duration` cannot be set.*`\.but\(\)`"):
        Scenario(**HOME).duration = "5 s"


def test_a_scenario_is_represented_by_what_was_stated():
    shown = repr(Scenario(**HOME))
    assert "12000000" in shown and "bulk" in shown
    assert "jitter" not in shown and "measure" not in shown


def test_an_unknown_name_of_the_package_is_suggested():
    with pytest.raises(AttributeError, match="did you mean `Scenario`"):
        aqmlab.scenari  # noqa: B018


def test_seeds_are_also_a_range_or_an_integer_of_numpy():
    assert spelled(range(2, 4)) == "2-3"
    assert spelled(np.int64(4)) == 4
    with pytest.raises(ValueError, match="not between 1 and"):
        spelled(range(10**12))


def test_results_suggest_a_table_and_a_folder_suggests_its_campaign(tmp_path):
    made = aqmlab.run("bufferbloat", duration="2 s", seeds=range(1, 2), out=tmp_path / "one")
    assert "1 trial," in repr(aqmlab.run("bufferbloat", duration="2 s", path__qdisc="pie"))
    with pytest.raises(AttributeError, match="did you mean `flows`"):
        made.flow  # noqa: B018
    with pytest.raises(aqmlab.LabError) as caught:
        aqmlab.load(tmp_path)
    assert str(tmp_path / "one") in caught.value.hint
    (tmp_path / "study").mkdir()
    (tmp_path / "one").rename(tmp_path / "study" / "one")
    with pytest.raises(aqmlab.LabError) as caught:
        aqmlab.load(tmp_path)
    assert str(tmp_path / "study" / "one") in caught.value.hint
