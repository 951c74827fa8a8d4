"""Every error of a scenario names its file and line, or its option."""

import os
import re
import tomllib

import pytest
from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.base.failures import RequestError
from aqmlab.cli import status_of
from aqmlab.planning import planner
from aqmlab.scenario import (
    applications,
    catalogue,
    links,
    merge,
    model,
    notation,
    number_text,
    parameters,
    wifi,
)
from aqmlab.scenario.quantities import Duration, Rate, Size
from support import changes as changes_of

BASE = (
    ("duration", '"3 s"'),
    ("path.down.rate", '"12 Mbit/s"'),
    ("path.up.rate", '"1 Mbit/s"'),
    ("path.down.qdisc.kind", '"fq_codel"'),
    ("path.up.qdisc.kind", '"pfifo"'),
    ("hosts.home.cc", '"cubic"'),
    ("apps.up.kind", '"bulk"'),
)
WAYS = tuple(links.Link.model_fields)
OVERHEAD = ("bytes", "minimum", "atm", "counted")


def _keys():
    yield from model.Scenario.model_fields
    yield from (f"path.{key}" for key in (*model.Path.model_fields, *WAYS))
    for way in ("path.down", "path.up", "path.modem", "path.modem.up"):
        yield from (f"{way}.{key}" for key in WAYS)
        yield from (f"{way}.overhead.{key}" for key in OVERHEAD)
    yield from (f"path.wifi.{key}" for key in wifi.Wifi.model_fields)
    fields = model.Measure.model_fields.items()
    yield from (f"measure.{field.alias or name}" for name, field in fields)
    yield from ("report.figures", "report.tolerances.up", "report.rates.up", "report.notes")
    yield from (f"defaults.{key}" for key in applications.Timing.model_fields)
    yield from (f"apps.up.{key}" for key in applications.App.model_fields)
    yield from (f"hosts.home.{key}" for key in applications.Host.model_fields)
    known = catalogue.load()
    for family, name, place in (
        ("apps", "bulk", "apps.up"),
        ("disciplines", "fq_codel", "path.down.qdisc"),
        ("profiles", "linux", "hosts.home"),
    ):
        yield from (f"{place}.{key}" for key in known[family][name].params)
    yield "extends"


VALUES = ("1500000000000", "9" * 30, '"1e9 s"', '"1٣"', "[]", "{a=1}", f'"{"a" * 5_000}"')
TO_SET = VALUES[:3]


def _refusal(load):
    """The message of the refusal; `None` if `load` refuses nothing."""
    try:
        load()
    except ScenarioError as error:
        return str(error)
    return None


def _is_readable(message):
    problem = message.partition("\n\nhint: ")[0]
    assert "\n" not in problem and len(message) < 1_500, message
    assert not re.search(r"expected [ui]\d+|column|serde|update sequence|not iterable", problem)
    return True


def _scenario(key, value):
    """BASE with an additional member, which replaces conflicting members."""
    lines = [
        f"{own} = {said}"
        for own, said in BASE
        if not (own == key or own.startswith(f"{key}.") or key.startswith(f"{own}."))
    ]
    return "\n".join([*lines, f"{key} = {value}"]) + "\n"


@pytest.mark.parametrize("key", dict.fromkeys(_keys()))
def test_each_refusal_of_a_file_names_file_and_line_and_of_an_option_the_option(key, tmp_path):
    path, good = tmp_path / "home.toml", tmp_path / "good.toml"
    good.write_text(_scenario("seeds", "1"))
    for value in VALUES:
        text = _scenario(key, value)
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        path.write_text(text)
        said = _refusal(lambda: planner.load(path))
        assert said is None or (re.match(r"home\.toml:\d+: ", said) and _is_readable(said)), said
    for value in TO_SET:
        said = _refusal(lambda value=value: changes_of.load(good, sets=[f"{key}={value}"]))
        assert said is None or (said.startswith("--set: ") and _is_readable(said)), said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path.overhead.bytes = 1500000000000", "home.toml:1: path.overhead.bytes: `1500000000000`"
         " is not a whole number between 0 and 4294967295"),
        ("path.overhead.bytes = 65536", "home.toml:1: path.overhead.bytes: `65536` is not between 0"
         " and 65535 bytes"),
        ('hosts.home.mtu = "100 GB"', "home.toml:1: hosts.home.mtu: `100000000000` is not a whole"),
        ("apps.up.params = 1", "home.toml:1: apps.up.params: `1` is not a table"),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused_where_they_stand(tmp_path, text, message):
    path = tmp_path / "home.toml"
    rest = ('path.rate = "1/1 Mbit/s"', 'apps.up.kind = "bulk"', 'apps.up.home = "home"',
            'hosts.home.cc = "cubic"')  # fmt: skip
    path.write_text("\n".join((text, *rest)))
    assert _refusal(lambda: planner.load(path)).startswith(message)


