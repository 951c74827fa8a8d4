import json
import os
import re
from pathlib import Path

import aqmlab
import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import DiskError
from aqmlab.cli import COMMANDS, console, status_of
from support.processes import run_python


def test_help_is_light(home):
    code = (
        "import sys; from aqmlab.cli import status_of\n"
        "assert status_of(['--help']) == 0\n"
        "heavy = {'polars', 'pyarrow', 'matplotlib', 'pydantic', 'numpy', 'jinja2'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    shown = run_python(code)
    for name in COMMANDS:
        assert re.search(rf"^\W*{name}\b", shown, re.MULTILINE), name


def test_version(home, capsys):
    assert status_of(["--version"]) == 0
    assert capsys.readouterr().out == f"aqmlab {aqmlab.__version__}\n"


def test_run_prints_a_table_and_writes_a_report(home, capsys):
    assert status_of(["run", "home.toml", "--seeds", "2", "--out", "out"]) == 0
    shown = capsys.readouterr()
    assert "pfifo 12/1" in shown.out and "fq_codel 12/1" in shown.out
    assert "opinion score" in shown.out and "bad" in shown.out and "good" in shown.out
    assert "\x1b" not in shown.out
    assert re.search(r"digest: [0-9a-f]{16}\n", shown.err) and "folder: out\n" in shown.err
    assert (home / "out" / "report.html").is_file()


def test_the_drawing_of_figures_is_told_of(home, capsys):
    text = (home / "home.toml").read_text()
    chosen = text + '[report]\nfigures = ["rtt_time", "throughput"]\n'
    (home / "home.toml").write_text(chosen)
    assert status_of(["run", "home.toml", "--out", "out"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "figures" in line]
    assert told == ["1/2 figures drawn", "2/2 figures drawn"]
    assert status_of(["report", "out"]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == told and shown.out == "out/report.html\n"


def test_one_trial_and_one_figure_are_named_in_the_singular(home, capsys):
    one = ["run", "home.toml", "--vary", "path.qdisc=pfifo", "--seeds", "1", "--out", "out"]
    text = (home / "home.toml").read_text()
    (home / "home.toml").write_text(text + '[report]\nfigures = ["throughput"]\n')
    assert status_of(one) == 0
    said = capsys.readouterr().err
    assert "1/1 trial\n" in said and "1/1 figure drawn\n" in said and "trials: 1 (1 seed)\n" in said
    assert re.search("time: .* s for 1 trial\n", said), said
    assert "1 of 1 trial · 1 seed ·" in Path("out/report.html").read_text("utf-8")


def test_one_figure_is_drawn_without_the_report(home, capsys):
    assert status_of(["run", "home.toml", "--no-report", "--out", "out"]) == 0
    capsys.readouterr()
    assert status_of(["report", "out", "--figure", "cwnd_time", "--figure", "rtt_time"]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["1/2 figures drawn", "2/2 figures drawn"]
    paths = [Path(line) for line in shown.out.splitlines()]
    assert {path.parent for path in paths} == {Path("out/figures")}
    assert {path.suffix for path in paths} == {".png", ".svg"}
    assert all((home / path).stat().st_size > 1_000 for path in paths)
    assert not (home / "out" / "report.html").exists()


def test_who_gets_what_it_needs_is_counted_for_each_condition(home, capsys):
    assert status_of(["run", "home.toml", "--no-report", "--out", "out", "--brief"]) == 0
    head, _, fifo, fair = capsys.readouterr().out.splitlines()
    assert head.split() == ["condition", "good", "tolerable", "bad", "closest", "not", "good"]
    assert fifo.split()[:5] == ["pfifo", "12/1", "1", "0", "1"] and fifo.rstrip().endswith("  call")
    assert "call: opinion score 1 < 3.6" in fifo
    assert fair.split()[:5] == ["fq_codel", "12/1", "2", "0", "0"]
    assert fair.rstrip().endswith(" % to spare")
    assert status_of(["show", "out"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == fair


def test_a_camera_beside_the_calls_is_counted_too(home, capsys):
    camera = '[apps.camera]\nkind = "cbr"\ndirection = "down"\nrate = "1 Mbit/s"\n'
    text = (home / "home.toml").read_text()
    (home / "home.toml").write_text(text.replace("[vary]", f"{camera}\n[vary]"))
    assert status_of(["run", "home.toml", "--no-report", "--out", "out", "--brief"]) == 0
    _, _, fifo, fair = capsys.readouterr().out.splitlines()
    assert fifo.split()[:5] == ["pfifo", "12/1", "2", "0", "1"]
    assert fair.split()[:5] == ["fq_codel", "12/1", "3", "0", "0"]


def test_no_command_is_answered_with_help(capsys):
    assert status_of([]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("Usage: ") and "error" not in shown.err


def test_json_on_standard_output_is_nothing_but_json(home, capsys):
    assert status_of(["run", "home.toml", "--json", "--no-report", "--set", "path.rtt=20 ms"]) == 0
    shown = capsys.readouterr()
    trials = json.loads(shown.out)
    assert [trial["conditions"] for trial in trials] == [{"qdisc": "pfifo"}, {"qdisc": "fq_codel"}]
    assert all(re.fullmatch("[0-9a-f]{16}", trial["digest"]) for trial in trials)
    call = next(one for one in trials[1]["flows"] if one["name"] == "call")
    assert call["rtt_base_ms"] == 20.0 and call["app"]["mos_up"] > 4
    (folder,) = (home / "results").iterdir()
    assert re.fullmatch("home-[0-9a-f]{8}", folder.name)

    assert status_of(["show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == trials


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["run", "hom.toml"], "hom.toml: cannot be read: no such file or directory", "`home.toml`"),
        (["run", "home.tml"], "home.tml: there is no such scenario", "`home.toml`"),
        (["run", "."], ".: is a folder, not a scenario", "name a file in it, such as `home.toml`"),
        (["run"], "Missing argument", "run [OPTIONS]"),
        (["run", "home.toml", "--colour"], "No such option: --colour", ""),
        (["run", "home.toml", "--set", "path.qdisc=fq_code"], "`fq_code`", "`fq_codel`"),
        (["run", "home.toml", "--engine", "warp"], "unknown engine `warp`", "sim"),
        (["run", "home.toml", "--engine", "sim, sim"], "`sim` is given twice", "once"),
        (["run", "home.toml", "--json", "--dry-run"], "`--json` has no results", "leave one"),
        (["run", "home.toml", "--set", "path.rtt=true"], "`true` is not a duration", "40 ms"),
        (["run", "home.toml", "--set", "path.rtt={a=1}"], "`{a = 1}` is not a duration", "40 ms"),
        (["run", "home.toml", "--set", "path.qdisc=pie limit=1 limit=2"], "given twice", "once"),
        (["query", ".", "--memory", "1B"], "1B: not a size from 1KB to 999999TB", "4GB"),
        (["query", ".", "--memory", "9999999TB"], "not a size from 1KB to 999999TB", "4GB"),
        (["lst"], "unknown command `lst`", "did you mean `list` or `cluster`?"),
        (["traces"], "unknown command `traces`", "there are advise, "),
        (["it's"], "unknown command `it's`", "there are advise, "),
        (["x" * 100], f"unknown command `{'x' * 59}…`", "there are advise, "),
        (["pcap", "home.toml", "--name", "c/"], "c/: is a folder; add the beginning", "pcap"),
        (["run", "home.toml", "--jobs", "0"], "--jobs", ""),
        (["run", "home.toml", "--seeds", "none"], "--seeds", ""),
        (["list", "appz"], "unknown topic `appz`", "`apps`"),
        (["show", "."], "not the folder of a campaign", "aqmlab run"),
        (["report", "nowhere"], "nowhere", "aqmlab run"),
        (["report", ".", "--figure", "rtt_tim"], "unknown figure `rtt_tim`", "`rtt_time`"),
        (["report", ".", "--figure", "dash", "--all-figures"], "no report is written", "leave"),
        (["report", ".", "--figure", "dash", "--out", "a.html"], "`--out` has no effect", "leave"),
        (["pcap", "home.toml", "--trial", "x"], "unknown trial `x`", "qdisc=pfifo"),
        (["spp", "a.pcap", "home.toml"], "a.pcap: there is no such file", ""),
        (["spp", "home.toml", "home.toml"], "home.toml: is not a capture: it is text", "pcapng"),
        (["pcap", "home.toml", "--trial", "qdisc=fq_codel"], "", "`qdisc=fq_codel,seed=1` matches"),
        (["show", "home.toml"], "home.toml: is a scenario, not the", "`aqmlab run home.toml`"),
        (["query", "home.toml", "SELECT 1"], "is a scenario, not the folder", "`aqmlab run"),
    ],
)
def test_a_wrong_request_ends_with_a_sentence_and_status_2(home, capsys, arguments, message, hint):
    assert status_of(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "Traceback" not in shown.err
    assert shown.err.startswith("error: ")
    problem, _, rest = shown.err.partition("\n\nhint: ")
    assert message in problem and hint in rest


PLACES = [
    ["run", "home.toml", "--out", "PLACE"],
    ["report", "PLACE"],
    ["report", "home", "--out", "PLACE"],
    ["show", "PLACE"],
    ["query", "PLACE"],
    ["query", "home", "SELECT 1", "--out", "PLACE"],
    ["export", "PLACE", "--csv"],
    ["export", "home", "--csv", "--out", "PLACE"],
    ["reproduce", "kua2017", "--dry-run", "--out", "PLACE"],
    ["claims", "kua2017", "--dry-run", "--out", "PLACE"],
    ["pcap", "PLACE"],
    ["pcap", "home.toml", "--name", "PLACE"],
    ["spp", "home.toml", "PLACE"],
    ["demo", "--out", "PLACE"],
    ["validate", "--reference", "PLACE"],
    ["validate", "--report", "PLACE"],
]


@pytest.mark.parametrize(
    ("name", "problem"),
    [("", "empty; give a name (`.` is the current folder)"), ("x" * 300, "…: file name too long")],
    ids=["empty", "long"],
)
@pytest.mark.parametrize("arguments", PLACES, ids=" ".join)
def test_a_name_that_no_file_can_have_is_refused(home, capsys, arguments, name, problem):
    before = sorted(home.iterdir())
    assert status_of([name if word == "PLACE" else word for word in arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("error: Invalid value")
    assert problem in shown.err
    assert sorted(home.iterdir()) == before


def test_programs_are_told_of_such_a_name_too(home):
    with pytest.raises(DiskError, match="cannot be written: File name too long"):
        aqmlab.run("home.toml", out="x" * 300)


def test_a_traceback_is_shown_when_asked_for(home, monkeypatch):
    monkeypatch.setenv("AQMLAB_TRACEBACK", "1")
    with pytest.raises(ScenarioError):
        status_of(["run", "hom.toml"])


@pytest.mark.parametrize("topic", ["disciplines", "tcp", "apps", "profiles", "scenarios"])
def test_lists_name_everything_with_its_parameters(home, capsys, topic):
    assert status_of(["list", topic, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert status_of(["list", topic]) == 0
    text = capsys.readouterr().out
    assert len(entries) >= 3
    for entry in entries:
        assert re.search(rf"^  {entry['name']}\b", text, re.MULTILINE)
        for param in entry.get("params", ()):
            assert f"{param['name']}" in text and param["doc"] in text
        if topic != "scenarios":
            assert f"source: {entry['source']}" in text


@pytest.mark.parametrize("topic", ["scenarios", "households"])
def test_a_list_of_single_lines_has_no_empty_lines(capsys, topic):
    assert status_of(["list", topic]) == 0
    said = capsys.readouterr().out
    assert said.endswith("\n") and len(said.splitlines()) > 5
    assert all(line.strip() for line in said.splitlines())
    assert status_of(["list", "studies"]) == 0
    assert "\n\n  boerlage2016 " in capsys.readouterr().out


def test_a_list_of_everything_has_one_line_for_each_entry(home, capsys):
    assert status_of(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert status_of(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 120
    for topic, entries in found.items():
        start = lines.index(topic) + 1
        own = lines[start : start + len(entries) + 1]
        assert [line.split()[0] for line in own if line] == [one["name"] for one in entries]
        assert own[-1] == ""
    assert "aqmlab list TOPIC NAME" in lines[-1]


def test_one_entry_is_listed_alone(home, capsys):
    assert status_of(["list", "disciplines", "pie"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("  pie ") and "tupdate" in shown and "codel" not in shown
    assert status_of(["list", "disciplines", "pei"]) == 2
    assert "did you mean `pie`?" in capsys.readouterr().err


def test_names_between_colons_are_no_emoji(capsys):
    console.stdout().print("a:smile:b")
    console.stderr().print("a:smile:b")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a:smile:b\n", "a:smile:b\n")


def test_a_trial_in_which_nothing_is_sent_is_shown(home, capsys):
    late = ["--set", "apps.upload.start=1 min", "--set", "apps.call.start=1 min"]
    assert status_of(["run", "home.toml", "--out", "out", "--no-report", *late]) == 0
    assert "condition" in capsys.readouterr().out


def test_the_report_does_not_replace_a_device(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report"]) == 0
    os.mkfifo(home / "pipe")
    assert status_of(["report", "out", "--out", "pipe"]) == 2
    assert "pipe: cannot be written: it is a pipe or a device" in capsys.readouterr().err
    assert (home / "pipe").is_fifo()


def test_schema_is_json(home, capsys):
    assert status_of(["schema"]) == 0
    assert "properties" in json.loads(capsys.readouterr().out)


def test_python_programs_get_tables(home):
    results = aqmlab.run("home.toml", seeds=2, jobs=2, path__qdisc=["pfifo", "codel"])
    assert results.complete and len(results.trials) == 4
    assert results.trials["qdisc"].unique(maintain_order=True).to_list() == ["pfifo", "codel"]
    assert not (home / "results").exists()
    kept = aqmlab.run("home.toml", duration="2 s", out="kept", **{"path.rtt": "10 ms"})
    assert aqmlab.load("kept").digest == kept.digest
    assert (kept.flows["rtt_base_ms"] == 10).all()
