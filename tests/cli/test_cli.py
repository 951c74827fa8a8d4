import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from io import StringIO
from pathlib import Path

import aqmlab
import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import DiskError
from aqmlab.cli import COMMANDS, console, spp, status_of
from rich.console import Console

SCENARIO = """
title = "Two flows"
duration = "4 s"

[path]
rate = "12/1 Mbit/s"
rtt = "40 ms"

[apps.upload]
kind = "bulk"
direction = "up"

[apps.call]
kind = "voip"

[vary]
path.qdisc = ["pfifo", "fq_codel"]
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A scenario file in the working folder of the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "home.toml").write_text(SCENARIO)
    return tmp_path


def in_a_process(*arguments, **more):
    package = Path(aqmlab.__file__).parent.parent
    command = [sys.executable, "-m", "aqmlab", *arguments]
    env = {**os.environ, "PYTHONPATH": str(package), "NO_COLOR": "1"}
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_help_is_light(home):
    code = (
        "import sys; from aqmlab.cli import status_of\n"
        "assert status_of(['--help']) == 0\n"
        "heavy = {'polars', 'pyarrow', 'matplotlib', 'pydantic', 'numpy', 'jinja2'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    package = Path(aqmlab.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert re.search(rf"^\W*{name}\b", done.stdout, re.MULTILINE), name


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
    chosen = SCENARIO + '[report]\nfigures = ["rtt_time", "throughput"]\n'
    (home / "home.toml").write_text(chosen)
    assert status_of(["run", "home.toml", "--out", "out"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "figures" in line]
    assert told == ["1/2 figures drawn", "2/2 figures drawn"]
    assert status_of(["report", "out"]) == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == told and shown.out == "out/report.html\n"


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
    (home / "home.toml").write_text(SCENARIO.replace("[vary]", f"{camera}\n[vary]"))
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
        (["run", "home.toml", "--jobs", "0"], "--jobs", ""),
        (["run", "home.toml", "--seeds", "none"], "--seeds", ""),
        (["list", "appz"], "unknown topic `appz`", "`apps`"),
        (["show", "."], "not the folder of a campaign", "aqmlab run"),
        (["report", "nowhere"], "nowhere", "aqmlab run"),
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


def test_captures_of_a_trial_give_its_round_trips_again(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report", "--json"]) == 0
    trial = json.loads(capsys.readouterr().out)[1]
    (one,) = [
        flow for flow in trial["flows"] if (flow["name"], flow["direction"]) == ("call", "up")
    ]
    names = []
    for source, name in (("out", "a"), ("home.toml", "b")):
        assert status_of(["pcap", source, "--trial", trial["id"], "--name", name]) == 0
        names.append(capsys.readouterr().out.split())
    assert names == [["a-home.pcap", "a-wan.pcap"], ["b-home.pcap", "b-wan.pcap"]]
    for end in ("home", "wan"):
        assert (home / f"a-{end}.pcap").read_bytes() == (home / f"b-{end}.pcap").read_bytes()

    assert status_of(["pcap", "home.toml", "--name", "c"]) == 0
    assert "trial: qdisc=pfifo,seed=1, the first of 2; --trial" in capsys.readouterr().err

    assert status_of(["spp", *names[0]]) == 0
    shown = capsys.readouterr().out
    assert "RTT p5" in shown and "UDP" in shown and "TCP" in shown
    assert status_of(["spp", *names[0], "--json"]) == 0
    flows = json.loads(capsys.readouterr().out)["flows"]
    measured = [
        rtt
        for rtt, protocol in zip(flows["rtt_p50_ms"], flows["protocol"], strict=True)
        if protocol == "UDP"
    ]
    # A capture stores whole microseconds.
    assert any(rtt == pytest.approx(one["rtt_ms"]["p50"], rel=0.01) for rtt in measured)


@pytest.mark.parametrize("columns", [40, 60, 80, 140])
def test_round_trips_of_captures_are_shown_whole_in_any_terminal(monkeypatch, columns):
    flows = {
        "protocol": ["TCP"],
        "from": ["2001:db8:0:1::abcd:1234 port 61000"],
        "to": ["172.16.11.2 port 5201"],
        **{name: [1234567.0] for name, _ in spp._SHOWN[3:]},
    }
    text = StringIO()
    monkeypatch.setattr(console, "stdout", lambda: Console(file=text, width=columns))
    monkeypatch.setattr(console, "stderr", lambda: Console(file=StringIO()))
    spp._show({"flows": flows})
    shown = text.getvalue()
    assert shown.count("1234567") == len(spp._SHOWN) - 3
    for whole in ("TCP", "2001:db8:0:1::abcd:1234", "172.16.11.2", *dict(spp._SHOWN).values()):
        assert whole in shown, shown
    assert "…" not in shown


def test_names_between_colons_are_no_emoji(capsys):
    console.stdout().print("a:smile:b")
    console.stderr().print("a:smile:b")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a:smile:b\n", "a:smile:b\n")


def test_a_trial_in_which_nothing_is_sent_is_shown(home, capsys):
    late = ["--set", "apps.upload.start=1 min", "--set", "apps.call.start=1 min"]
    assert status_of(["run", "home.toml", "--out", "out", "--no-report", *late]) == 0
    assert "condition" in capsys.readouterr().out


def test_a_capture_that_cannot_be_written_is_named(home, capsys):
    assert status_of(["pcap", "home.toml", "--duration", "1 s", "--name", "no/such/x"]) == 2
    assert "error: no/such/x-home.pcap: cannot be written: " in capsys.readouterr().err


def test_captures_take_the_place_of_files_only(home, capsys):
    (home / "x-wan.pcap").mkdir()
    assert status_of(["pcap", "home.toml", "--duration", "1 s", "--name", "x"]) == 2
    assert "x-wan.pcap: cannot be written: it is a folder" in capsys.readouterr().err
    assert sorted(path.name for path in home.iterdir()) == ["home.toml", "x-wan.pcap"]


def test_the_report_does_not_replace_a_device(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report"]) == 0
    os.mkfifo(home / "pipe")
    assert status_of(["report", "out", "--out", "pipe"]) == 2
    assert "pipe: cannot be written: it is a pipe or a device" in capsys.readouterr().err
    assert (home / "pipe").is_fifo()


def test_a_finished_trial_cannot_be_changed(home, capsys):
    assert status_of(["run", "home.toml", "--out", "out", "--no-report"]) == 0
    capsys.readouterr()
    assert status_of(["pcap", "out", "--set", "path.rtt=1 ms"]) == 2
    assert "cannot be changed" in capsys.readouterr().err


def test_schema_is_json(home, capsys):
    assert status_of(["schema"]) == 0
    assert "properties" in json.loads(capsys.readouterr().out)


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(home):
    arguments = ["run", "home.toml", "--seeds", "40", "--duration", "20 s", "--no-report"]
    arguments += ["--set", "path.rate=50/10 Mbit/s", "--out", "out", "--jobs", "2"]
    process = in_a_process(*arguments, cwd=home, start_new_session=True)
    until = time.monotonic() + 60
    while len(list(home.glob("out/trials/*.zip"))) < 3:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # a terminal also signals all of its processes
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert errors.rstrip().endswith("hint: the same command continues from here")
    assert "Traceback" not in errors
    finished = len(list(home.glob("out/trials/*.zip")))
    assert 3 <= finished < 80
    assert not list(home.glob("out/trials/.*"))

    process = in_a_process(*arguments, cwd=home)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert f"{finished} of 80 trials were finished before" in errors


INTERRUPTED = """
import os, signal
from aqmlab import _core, cli
run = _core.run
def interrupted(*arguments, **more):
    os.kill(os.getpid(), signal.SIGINT)
    return run(*arguments, **more)
