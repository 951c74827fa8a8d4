"""SQL queries: answers, refusals and hints."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.results.query.campaigns import find
from aqmlab.results.query.session import Session
from aqmlab.results.query.units import unit_of
from aqmlab.scenario import catalogue
from support.campaigns import (
    last_byte_of,
)

MEDIANS = (
    "SELECT rate, queue, median(rtt_p50_ms) AS rtt_ms FROM flows WHERE flow = 'call'"
    " GROUP BY ALL ORDER BY ALL"
)


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


@pytest.mark.parametrize("name", ["a.json", "a.parquet"])
def test_columns_of_one_name_are_refused_where_one_would_be_lost(ask, tmp_path, name):
    path = tmp_path / name
    sql = "SELECT f.trial, w.trial, w.seed FROM flows f JOIN windows w USING (flow) LIMIT 1"
    status, _, err = ask(sql, "--out", str(path))
    assert status == 2 and not path.exists()
    assert "error: the answer has 2 columns `trial`" in err and "its own name with AS" in err
    assert ask(sql, "--format", "csv")[0] == 0
    sql = sql.replace("w.trial", "w.trial AS other")
    assert ask(sql, "--out", str(path))[0] == 0 and path.exists()


def test_without_sql_the_tables_are_listed_with_their_units(ask, home_results):
    status, out, _ = ask()
    assert status == 0
    assert re.search(r"^flows \(60 rows\)$", out, re.M)
    assert re.search(r"^  rtt_p50_ms +double +ms$", out, re.M)
    tables = json.loads(ask("--format", "json")[1])
    assert [table["table"] for table in tables] == sorted(
        [*home_results.tables, "quality", "verdicts"]
    )
    flows = next(table for table in tables if table["table"] == "flows")
    assert [column["name"] for column in flows["columns"]] == home_results.flows.columns


def test_units_are_those_of_the_document():
    folder = Path(__file__).parents[2] / "docs/reference"
    pages = [folder / "results.md", folder / "verdicts.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    rows = re.findall(r"^\| `(\w+)` \| ([^|`]*) \| ", text, re.M)
    rows = [row for row in rows if row[0] not in catalogue.load()["apps"]]  # kinds, not columns
    assert len(rows) > 60
    other = {"by the metric": "", "by the gauge": "", "by the need": "", "": ""}
    wrong = [(name, unit) for name, unit in rows if unit_of(name) != other.get(unit, unit)]
    assert not wrong


@pytest.mark.parametrize(
    ("sql", "problem", "hint"),
    [
        ("SELECT rtt_p50 FROM flows", 'column "rtt_p50" not found', "`rtt_p50_ms`"),
        ("SELECT f.rtt_p5ms FROM flows f", '"rtt_p5ms"', "`rtt_p5_ms`"),
        ("SELECT * FROM flow", "flow does not exist", "did you mean `flows`?"),
        ("SELECT cwnd_bytes FROM flows", "cwnd_bytes", "is a column of `tcp_series`"),
        ("SELECT rate, queue, verdict FROM apps", '"verdict"', "is a column of `verdicts`"),
        ('SELECT * FROM flows WHERE rate = "slow"', '"slow"', "single quotes: 'slow'"),
        ("SELECT medan(rtt_p50_ms) FROM flows", "medan", "did you mean `median`?"),
        ("SELEC 1", "syntax error", ""),
        ("SELECT 1; SELECT 2", "2 statements", "one SELECT"),
        ("", "0 statements", "one SELECT"),
        ("DROP VIEW flows", "DROP: not a query", ""),
        ("SET memory_limit = '9GB'", "SET: not a query", ""),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO 'x'", "EXPLAIN: not a query", ""),
        ("SELECT 1 AS a INTO b", "", ""),
        ("WITH x AS (COPY flows TO 'x') FROM x", "COPY within WITH: not a query", "--out"),
        ("FROM (WITH x AS (COPY flows TO 'x') FROM x)", "COPY within WITH: not a query", ""),
        ("WITH x AS (DELETE FROM flows RETURNING 1) FROM x", "DELETE within WITH", ""),
        ("WITH x AS (INSERT INTO flows VALUES (1)) SELECT 1", "INSERT within WITH", ""),
        ("WITH x AS (UPDATE flows SET rate = 'a') SELECT 1", "UPDATE within WITH", ""),
        ("SELECT '\udcff'", "the SQL is not text in UTF-8", ""),
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
        "WITH x AS (COPY (SELECT 1) TO '{folder}/stolen.csv') FROM x",
        "WITH x AS (COPY (SELECT 1) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)) FROM x",
        "SELECT * FROM query('WITH x AS (COPY flows TO ''{folder}/stolen.csv'') FROM x')",
        "SELECT * FROM read_parquet('{table}')",
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


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 42) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)",
        "WITH x AS (COPY (SELECT 42) TO '{table}' (FORMAT parquet, USE_TMP_FILE false)) FROM x",
        "EXPORT DATABASE '{folder}'",
        "ATTACH '{folder}/stolen.db'",
        "INSERT INTO flows (rate) VALUES ('1')",
        "DELETE FROM flows",
    ],
)
def test_nothing_can_be_written_also_if_everything_were_run(
    home_results, tmp_path, monkeypatch, sql
):
    monkeypatch.setattr(Session, "_refuse_more_than_questions", lambda self, sql: None)
    table = next((home_results.path / "tables" / "flows").glob("*/*.parquet"))
    before = table.read_bytes()
    with (
        pytest.raises(RequestError),
        Session(home_results.path, find(home_results.path)) as session,
        session.ask(sql.format(table=table, folder=tmp_path)) as answer,
    ):
        list(answer.rows())
    assert table.read_bytes() == before and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(a.range * b.range % 7) FROM range(1000000000) a, range(1000000) b",
        "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",  # one row takes a minute
    ],
)
def test_time_is_bounded(ask, sql):
    status, out, err = ask(sql, "--timeout", "0.3")
    assert (status, out) == (2, "") and "error: the answer takes longer than 0.3 s" in err
    assert "--timeout" in err


@pytest.mark.parametrize("form", ["a.csv", "a.parquet"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT repeat('x', 2000000000)",
        pytest.param(
            "SELECT repeat('x', 1000000) FROM range(2000)",  # not counted by DuckDB
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds it"),
        ),
    ],
)
def test_memory_is_bounded(ask, tmp_path, sql, form):
    status, _, err = ask(sql, "--memory", "100MB", "--out", str(tmp_path / form))
    assert status == 2 and "error: the answer takes more memory than 100.0 MB" in err
    assert "--memory" in err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--timeout", ["1e+30", "inf", "nan", "0", "-1"]),
        ("--memory", ["lots", "-5", "-5GB", "5", "0GB", "80%", ""]),
    ],
)
def test_limits_that_are_none_are_refused(ask, option, values):
    for value in values:
        status, _, err = ask("SELECT 1", option, value)
        assert status == 2 and err.startswith(f"error: {option} {value}: not ")


def test_a_process_that_dies_is_said_with_what_helps(ask, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    status, out, err = ask("SELECT 1")
    assert (status, out) == (2, "") and "the query process ended with status 1" in err


@pytest.mark.parametrize("form", ["a.csv", "a.json", "a.parquet"])
def test_a_file_is_as_it_was_until_it_has_the_whole_answer(ask, tmp_path, form):
    (tmp_path / form).write_text("before")
    late = "SELECT CASE range WHEN 200000 THEN 'x' ELSE '1' END::INT AS a FROM range(300000)"
    status, _, err = ask(late, "--out", str(tmp_path / form))
    assert status == 2 and "Could not convert string 'x'" in err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_an_answer_takes_the_place_of_files_only(ask, tmp_path):
    for place, what in (("/dev/null", "a pipe or a device"), (str(tmp_path), "a folder")):
        status, _, err = ask("SELECT 1", "--format", "csv", "--out", place)
        assert status == 2 and err.startswith(f"error: {place}: cannot be written: it is {what}")


@pytest.mark.parametrize("sql", ["SELECT sum(throughput_mean_mbit) FROM flows", "FROM verdicts"])
def test_a_flipped_bit_is_found_by_a_question(home_results, tmp_path, sql):
    shutil.copytree(home_results.path, tmp_path / "out")
    path = tmp_path / "out" / "tables" / "flows" / "chunk=0000" / "rows.parquet"
    data = bytearray(path.read_bytes())
    data[last_byte_of(path, "throughput_mean_mbit")] ^= 1
    path.write_bytes(data)
    with (
        pytest.raises(RequestError, match=r"flows/chunk=0000/rows\.parquet: is damaged"),
        Session(tmp_path / "out", find(tmp_path / "out")) as session,
        session.ask(sql) as answer,
    ):
        list(answer.rows())


def test_the_catalogue_is_what_duckdb_reads(home_results, monkeypatch):
    monkeypatch.chdir(home_results.path)
    with duckdb.connect() as connection:
        connection.execute(Path("catalogue.sql").read_text())
        for name in home_results.tables:
            rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            assert rows == (len(home_results.table(name)),)


def test_the_process_that_answers_imports_nothing_that_reads_manifests(home_results):
    """An import of pydantic would take as long as the caller's search for the tables."""
    code = (
        "import sys; import aqmlab.results.query.answerer as one; one._import_heavy();"
        "heavy = ('pydantic', 'numpy', 'aqmlab.campaign.store.folder');"
        "print([name for name in heavy if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
