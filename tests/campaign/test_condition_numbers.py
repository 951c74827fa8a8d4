"""The columns that hold conditions such as `40 ms` as numbers, and all readers of the columns."""

import shutil
from types import SimpleNamespace

import polars as pl
import pytest
from aqmlab import api
from aqmlab.base.checksums import checksum_of
from aqmlab.campaign.store.condition_numbers import columns
from aqmlab.campaign.store.manifest import LinkFacts
from aqmlab.cli import status_of
from support.campaigns import rewrite_manifest

SCENARIO = """
duration = "1 s"
path.rate = "12/1 Mbit/s"
apps.far.kind = "ping"
apps.near = { kind = "ping", rtt = "5 ms" }
apps.other.kind = "ping"
[vary]
path.rtt = ["100 ms", "20 ms", "9 ms"]
path.loss = ["0 %", "2.5 %"]
"""


def trial(links=(12, 1), rtts=(40.0,), **conditions):
    facts = {way: LinkFacts(mbit, "pie") for way, mbit in zip(("down", "up"), links, strict=False)}
    named = {f"app-{number}": rtt_ms for number, rtt_ms in enumerate(rtts)}
    return SimpleNamespace(conditions=conditions, links=facts, rtt_base_ms=named)


def numbers_of(*values):
    found = columns([trial(x=value) for value in values])
    return {name: own for name, own in found.items() if name.startswith("x")}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("40 ms", "1.5 s"), {"x_ms": [40.0, 1500.0]}),
        (("800 kbit/s", "12mbit"), {"x_mbit": [0.8, 12.0]}),
        (("12/1 Mbit/s", "25 Mbit/s"), {"x_down_mbit": [12.0, 25.0], "x_up_mbit": [1.0, 25.0]}),
        (("64 KiB", "300 kB"), {"x_bytes": [65536.0, 300000.0]}),
        (("7 %", "98 %"), {"x_percent": [7.0, 98.0]}),
        (("90/95 %", "80 %"), {"x_down_percent": [90.0, 80.0], "x_up_percent": [95.0, 80.0]}),
        (("off", "40 ms"), {"x_ms": [None, 40.0]}),
        ((0, "40 ms"), {"x_ms": [0.0, 40.0]}),
        (("40 ms", "1 Mbit/s"), {}),
        (("pie", "codel"), {}),
        (("nan %", "inf ms", "1e999 %"), {}),
        ((1, 2.5), {}),
        (("off",), {}),
    ],
)
def test_a_condition_of_quantities_has_its_numbers(values, expected):
    assert numbers_of(*values) == expected


def test_a_trial_without_the_condition_has_no_number():
    assert columns([trial(x="40 ms"), trial()])["x_ms"] == [40.0, None]


def test_a_path_has_its_rates_and_the_round_trip_time_of_most_applications():
    found = columns([trial((25, 5), (9.0, 40.0, 40.0)), trial((), ())])
    assert found == {
        "rate_down_mbit": [25.0, None], "rate_up_mbit": [5.0, None], "rtt_base_ms": [40.0, None]
    }  # fmt: skip


def test_no_column_displaces_a_condition():
    found = columns([trial(rtt="40 ms", RTT_ms="x", rate_down_mbit="y")])
    assert [*found] == ["rate_up_mbit", "rtt_base_ms"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "numbers.toml").write_text(SCENARIO)
    return api.run(folder / "numbers.toml", out=folder / "out", jobs=1)


def test_all_readers_have_the_numbers(results, capsys):
    in_python = results.summary.sort("rtt_ms")["rtt"].unique(maintain_order=True).to_list()
    in_files = pl.read_parquet(results.path / "tables" / "summary").sort("rtt_ms")["rtt"]
    assert (
        in_python == in_files.unique(maintain_order=True).to_list() == ["9 ms", "20 ms", "100 ms"]
    )
    sql = "SELECT DISTINCT rtt, rtt_ms FROM verdicts ORDER BY rtt_ms"
    assert status_of(["query", str(results.path), sql, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == [
        "rtt,rtt_ms",
        "9",
        "ms,9.0",
        "20",
        "ms,20.0",
        "100",
        "ms,100.0",
    ]
    assert set(results.flows["rate_down_mbit"]) == {12.0}


def test_a_number_never_has_the_name_of_a_measurement(results):
    assert set(results.flows["condition.loss_percent"]) == {0.0, 2.5}
    assert set(results.flows["loss_percent"]) != {0.0, 2.5}


def test_each_application_has_its_own_base_round_trip_time(results):
    own = results.apps.select("trial", "flow", "rtt_base_ms").unique()
    of_flows = results.flows.select("trial", "flow", "rtt_base_ms").unique()
    assert own.sort(own.columns).equals(of_flows.sort(own.columns))
    assert own.filter(pl.col("flow") == "near")["rtt_base_ms"].unique().to_list() == [5.0]
    assert set(results.summary["rtt_base_ms"]) == {100.0, 20.0, 9.0}


def test_a_folder_without_the_numbers_has_them_in_python(results, tmp_path):
    shutil.copytree(results.path, tmp_path / "old")
    as_of_an_earlier_version(tmp_path / "old", ("rtt_ms", "rate_down_mbit", "rate_up_mbit"))
    old = api.load(tmp_path / "old")
    old.verify()
    assert "rtt_ms" not in pl.read_parquet_schema(old.files("summary")[0])
    for name in (*results.tables, "verdicts"):
        columns = results.table(name).columns
        assert old.table(name).select(columns).equals(results.table(name)), name
        assert set(old.table(name).columns) == set(columns), name


def as_of_an_earlier_version(folder, without):
    """Rewrites the tables of a campaign without their number columns."""
    files = {}
    for path in sorted((folder / "tables").rglob("*.parquet")):
        frame = pl.read_parquet(path)
        also = [] if path.parents[1].name == "flows" else ["rtt_base_ms"]
        gone = [*without, *also, "loss_percent", "condition.loss_percent"]
        if path.parents[1].name == "flows":
            gone.remove("loss_percent")
        frame.drop(gone, strict=False).write_parquet(path)
        files[path.relative_to(folder).as_posix()] = [*checksum_of(path)]
    catalogue = folder / "catalogue.sql"
    rewrite_manifest(folder, files={**files, catalogue.name: [*checksum_of(catalogue)]})
