"""Output to the terminal and to files, in any encoding and in a campaign's folder."""

import csv
import errno
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import aqmlab
import polars as pl
import pytest
from aqmlab import api
from aqmlab.base import csv_cells, files, measurements
from aqmlab.base.escaped_json import escaped_json
from aqmlab.base.failures import LabError, RequestError
from aqmlab.campaign.store import own_files
from aqmlab.cli import spp, status_of
from aqmlab.page import builder
from aqmlab.planning import change_text
from aqmlab.results import captures
from aqmlab.scenario.fields import Qdisc
from aqmlab.scenario.quantities import Duration
from support.campaigns import spec_of

LABELS = ("=1+1", "+cmd", "-5", "@x", "a\\u001b[31mb", "\\u009b31m", "größe 中", "-a", " =2")
SCENARIO = (
    'duration = "1 s"\npath.rate = "12/1 Mbit/s"\napps."ping ü".kind = "ping"\n[vary]\ns = ['
    + ", ".join(f'{{label = "{one}", path.rtt = "{at} ms"}}' for at, one in enumerate(LABELS, 1))
    + "]\n"
)
MEANT = [json.loads(f'"{one}"') for one in LABELS]
IN_CELLS = ["'=1+1", "'+cmd", "-5", "'@x", "a?[31mb", "?31m", "größe 中", "'-a", "' =2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a campaign with malicious labels."""
    place = tmp_path_factory.mktemp("output")
    (place / "a.toml").write_text(SCENARIO, encoding="utf-8")
    api.run(place / "a.toml", out=place / "out")
    return place / "out"


def test_csv_files_hold_no_formula_and_numbers_stay_numbers(folder, tmp_path):
    assert status_of(["export", str(folder), "--csv", "--out", str(tmp_path)]) == 0
    with (tmp_path / "flows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(dict.fromkeys(row["s"] for row in rows)) == IN_CELLS
    numbers = pl.read_parquet(folder / "tables" / "flows")
    assert [float(row["packets_sent"]) for row in rows] == numbers["packets_sent"].to_list()


@pytest.mark.parametrize("to_file", [True, False])
def test_answers_in_csv_hold_no_formula(folder, tmp_path, capsys, to_file):
    sql = "SELECT s, -1.5 AS n, '-1e3' AS t, -2 AS \"=head\" FROM trials ORDER BY trial"
    out = ["--out", str(tmp_path / "a.csv")] if to_file else ["--format", "csv"]
    assert status_of(["query", str(folder), sql, *out]) == 0
    text = (tmp_path / "a.csv").read_text("utf-8") if to_file else capsys.readouterr().out
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["s", "n", "t", "'=head"]
    assert sorted(row[0] for row in rows) == sorted(IN_CELLS)
    assert {tuple(row[1:]) for row in rows} == {("-1.5", "-1e3", "-2")}


def test_cells_of_columns_are_those_of_text():
    texts = [*MEANT, "", "a,b\n", "1e5", "-", "+", "-1.", "--1", "\t=1", "-inf", "-5 ms"]
    frame = csv_cells.of_columns(pl.DataFrame({"a": texts, "n": range(len(texts))}))
    assert frame["a"].to_list() == [csv_cells.cell(text) for text in texts]
    assert frame["n"].to_list() == list(range(len(texts)))


def test_no_control_character_of_a_manifest_reaches_the_terminal(folder, tmp_path, capsys):
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m"
    place = tmp_path / "evil"
    shutil.copytree(folder, place)
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    manifest |= {"warnings": [evil], "engine": "sim", "title": evil}
    manifest["versions"]["sim"] = evil
    (place / "manifest.json").write_text(json.dumps(manifest))
    for command in (["show"], ["show", "--brief"], ["show", "--json"], ["query"], ["report"]):
        name, *options = command
        status_of([name, str(place), *options])
        printed = "".join(capsys.readouterr())
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", printed), (command, printed)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_has_no_control_character_in_any_encoding(encoding, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    text = json.dumps({"title": "\x7f\x9bé"}, ensure_ascii=False)
    printed = escaped_json(text)
    assert "\x7f" not in printed and "\x9b" not in printed
    assert printed.encode(encoding)
    assert json.loads(printed) == json.loads(text)


OWN = ("manifest.json", "catalogue.sql", "tables/flows/chunk=0000/rows.parquet", "trials/x.csv",
       "tables/new.csv", "Manifest.JSON")  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_no_command_writes_over_a_file_of_a_campaign(folder, name, capsys, tmp_path):
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    out = str(folder / name)
    link = tmp_path / "link"
    link.symlink_to(folder)
    commands = [
        ["query", str(folder), "SELECT 1", "--format", "csv", "--out", out],
        ["query", str(folder), "SELECT 1", "--format", "json", "--out", str(link / name)],
        ["report", str(folder), "--out", out],
        ["new", "kid gaming", "--force", "--out", out],
        ["page", "--no-open", "--out", out],
    ]
    for command in commands:
        assert status_of(command) == 2, command
        assert "is reserved for a file of the campaign" in capsys.readouterr().err
    with pytest.raises(RequestError):
        captures.write(spec_of("pie"), str(folder / "tables" / "x"), "sim")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == whole


@pytest.mark.parametrize("name", ["tables", "trials", "tables/flows", "tables/a/b/c/d/e/f"])
def test_no_command_begins_a_folder_among_the_files_of_a_campaign(
    folder, name, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text(SCENARIO.replace('"1 s"', '"2 s"'), encoding="utf-8")
    (tmp_path / "link").symlink_to(folder)
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for out in (str(folder / name), f"link/{name}"):
        commands = [
            ["run", "other.toml", "--out", out, "--no-report"],
            ["run", "other.toml", "--out", out, "--dry-run"],
            ["reproduce", "kua2017", "--figure", "3b", "--seeds", "1", "--out", out],
            ["page", "--no-open", "--folder", out],
            ["export", str(folder), "--csv", "--out", out],
        ]
        for command in commands:
            assert status_of(command) == 2, command
            told = capsys.readouterr().err
            assert "is reserved for " in told and f"of the campaign in {folder}" in told
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == whole
    assert status_of(["verify", str(folder)]) == 0


def test_the_folder_of_the_page_is_a_folder_that_can_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(builder, "_simulator", lambda: b"")
    (tmp_path / "file").write_text("mine")
    for place, problem in (
        (tmp_path / "file", "is a file, not a folder"),
        (tmp_path / "file" / "x", "cannot be written"),
        ("/proc/x", "cannot be written"),
    ):
        assert status_of(["page", "--no-open", "--folder", str(place)]) == 2
        told = capsys.readouterr().err
        assert f"{place}: {problem}" in told and "hint: give another with `--folder DIR`" in told
    assert (tmp_path / "file").read_text() == "mine"


def test_the_page_is_a_file_or_a_folder(tmp_path, capsys):
    both = ["--out", str(tmp_path / "a.html"), "--folder", str(tmp_path / "b")]
    assert status_of(["page", "--no-open", *both]) == 2
    assert "so `--out` has no effect" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_place_of_a_report_is_checked_before_it_is_drawn(folder, capsys, monkeypatch):
    monkeypatch.setattr("aqmlab.report.figures.draw", lambda *_: pytest.fail("it was drawn"))
    assert status_of(["report", str(folder), "--out", str(folder)]) == 2
    assert f"{folder}: cannot be written: it is a folder" in capsys.readouterr().err


def test_an_error_of_sql_repeats_only_a_part_of_the_statement(folder, capsys):
    sql = f"SELECT CAST('{'x' * 3_000}' AS INT) FROM flows"
    assert status_of(["query", str(folder), sql]) == 2
    told = capsys.readouterr().err
    assert "Could not convert string 'xxx" in told and len(told) < 700


def test_an_export_to_a_full_disk_says_how_to_repeat_it(folder, tmp_path, capsys, monkeypatch):
    command = ["export", str(folder), "--csv", "--out", str(tmp_path / "out")]
    sync, calls = os.fsync, []

    def full_later(handle):
        calls.append(handle)
        if len(calls) == 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_later)
        assert status_of(command) == 2
    told = capsys.readouterr().err
    assert "the disk is full" in told
    assert "hint: free some space and run the same command again with `--force`" in told
    assert status_of(command) == 2
    assert status_of([*command, "--force"]) == 0


@pytest.mark.parametrize("name", ["answer.csv", "report.html", "export/flows.csv", "tables.csv"])
def test_other_files_of_the_folder_are_the_users(folder, name):
    own_files.refuse(folder / name)


@pytest.mark.parametrize("beside", [(), ("tables",), ("trials",)])
@pytest.mark.parametrize("name", ["tables/a/b.csv", "trials/b.csv", "manifest.json"])
def test_the_manifest_of_another_program_reserves_nothing(tmp_path, name, beside):
    (tmp_path / "manifest.json").write_text('{"manifest_version": 3, "name": "An extension"}')
    for folder in beside:
        (tmp_path / folder).mkdir()
    own_files.refuse(tmp_path / name)
    own_files.refuse_folder((tmp_path / name).parent)


@pytest.mark.parametrize("beside", ["catalogue.sql", "tables", "trials"])
@pytest.mark.parametrize("text", [b"", b'{"format": 3, "camp', b"\xff", b"[]", b"[" * 100_000])
def test_a_damaged_manifest_still_protects_its_campaign(tmp_path, text, beside):
    (tmp_path / "manifest.json").write_bytes(text)
    (tmp_path / beside).mkdir()
    with pytest.raises(RequestError, match="is reserved for a file of the campaign"):
        own_files.refuse(tmp_path / "tables" / "new.csv")
    with pytest.raises(RequestError, match="is reserved for files of the campaign"):
        own_files.refuse_folder(tmp_path / "trials")


def test_a_manifest_without_its_members_protects_the_campaign_of_a_catalogue(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "catalogue.sql").touch()
    with pytest.raises(RequestError, match="is reserved for"):
        own_files.refuse(tmp_path / "tables" / "new.csv")


def test_a_new_campaign_protects_its_files(tmp_path):
    (tmp_path / "manifest.json").write_text('{"format": 3, "campaign": "0f", "trials": []}')
    with pytest.raises(RequestError, match="is reserved for"):
        own_files.refuse(tmp_path / "manifest.json")


@pytest.mark.parametrize("wrong", [
    {"jobs": -1}, {"jobs": 0}, {"jobs": True}, {"jobs": 1.5}, {"jobs": "2"}, {"out": ""},
    {"out": 5},
    {"seeds": 0}, {"seeds": []}, {"seeds": "x"}, {"duration": 5}, {"duration": ""},
    {"engine": ""}, {"engine": "x"}, {"path__rtt": None}, {"path__rtt": []}, {"nothing": 1},
])  # fmt: skip
def test_senseless_arguments_of_python_are_refused(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((LabError, aqmlab.ScenarioError)):
        aqmlab.run("home", **wrong)
    assert not list(tmp_path.iterdir())


def test_what_python_asks_for_is_what_a_command_would(folder):
    sets, vary = api._changes({
        "path__rtt": Duration.parse("20ms"), "hosts.home.profile": "linux", "measure__series": True,
        "apps__a__title": ["a,b", "c"], "path__qdisc": [Qdisc(kind="pie", params={"limit": 9})],
    })  # fmt: skip
    request = api.Request("home", sets, vary, seeds=[7], duration=Duration.parse("1 s"))
    assert shlex.split(request.command()) == [
        "aqmlab", "run", "home", "--set", "path.rtt=20 ms", "--set", "hosts.home.profile=linux",
        "--set", "measure.series=true", "--vary", 'apps.a.title="a,b",c',
        "--vary", 'path.qdisc={ kind = "pie", limit = 9 }', "--seeds", "7-7", "--duration", "1 s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"path__wifi": None},
        {"path__wifi": [None, {"mcs": "7"}]},
        {"path__modem": None, "path__lan": None},
        {"apps__backup__stop": None, "measure__to": None},
        {"apps__ping": None},
    ],
)
def test_the_command_of_a_request_with_none_plans_the_same_trials(changes):
    sets, vary = api._changes(changes)
    request = api.Request("bufferbloat", sets, vary)
    words = shlex.split(request.command())[3:]
    again = api.Request(
        "bufferbloat",
        change_text.assignments(b for a, b in pairwise(words) if a == "--set"),
        change_text.variations(b for a, b in pairwise(words) if a == "--vary"),
    )
    assert set(words[::2]) <= {"--set", "--vary"}
    assert [one.text for one in again.plan().trials] == [one.text for one in request.plan().trials]


def test_python_hands_values_on_as_values(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    home = {"path": {"rate": "9/1 Mbit/s"}, "apps": {"a": {"kind": "bulk"}}, "duration": "10 ms"}
    loaded = aqmlab.run(aqmlab.Scenario(**home), hosts__home__profile=["linux"], out="one")
    assert [trial.conditions for trial in loaded.manifest.trials] == [
        {"hosts.home.profile": "linux"}
    ]
    for wrong, said in [
        ({"hosts__home__profile": ["linux,windows"]}, "unknown host profile `linux,windows`"),
        ({"path__qdisc": '{kind = "pie"}'}, "unknown discipline `{kind`"),
        ({"path__rtt": None}, "path__rtt: `off` is not a duration"),
        ({"path__rtt": ["1 ms", None]}, "path__rtt: `off` is not a duration"),
    ]:
        with pytest.raises(aqmlab.ScenarioError) as caught:
            aqmlab.run(aqmlab.Scenario(**home), **wrong)
        assert said in str(caught.value)


def test_many_flows_of_captures_are_not_all_shown(capsys):
    many = 16_000
    flows = {name: [1.0] * many for name, _ in spp._SHOWN}
    flows |= {name: ["x"] * many for name in spp._WORDS}
    spp._show({"flows": flows})
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) < spp.MOST_ROWS + 10
    assert f"{many - spp.MOST_ROWS} more flows: --json gives all" in captured.err


# --- Environments -----------------------------------------------------------------------------

ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
POSIX = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
LATIN = {"PYTHONIOENCODING": "latin-1"}


def started(arguments, cwd, setup="pass", **more):
    """Runs the command in a separate process, after the Python statement `setup`.

    The environment has the variables `env` in place of the variables of this process's locale.
    """
    env = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    python = f"import os; {setup}; from aqmlab.cli import main; main({arguments!r})"
    command = [sys.executable, "-c", python]
    env |= more.pop("env", {})
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=300, **more)


def printing(folder):
    """The commands that only print."""
    sql = "SELECT s, flow FROM flows ORDER BY ALL"
    return [
        ["show", folder], ["show", folder, "--brief"], ["show", folder, "--json"],
        ["query", folder], ["query", folder, sql], ["query", folder, sql, "--format", "csv"],
        ["query", folder, sql, "--format", "json"], ["list", "apps"], ["list", "scenarios"],
        ["schema"], ["run", "../a.toml", "--dry-run"],
    ]  # fmt: skip


def writing(folder):
    """The commands that also write files."""
    return [
        ["report", folder],
        ["export", folder, "--csv", "--force"],
        ["run", "../a.toml", "--seeds", "0-0", "--out", "x"],
    ]


ALL = """
import sys
from aqmlab.cli import status_of
statuses = [status_of(one) for one in COMMANDS]
sys.stdout.flush()
open("statuses", "w").write(repr(statuses))
"""


@pytest.mark.parametrize(
    ("env", "writes"),
    [(ASCII, False), (POSIX, True), (LATIN, False)],  # only POSIX changes the encoding of files
    ids=["ascii", "posix", "latin-1"],
)
def test_every_command_prints_whatever_the_encoding(folder, tmp_path, env, writes):
    (tmp_path / "a.toml").write_text(SCENARIO, encoding="utf-8")
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    commands = [*printing(str(folder)), *(writing(str(folder)) if writes else ())]
    code = ALL.replace("COMMANDS", repr(commands))
    run = subprocess.run([sys.executable, "-c", code], cwd=cwd, env={**os.environ, **env},
                         capture_output=True, timeout=300)  # fmt: skip
    said = run.stderr.decode("latin-1")
    assert run.returncode == 0 and "unexpected" not in said and "codec" not in said, said
    assert eval((cwd / "statuses").read_text()) == [0] * len(commands), said
    assert b"ping" in run.stdout


def test_json_is_whole_also_where_the_encoding_is_not(folder, tmp_path):
    for arguments in (
        ["show", str(folder), "--json"],
        ["query", str(folder), "SELECT DISTINCT flow FROM flows", "--format", "json"],
    ):
        run = started(arguments, tmp_path, env=ASCII)
        assert run.returncode == 0
        assert "ping ü" in json.dumps(json.loads(run.stdout), ensure_ascii=False)


@pytest.mark.parametrize("arguments", [["list", "apps"], ["schema"], ["show", "FOLDER"]])
def test_a_reader_who_has_had_enough_ends_it_quietly(folder, tmp_path, arguments):
    arguments = [str(folder) if one == "FOLDER" else one for one in arguments]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        python = f"from aqmlab.cli import main; main({arguments!r})"
        run = subprocess.run([sys.executable, "-c", python], stdout=gone, stderr=subprocess.PIPE,
                             cwd=tmp_path, timeout=300)  # fmt: skip
    assert b"Traceback" not in run.stderr and b"error" not in run.stderr, run.stderr


def test_output_that_is_closed_from_the_beginning_is_no_error(folder, tmp_path):
    for setup in ("os.close(1)", "os.close(2)", "os.close(1); os.close(2)", "os.close(0)"):
        own = ["-m", "aqmlab", "list", "tcp"]
        code = f"import os, sys; {setup}; os.execv(sys.executable, [sys.executable, *{own}])"
        run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True,
                             timeout=300)  # fmt: skip
        assert run.returncode == 0, (setup, run.stderr)
        assert b"Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("umask", "home"),
    [(0o000, "/proc"), (0o077, "/proc"), (0o777, "/proc"), (0o077, ""), (0o077, "/nonexistent")],
)
def test_a_home_that_takes_nothing_and_an_odd_umask_are_no_error(tmp_path, umask, home):
    """Even root cannot write into /proc."""
    text = 'duration = "1 s"\npath.rate = "1/1 Mbit/s"\napps.a.kind = "ping"\n'
    (tmp_path / "a.toml").write_text(text)
    env = {"HOME": home, "XDG_CACHE_HOME": ""}
    run = started(["run", "a.toml", "--out", "out"], tmp_path, f"os.umask({umask})", env=env)
    said = run.stderr.decode()
    assert "Traceback" not in said and "unexpected" not in said, said
    if umask < 0o700 or os.geteuid() == 0:
        assert run.returncode == 0, said
        assert (tmp_path / "out" / "report.html").stat().st_mode & 0o777 == 0o666 & ~umask
    else:  # the process cannot read the files that it wrote
        assert run.returncode in (1, 2) and "error: " in said, said


def test_who_has_no_home_is_told_so(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    with pytest.raises(LabError, match="HOME or XDG_CACHE_HOME"):
        files.cache_folder()
    assert measurements.read("speeds.json", dict[str, int]) == {}
