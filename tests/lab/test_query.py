"""Questions in SQL: what is answered, what is refused, and what helps."""

import csv
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from aqmlab import campaign as campaigns
from aqmlab import dataset
from aqmlab.cli import status_of
from aqmlab.failures import LabError, RequestError
from aqmlab.query.session import Session
from aqmlab.query.units import unit_of

from .conftest import campaign_of, grid, spec_of

MEDIANS = (
    "SELECT rate, queue, median(rtt_p50_ms) AS rtt_ms FROM flows WHERE flow = 'call'"
    " GROUP BY ALL ORDER BY ALL"
)


@pytest.fixture
def ask(home_results, capsys):
    """Asks the home's results; returns the status, the answer, and what was said besides."""

    def ask(*arguments):
        status = status_of(["query", str(home_results.path), *arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return ask


def test_a_question_is_answered_as_polars_would(ask, home_results):
    status, out, err = ask(MEDIANS, "--format", "json")
    assert (status, err) == (0, "")
    calls = home_results.flows.filter(flow="call")
    expected = calls.group_by("rate", "queue").agg(pl.col("rtt_p50_ms").median().alias("rtt_ms"))
    assert json.loads(out) == expected.sort("rate", "queue").to_dicts()


def test_answers_come_in_every_form(ask, tmp_path):
    _, table, _ = ask(MEDIANS)
    head, *lines = table.splitlines()
    assert head.split() == ["rate", "queue", "rtt_ms"] and len(lines) == 6
    _, text, _ = ask(MEDIANS, "--format", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["queue"] for row in rows] == ["fq_codel", "pfifo", "pie"] * 2
    for name in ("a.csv", "a.json", "a.parquet"):
        assert ask(MEDIANS, "--out", str(tmp_path / name)) == (0, "", "")
    assert (tmp_path / "a.csv").read_text() == text
    assert pl.read_parquet(tmp_path / "a.parquet").to_dicts() == json.loads(
        (tmp_path / "a.json").read_text()
    )
    _, out, err = ask("SELECT * FROM rtt")
    assert len(out.splitlines()) == 201 and "only the first 200 rows" in err


def test_what_is_not_a_number_is_absent_in_json(ask):
    _, out, _ = ask("SELECT 'nan'::DOUBLE AS a, NULL AS b, DATE '2017-01-02' AS c", "--format=json")
    assert json.loads(out) == [{"a": None, "b": None, "c": "2017-01-02"}]


def test_without_sql_the_tables_are_listed_with_their_units(ask, home_results):
    status, out, _ = ask()
    assert status == 0
    assert re.search(r"^flows \(60 rows\)$", out, re.M)
    assert re.search(r"^  rtt_p50_ms +double +ms$", out, re.M)
    tables = json.loads(ask("--format", "json")[1])
    assert [table["table"] for table in tables] == sorted(home_results.tables)
    flows = next(table for table in tables if table["table"] == "flows")
    assert [column["name"] for column in flows["columns"]] == home_results.flows.columns


def test_units_are_those_of_the_document():
    text = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|`]*) \| ", text, re.M)
    assert len(rows) > 60
    other = {"by the metric": "", "by the gauge": "", "": ""}
    wrong = [(name, unit) for name, unit in rows if unit_of(name) != other.get(unit, unit)]
    assert not wrong


@pytest.mark.parametrize(
    ("sql", "problem", "hint"),
    [
        ("SELECT rtt_p50 FROM flows", 'column "rtt_p50" not found', "`rtt_p50_ms`"),
        ("SELECT f.rtt_p5ms FROM flows f", '"rtt_p5ms"', "`rtt_p5_ms`"),
        ("SELECT * FROM flow", "flow does not exist", "did you mean `flows`?"),
        ("SELECT cwnd_bytes FROM flows", "cwnd_bytes", "is a column of `tcp_series`"),
        ('SELECT * FROM flows WHERE rate = "slow"', '"slow"', "single quotes: 'slow'"),
        ("SELECT medan(rtt_p50_ms) FROM flows", "medan", "did you mean `median`?"),
        ("SELEC 1", "syntax error", ""),
        ("SELECT 1; SELECT 2", "2 statements", "one SELECT"),
        ("", "0 statements", "one SELECT"),
        ("DROP VIEW flows", "DROP: only questions", ""),
        ("SET memory_limit = '9GB'", "SET: only questions", ""),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO 'x'", "EXPLAIN: only questions", ""),
        ("SELECT 1 AS a INTO b", "", ""),
    ],
)
def test_what_is_wrong_is_said_with_what_helps(ask, sql, problem, hint):
    status, out, err = ask(sql)
    assert (status, out) == (2, "") and err.startswith("error: ") and "Traceback" not in err
    said, _, helps = err.partition("\n\nhint: ")
    assert problem in said and hint in helps


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_text('{results}/manifest.json')",
        "SELECT * FROM parquet_metadata('{secret}')",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
        "SELECT * FROM query('COPY flows TO ''{folder}/stolen.csv''')",
        "COPY flows TO '{folder}/stolen.csv'",
        "COPY (SELECT 1 AS a) TO '{table}'",
        "ATTACH '{folder}/stolen.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}')",
        "SELECT * FROM duckdb_secrets()",
        "SELECT getenv('HOME')",
        "SELECT * FROM session",
    ],
)
def test_a_question_reaches_nothing_but_the_tables(ask, home_results, tmp_path, sql):
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nxyzzy\n")
    table = next((home_results.path / "tables" / "flows").glob("*/*.parquet"))
    before = table.read_bytes()
    places = {"secret": secret, "folder": tmp_path, "results": home_results.path, "table": table}
    status, out, err = ask(sql.format(**places))
    assert status == 2 and out == "" and "xyzzy" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert table.read_bytes() == before


def test_time_and_memory_are_bounded(home_results):
    endless = "SELECT sum(a.range * b.range % 7) FROM range(1000000000) a, range(1000000) b"
    with (
        pytest.raises(LabError, match=r"longer than 0\.3 s"),
        Session(home_results.path, seconds=0.3) as session,
        session.ask(endless) as answer,
    ):
        list(answer.rows())
    with (
        pytest.raises(LabError) as caught,
        Session(home_results.path, memory="50MB") as session,
        session.ask("SELECT list(range) FROM range(1000000000)") as answer,
    ):
        list(answer.rows())
    assert "--memory" in caught.value.hint
    with pytest.raises(RequestError, match="--memory lots"):
        Session(home_results.path, memory="lots")


def test_several_campaigns_in_a_folder_are_asked_together(home_results, tmp_path):
    for name in ("home/seed-1", "home/seed-2"):
        shutil.copytree(home_results.path, tmp_path / "study" / name)
    with Session(tmp_path / "study") as session:
        sql = "SELECT campaign, count(*) FROM flows GROUP BY ALL ORDER BY ALL"
        with session.ask(sql) as answer:
            assert answer.columns[0] == "campaign"
            assert list(answer.rows()) == [("home/seed-1", 60), ("home/seed-2", 60)]


def test_a_campaign_may_be_asked_while_it_is_unfinished(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dataset, "CHUNK", 2)
    specs = [({"flow": "a"}, spec_of("pie", seed=seed)) for seed in (1, 2, 3)]
    specs.append(({"share": 1}, spec_of("pie", behaviour="crash once", seed=4, extra="yes")))
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    assert status_of(["query", str(tmp_path / "out"), "SELECT count(*) AS n FROM trials"]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["n", "3"] and "1 trials are not in the tables" in shown.err


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(RequestError, match="not the folder of a campaign"):
        Session(tmp_path)
    campaigns.run(campaign_of(grid(queues=("pie",), seeds=(1,))), tmp_path / "out", jobs=1)
    shutil.rmtree(tmp_path / "out" / "tables")
    with pytest.raises(RequestError, match="no trial of the campaign is in its tables yet"):
        Session(tmp_path / "out")


def test_a_table_that_leads_elsewhere_is_refused(home_results, tmp_path):
    shutil.copytree(home_results.path, tmp_path / "out")
    (tmp_path / "secret.parquet").write_bytes(b"x")
    (file,) = (tmp_path / "out" / "tables" / "flows").glob("*/*.parquet")
    file.unlink()
    file.symlink_to(tmp_path / "secret.parquet")
    with pytest.raises(RequestError, match="leads out of the folder"):
        Session(tmp_path / "out")


def test_the_catalogue_is_what_duckdb_reads(home_results, monkeypatch):
    import duckdb

    monkeypatch.chdir(home_results.path)
    with duckdb.connect() as connection:
        connection.execute(Path("catalogue.sql").read_text())
        for name in home_results.tables:
            rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            assert rows == (len(home_results.table(name)),)
