"""CSV files, TEACUP's files, and the command `aqmlab export`."""

import csv
import json
import os
import re
from itertools import pairwise
from types import MappingProxyType

import aqmlab
import numpy as np
import pytest
from aqmlab.base.failures import DiskError, RequestError
from aqmlab.cli import status_of
from aqmlab.results.export import csvs, packets, teacup
from aqmlab.results.export.target import Target
from aqmlab.results.export.trials import read
from support.campaigns import entry_of, spec_of, write_members

PIFO = "qdisc=pfifo,seed=2"


def test_csv_holds_every_table_with_its_rows(home, tmp_path):
    paths = list(csvs.write(home, Target(tmp_path)))
    assert [path.stem for path in paths] == list(home.tables)
    for path in paths:
        assert path.read_bytes().endswith(b"\r\n")
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == home.table(path.stem).columns
        assert len(rows) == home.table(path.stem).height + 1
    with (tmp_path / "trials.csv").open(newline="") as file:
        specs = [row["spec"] for row in csv.DictReader(file)]
    assert specs == home.trials["spec"].to_list(), "text with quotation marks and commas"


def test_files_of_others_are_not_touched(home, tmp_path):
    (tmp_path / "flows.csv").write_text("mine")
    with pytest.raises(RequestError, match="--force"):
        list(csvs.write(home, Target(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]
    list(csvs.write(home, Target(tmp_path, force=True)))
    assert (tmp_path / "flows.csv").read_text() != "mine"


def entry(name, seed, conditions=MappingProxyType({})):
    """The entry of a trial in a manifest."""
    return entry_of(conditions, spec_of("pie", seed=seed), name)


@pytest.mark.parametrize(
    ("trial", "name"),
    [
        (entry("a", 3), "exp_20200101-000000_run_1"),
        (
            entry("a", 1, {"path.rate": "25/5 Mbit/s", "bs": 60}),
            "exp_20200101-000000_rate_25-5-Mbit-s_bs_60_run_0",
        ),
        (
            entry("p_x_aqm_fq-codel_run_0", 1, {"aqm": "fq-codel"}),
            "p_x_aqm_fq-codel_run_0",
        ),
    ],
)
def test_experiments_are_named_as_teacup_names_them(trial, name):
    first = entry("first", 1, {"none": 0})
    assert teacup.experiments([first, trial])[trial.id].id == name


def test_the_prefix_of_a_teacup_config_is_kept():
    trial = entry("p_x_aqm_pie_run_0", 1, {"aqm": "pie"})
    assert teacup.experiments([trial])[trial.id].prefix == "p_x"


@pytest.mark.parametrize("name", [".._qdisc_x_run_0", "._qdisc_x_run_0", "_qdisc_x_run_0"])
def test_no_experiment_is_called_as_another_folder(name):
    trial = entry(name, 1, {"qdisc": "pie"})
    assert teacup.experiments([trial])[name].prefix == teacup.PREFIX


def test_no_two_conditions_are_one_experiment():
    labels = ["a/b", "a-b", "A-b", "α", "β", "10 %", "10 ~"]
    trials = [entry(f"{label}{seed}", seed, {"s": label}) for label in labels for seed in (1, 2)]
    names = [one.id for one in teacup.experiments(trials).values()]
    assert len({name.casefold() for name in names}) == len(names)
    assert [name.rpartition("_run_")[2] for name in names] == ["0", "1"] * len(labels)
    stems = [name.rpartition("_run_")[0] for name in names]
    assert stems[0::2] == stems[1::2], "seeds of a condition are its runs"


def test_two_conditions_with_one_last_word_are_named_whole():
    trial = entry("a", 1, {"up.qdisc": "pie", "down.qdisc": "codel"})
    assert "_upqdisc_pie_downqdisc_codel_" in teacup.experiments([trial])["a"].id


def test_files_that_differ_in_case_only_get_a_number(tmp_path):
    target = Target(tmp_path)
    target.write(target.free_name("Home", ".gz"), b"")
    assert target.free_name("home", ".gz") == "home_2.gz"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x", "link/x", ".."])
def test_no_file_goes_where_nobody_asked_for_files(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(RequestError, match="where files are to go"):
        Target(inside, force=True).write(name, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


@pytest.mark.parametrize("place", ["pipe", "folder"])
def test_nothing_but_a_file_is_replaced(home, tmp_path, place):
    path = tmp_path / "flows.csv"
    os.mkfifo(path) if place == "pipe" else path.mkdir()
    before = path.lstat().st_ino
    with pytest.raises(DiskError, match=r"flows\.csv: cannot be written: it is a"):
        list(csvs.write(home, Target(tmp_path, force=True)))
    assert path.lstat().st_ino == before


@pytest.fixture(scope="module")
def teacups(home):
    (trial,) = read(home, teacup.TABLES, [PIFO])
    return {name.removeprefix("e_"): data.decode() for name, data in teacup.files(trial, "e")}


def test_names_are_those_that_teacups_scripts_match(teacups):
    pattern = re.compile(r"([0-9.]*_[0-9]*_[0-9.]*_[0-9]*)[0-9a-z_.]*")
    flows = [name for name in teacups if not name.endswith(".dashgp")]
    assert all(pattern.fullmatch(name) for name in flows)
    kinds = {name.rpartition(".")[2] for name in teacups}
    assert kinds == {"psiz", "rtts", "cwnd", "tcp_rtt", "dashgp"}


def test_packet_sizes_add_up_to_what_arrived(home, teacups):
    flow = home.flows.filter(trial=PIFO, flow="sensor", direction="up")
    name = next(name for name in teacups if name.startswith("172.16.10.3_") and "psiz" in name)
    lines = [line.split(" ") for line in teacups[name].splitlines()]
    assert sum(int(size) for _, size in lines) == flow["bytes_received"][0]
    assert all(float(one[0]) <= float(two[0]) for one, two in pairwise(lines))


def test_round_trips_have_the_quantiles_of_the_table(home, teacups):
    for row in home.flows.filter(trial=PIFO, flow="file").to_dicts():
        source = "172.16.10." if row["direction"] == "up" else "172.16.11."
        name = next(n for n in teacups if n.startswith(f"{source}6_") and n.endswith("rtts"))
        rtts_s = [float(line.split(" ")[1]) for line in teacups[name].splitlines()]
        assert len(rtts_s) == row["rtt_n"]
        assert np.median(rtts_s) * 1e3 == pytest.approx(row["rtt_p50_ms"], rel=2e-3)


def test_windows_stand_in_the_name_of_their_connection(home, teacups):
    (name,) = (n for n in teacups if n.endswith(".cwnd") and n.startswith("172.16.10.6_"))
    rows = home.tcp_series.filter(trial=PIFO, flow="file", side="home")
    lines = [line.split(",") for line in teacups[name].splitlines()]
    assert [float(cwnd) for _, cwnd in lines] == rows["cwnd_bytes"].to_list()
    assert float(lines[0][0]) == pytest.approx(1_577_836_800 + rows["t_s"][0])


def test_chunks_are_told_as_the_player_noted_them(home, teacups):
    (name,) = (n for n in teacups if n.endswith(".dashgp"))
    noted = home.app_series.filter(trial=PIFO, flow="film")
    lines = [line.split(",") for line in teacups[name].splitlines()]
    assert name == "172.16.10.4_2_httperf_dash.dashgp"
    for column, metric in ((1, "chunk_bytes"), (2, "ar_mbit"), (3, "fetch_s")):
        values = noted.filter(metric=metric)["value"].to_list()
        assert [float(line[column]) for line in lines] == pytest.approx(values, abs=1e-6)


def test_a_foreign_capture_is_refused(tmp_path):
    (tmp_path / "x.pcap").write_bytes(bytes(40))
    with pytest.raises(RequestError, match=r"x\.pcap"):
        packets.read(tmp_path / "x.pcap")


def test_the_command_writes_all_formats(home, tmp_path, capsys):
    arguments = ["export", str(home.path), "--out", str(tmp_path)]
    assert status_of([*arguments, "--flent", "--teacup", "--trial", PIFO]) == 0
    names = [line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()]
    assert names == [
        "rrul_var-2020-01-01T000000.000002.pfifo_12_1.flent.gz",
        "exp_20200101-000000",
        "experiments_completed.txt",
    ]
    assert (tmp_path / names[2]).read_text() == "exp_20200101-000000_qdisc_pfifo_run_1\n"
    assert status_of([*arguments, "--flent", "--trial", PIFO]) == 2
    assert "is there already" in capsys.readouterr().err
    assert status_of([*arguments, "--flent", "--trial", PIFO, "--force"]) == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no format given"),
        (["--flent", "--trial", "qdisc=pfif,seed=2"], "did you mean"),
        (["--flent", "--trial", "qdisc=pfifo"], "`qdisc=pfifo,seed="),
        (["--flent", "--trial", "seed=2,qdisc=pfifo"], f"`{PIFO}` matches"),
        (["--csv", "--out", __file__], "is a file, not a folder"),
        (["--csv", "--trial", PIFO], "all trials"),
    ],
)
def test_a_wrong_request_is_answered_with_what_is_allowed(home, capsys, arguments, problem):
    assert status_of(["export", str(home.path), *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_of_a_campaign_that_was_stopped_csv_holds_what_is_there(home, tmp_path, capsys):
    manifest = json.loads((home.path / "manifest.json").read_text("utf-8"))
    begun = {key: value for key, value in manifest.items() if key not in ("files", "digests")}
    write_members(tmp_path, {**begun, "complete": False})
    assert status_of(["export", str(tmp_path), "--csv"]) == 0
    assert "not complete" in capsys.readouterr().err
    assert status_of(["export", str(tmp_path), "--teacup"]) == 2
    assert "no trial can be exported yet" in capsys.readouterr().err


def test_without_measurement_there_is_csv_and_nothing_for_flent(tmp_path, capsys):
    (tmp_path / "dark.toml").write_text(
        'duration = "2 s"\npath = { rate = "2/1 Mbit/s", rtt = "20 ms" }\n'
        'apps.file.kind = "bulk"\nmeasure.enabled = false\n'
    )
    results = aqmlab.run(tmp_path / "dark.toml", out=tmp_path / "dark")
    assert status_of(["export", str(results.path), "--csv"]) == 0
    assert (results.path / "export" / "links.csv").is_file()
    assert status_of(["export", str(results.path), "--flent"]) == 2
    assert "no time series" in capsys.readouterr().err