def test_what_is_nowhere_written_is_refused_at_what_it_must_fit_or_at_the_first_line():
    layer = merge.from_toml('title = "x"\nduration = "1 s"\n', "home.toml")
    assert layer.where(("measure", "step")) == "home.toml:2: measure.step"
    assert layer.where(("path", "rtt")) == "home.toml:1: path.rtt"


@pytest.mark.parametrize("value", ["٣ ms", "1٣ ms", "３ ms", "1.٣ ms", "1e٣ ms"])
def test_digits_of_other_scripts_are_no_numbers(value):
    for read in (Duration.parse, parameters.duration_or_off):
        assert "is not a duration" in _words(read, value)
    for read, unit in (
        (Size.parse, "B"),
        (Rate.parse, "bit/s"),
        (notation.rate_pair, "Mbit/s"),
    ):
        assert "is not a" in _words(read, value.replace("ms", unit))
    for read in (number_text.count, number_text.number, wifi._rates):
        assert "is not a" in _words(read, value.removesuffix(" ms"))


def _words(read, value):
    with pytest.raises(ValueError) as caught:
        read(value)
    return caught.value.problem


def test_names_without_end_are_cut_in_every_error():
    name = "a" * 5_000
    for error in (
        ScenarioError("x", f"`{name}`", f"`{name}`"),
        BadValueError(f"`{name}`", f"`{name}`").at("x"),
        RequestError(f"`{name}`", f"`{name}`"),
    ):
        assert len(str(error)) < 700 and error.problem.endswith("…`") and error.hint[-2:] == "…`"


def test_an_absent_file_is_not_taken_for_one_with_the_same_suffix(tmp_path) -> None:
    for name in ("q.toml", "first.toml"):
        (tmp_path / name).write_text("")
    for name, meant in (("zebra.toml", None), ("frist.toml", "first.toml")):
        with pytest.raises(ScenarioError) as refused:
            planner.load(tmp_path / name)
        hint = None if meant is None else f"did you mean `{tmp_path / meant}`?"
        assert refused.value.hint == hint


def test_a_wrong_name_is_refused_before_a_demonstration_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("aqmlab.cli.run.execute", lambda *_: pytest.fail("a demonstration ran"))
    assert status_of(["demo", "nope", "--out", str(tmp_path)]) == 2
    assert "nope" in capsys.readouterr().err


def test_an_empty_name_of_a_scenario_is_called_empty(capsys):
    assert status_of(["run", ""]) == 2
    assert capsys.readouterr().err.startswith("error: the name of the scenario is empty\n")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_capture_that_is_no_regular_file_is_called_so(tmp_path, capsys, make):
    make(tmp_path / "a.pcap")
    assert status_of(["spp", str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")]) == 2
    assert f"error: {tmp_path / 'a.pcap'}: it is not a regular file\n" in capsys.readouterr().err
    assert status_of(["spp", str(tmp_path / "b.pcap"), str(tmp_path / "a.pcap")]) == 2
    assert f"error: {tmp_path / 'b.pcap'}: there is no such file\n" in capsys.readouterr().err


def test_a_number_with_too_many_digits_is_refused_without_advice_on_python(tmp_path, capsys):
    (tmp_path / "a.toml").write_text(f"title = 'a'\nseed = {'9' * 9000}\n\n[path]\n")
    assert status_of(["run", str(tmp_path / "a.toml"), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "a.toml:2: this is not TOML: a number has 9000 digits; the limit is 4300\n" in said


@pytest.mark.parametrize("jobs", ["0", "-1", "x", "1.5", "1e3", "9999999999"])
def test_a_wrong_number_of_jobs_is_refused_with_what_is_allowed(jobs, capsys):
    assert status_of(["run", "bufferbloat", "--jobs", jobs]) == 2
    problem = f"'--jobs': `{jobs}` is not a whole number from 1 to 999999999\n"
    assert problem in capsys.readouterr().err