_core.run = interrupted
cli.main()
"""


def test_ctrl_c_ends_a_capture_at_once_and_leaves_nothing(home):
    more = ["--duration", "3000 s", "--set", "path.rate=1000/500 Mbit/s", "--name", "x"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "pcap", "home.toml", *more],
        env={**os.environ, "PYTHONPATH": str(Path(aqmlab.__file__).parent.parent)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 130 and done.stderr.endswith("error: interrupted\n")
    assert [path.name for path in home.iterdir()] == ["home.toml"]


def test_more_jobs_than_there_may_be_files_are_fewer_jobs(home):
    arguments = ["run", "home.toml", "--seeds", "15", "--jobs", "30", "--out", "out", "--no-report"]
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (90, 90))
    process = in_a_process(*arguments, cwd=home, preexec_fn=few)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and "30/30 trials" in errors, errors


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("tcp://", "missing port number"),
        ("nonsense", "missing port number in address 'nonsense'"),
        ("ssh://127.0.0.1:1", "unknown address scheme 'ssh'"),
        ("pipe.json", "pipe.json: it is not a regular file"),
        ("empty.json", "the file names no `address`"),
        ("odd.json", "missing port number in address 'odd'"),
    ],
)
def test_an_address_of_no_cluster_is_said_in_words_and_no_more(home, address, problem):
    pytest.importorskip("distributed")
    os.mkfifo(home / "pipe.json")
    (home / "empty.json").write_text("[]")
    (home / "odd.json").write_text('{"address": "odd"}')
    process = in_a_process("run", "home.toml", "--cluster", address, cwd=home)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.startswith(f"error: --cluster {address}: no scheduler can be reached: ")
    assert problem in errors and "Traceback" not in errors


def test_nobody_minds_a_closed_pipe(home):
    for arguments in (["list", "disciplines"], ["--version"]):
        process = in_a_process(*arguments, cwd=home)
        process.stdout.close()
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (1, ""), arguments


def test_python_programs_get_tables(home):
    results = aqmlab.run("home.toml", seeds=2, jobs=2, path__qdisc=["pfifo", "codel"])
    assert results.complete and len(results.trials) == 4
    assert results.trials["qdisc"].unique(maintain_order=True).to_list() == ["pfifo", "codel"]
    assert not (home / "results").exists()
    kept = aqmlab.run("home.toml", duration="2 s", out="kept", **{"path.rtt": "10 ms"})
    assert aqmlab.load("kept").digest == kept.digest
    assert (kept.flows["rtt_base_ms"] == 10).all()
