"""Tables from untrusted sources whose columns are not those that readers expect.

The author of a folder can also compute its checksums.
"""

import json
import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aqmlab.base.checksums import checksum_of
from aqmlab.base.failures import DamagedError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset, parquet_guard, table_form, trial_file
from aqmlab.campaign.store.folder import Folder
from aqmlab.cli import status_of
from aqmlab.results.results import load
from support.campaigns import as_if_running, campaign_of, complete, grid, rewrite_manifest
from support.laws.form import documented


def a_campaign():
    return campaign_of(grid(queues=("pie", "pfifo"), seeds=(1, 2)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a complete campaign, which tests copy."""
    return complete(tmp_path_factory.mktemp("form"), a_campaign())


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "out")
    return tmp_path / "out"


def forge(folder, table, change, **options):
    """Replaces the rows of a table's first file; its checksum is correct."""
    path = folder / "tables" / table / "chunk=0000" / "rows.parquet"
    pq.write_table(change(pq.read_table(path, partitioning=None)), path, **options)
    files = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    files[path.relative_to(folder).as_posix()] = list(checksum_of(path))
    rewrite_manifest(folder, files=files)
    return path


def replaced(name, values):
    def change(rows):
        return rows.set_column(rows.column_names.index(name), name, values(rows[name]))

    return change


def without(name):
    return lambda rows: rows.drop_columns([name])


def called(name, other):
    return lambda rows: rows.rename_columns(
        [other if one == name else one for one in rows.column_names]
    )


def nulls(name):
    return replaced(name, lambda column: pa.nulls(len(column), column.type))


def first_null(name):
    return replaced(name, lambda column: pa.array([None, *column.to_pylist()[1:]], column.type))


def of_type(name, kind):
    return replaced(name, lambda column: pa.nulls(len(column), kind))


def text(name):
    return replaced(name, lambda column: pa.array(["x"] * len(column)))


def first_value(name, value):
    def values(column):
        return pa.array([value, *column.to_pylist()[1:]], pa.float64())

    return replaced(name, values)


def spec_of_another(rows):
    return replaced("spec", lambda column: pa.array(column.to_pylist()[::-1]))(rows)


FORGED = {
    "a missing name": ("flows", without("direction"), "it has no column `direction`"),
    "a missing number": ("flows", without("rtt_p95_ms"), "it has no column `rtt_p95_ms`"),
    "a missing trial": ("apps", without("trial"), "it has no column `trial`"),
    "a missing seed": ("flows", without("seed"), "it has no column `seed`"),
    "a missing specification": ("trials", without("spec"), "it has no column `spec`"),
    "another name": ("flows", called("flow", "flew"), "it has no column `flow`"),
    "one name twice": ("flows", called("lost", "flow"), "it has 2 columns `flow`"),
    "no directions": ("flows", nulls("direction"), "the column `direction` lacks"),
    "no direction": ("flows", first_null("direction"), "the column `direction` lacks 1 value;"),
    "no digest": ("trials", first_null("digest"), "the column `digest` lacks 1 value;"),
    "no specification": ("trials", nulls("spec"), "the column `spec` lacks 4 values;"),
    "no time": ("windows", first_null("t_s"), "the column `t_s` lacks 1 value;"),
    "no count": ("trials", first_null("events"), "the column `events` lacks 1 value;"),
    "text for a number": ("flows", text("rtt_p50_ms"), "the column `rtt_p50_ms` is of type"),
    "text for a flag": ("flows", text("primary"), "the column `primary` is of type string"),
    "a flag for text": ("apps", of_type("metric", pa.bool_()), "the column `metric` is of type"),
    "a time for a number": (
        "windows", of_type("throughput_mbit", pa.timestamp("us")), "`throughput_mbit` is of type",
    ),
    "a date for a condition": ("flows", of_type("queue", pa.date32()), "`queue` is of type date32"),
    "a rate beyond all": (
        "flows", first_value("throughput_mean_mbit", -1e308), "throughput_mean_mbit` holds -1e+308",
    ),
    "an endless time": ("windows", first_value("t_s", float("inf")), "the column `t_s` holds inf;"),
    "a count beyond all": ("trials", first_value("events", 2e15), "`events` holds 2e+15; no"),
    "no trials": ("trials", lambda rows: rows.slice(0, 0), "no row of the finished trial"),
    "some trials": ("trials", lambda rows: rows.slice(1), "no row of the finished trial `trial-0`"),
    "another specification": ("trials", spec_of_another, "specification of the trial `trial-0`"),
    "a trial twice": (
        "trials", lambda rows: pa.concat_tables([rows, rows]), "2 rows of the trial `trial-0`",
    ),
    "another trial": ("trials", text("trial"), "the trial `x` is not in the manifest"),
}  # fmt: skip


def readers(folder, tmp_path):
    out = str(tmp_path / "made")
    yield "show", str(folder)
    yield "show", str(folder), "--json"
    yield "report", str(folder), "--out", f"{out}/report.html"
    yield "export", str(folder), "--flent", "--force", "--out", out
    yield "query", str(folder), "SELECT * FROM verdicts"
    yield "verify", str(folder)


@pytest.mark.parametrize("what", FORGED)
def test_every_reader_names_the_file_and_the_column(folder, tmp_path, what, capsys):
    table, change, problem = FORGED[what]
    path = forge(folder, table, change)
    for reader in readers(folder, tmp_path):
        status, said = status_of([*reader]), capsys.readouterr().err
        if table == "windows" and reader[0] in ("show", "query"):
            continue  # They do not read this table.
        if table == "apps" and what == "a missing trial" and status == 0:
            continue
        assert status == 2, f"{reader} {said}"
        assert "is damaged: " in said and problem in said, f"{reader} {said}"
        assert str(path) in said or str(path.parents[1]) in said, f"{reader} {said}"


def test_a_sql_query_of_a_malformed_table_is_refused(folder, capsys):
    path = forge(folder, "flows", without("direction"))
    assert status_of(["query", str(folder), "SELECT count(*) FROM flows"]) == 2
    said = capsys.readouterr().err
    assert f"{path}: is damaged: it has no column `direction`, which must hold text" in said


def test_a_footer_states_the_missing_values(folder):
    forge(folder, "flows", lambda rows: rows, write_statistics=False)
    with pytest.raises(DamagedError, match="whether values of the column `trial` are missing"):
        load(folder).table("flows")


def test_rows_that_lack_a_value_are_refused_though_the_footer_denies_it(folder, monkeypatch):
    forge(folder, "flows", first_null("direction"))
    monkeypatch.setattr(parquet_guard, "fault_of_file", lambda *_: None)
    with pytest.raises(DamagedError, match="the column `direction` lacks 1 value"):
        load(folder).table("flows")


@pytest.mark.parametrize("value", [1e308, float("inf"), -2e15])
def test_rows_with_absurd_numbers_are_refused_though_the_footer_denies_it(
    folder, monkeypatch, value
):
    forge(folder, "flows", first_value("rtt_p50_ms", value), write_statistics=["trial", "seed"])
    monkeypatch.setattr(parquet_guard, "fault_of_file", lambda *_: None)
    with pytest.raises(DamagedError, match="the column `rtt_p50_ms` holds"):
        load(folder).table("flows")


def test_rows_of_another_trial_are_refused(folder, capsys):
    forge(folder, "flows", text("trial"))
    assert status_of(["show", str(folder)]) == 2
    assert "has rows of a trial that is not in the manifest" in capsys.readouterr().err


def test_the_trials_of_all_chunks_are_expected(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 2)
    campaigns.run(a_campaign(), tmp_path / "out", jobs=1)
    assert len(load(tmp_path / "out").judged) == 8
    assert len(load(tmp_path / "out").narrowed(["trial-1"]).judged) == 4
    forge(tmp_path / "out", "trials", lambda rows: rows.slice(0, 0))
    with pytest.raises(DamagedError, match="no row of the finished trial `trial-0`"):
        _ = load(tmp_path / "out").judged


def test_a_resumed_campaign_refuses_a_malformed_table(folder):
    as_if_running(folder)
    path = folder / "tables/trials/chunk=0000/rows.parquet"
    pq.write_table(without("spec")(pq.read_table(path, partitioning=None)), path)
    record = folder / "trials/chunk=0000.json"
    members = json.loads(record.read_text("utf-8"))
    members["files"]["tables/trials/chunk=0000/rows.parquet"] = [list(checksum_of(path))]
    del members["checksum"]
    record.write_bytes(trial_file.with_checksum(trial_file.json_record.text_of(members)))
    with pytest.raises(DamagedError, match="it has no column `spec`"):
        campaigns.run(a_campaign(), folder, jobs=1)


def test_a_trial_file_with_a_malformed_table_is_no_trial(tmp_path):
    origin = trial_file.TrialIdentity("home", "trial-0", "sim", trial_file.spec_digest("{}"))
    sound = {"flow": ["a"], "metric": ["m"], "value": np.array([1.5])}
    path = Folder(tmp_path).part_path(0)
    path.parent.mkdir()
    for columns, problem in (
        (sound, None),
        ({"flow": [], "metric": [], "value": []}, None),
        (sound | {"value": ["x"]}, "the column `value` is of type string"),
        ({"flow": ["a"], "value": np.array([1.5])}, "it has no column `metric`"),
        (sound | {"value": np.array([np.nan])}, None),
        (sound | {"value": np.array([-np.inf])}, "the column `value` holds -inf;"),
    ):
        outcome = {"tables": {"apps": columns}, "digest": "0", "events": 1, "packets": 1}
        path.write_bytes(trial_file.encode(outcome, "{}", origin))
        fault = trial_file.fault_of(path, origin)
        assert fault is None if problem is None else f"in the table `apps`, {problem}" in fault


def test_the_columns_are_those_documented():
    for table, columns in table_form.COLUMNS.items():
        assert set(columns) == set(documented(table)), table
        assert set(table_form.ABSENT.get(table, ())) <= set(columns), table


def test_a_column_that_a_table_may_lack_is_null(folder):
    path = folder / "tables/rtt/chunk=0000/rows.parquet"
    assert "rtt_p50_ms" not in pl.read_parquet(path).columns
    found = load(folder).table("rtt")["rtt_p50_ms"]
    assert found.dtype == pl.Float64 and found.null_count() == len(found) > 0
