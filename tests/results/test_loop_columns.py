"""The column of a loop holds the value of each trial, for any name of the loop."""

import csv
import io
import json

import polars as pl
import pytest
from aqmlab import api
from aqmlab.cli import status_of
from aqmlab.report.figures.data import carrying
from aqmlab.results.verdicts.columns import COLUMNS, conditions
from aqmlab.scenario.column_names import RESERVED, is_column

LABELS = ("queue_label", "place_label", "ways", "app", "copy")
OWN = ("flow", "digest", "spec", "value", "kind", "verdict", "Loss_Percent", "metric", "link")
WORDS = ("select", "order", "group", "table", "from", "all", "true", "null", "end",
         "Größe", "a b", "x.y", "z-1", "columns", "rowid")  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a campaign with a loop of each name. The loop `last` has two values."""
    folder = tmp_path_factory.mktemp("loops")
    loops = [f'"{name}" = [{{ label = "{name} it is" }}]' for name in (*OWN, *WORDS, *LABELS)]
    scenario = folder / "loops.toml"
    scenario.write_text(
        'duration = "1 s"\npath.rate = "12/1 Mbit/s"\napps.p.kind = "ping"\n[vary]\n'
        + "\n".join(loops)
        + '\nlast = [{ label = "1 ms", path.rtt = "1 ms" }, { label = "2 ms", path.rtt = "2 ms" }]'
    )
    return api.run(scenario, out=folder / "out")


def test_each_table_has_each_condition_once_also_for_who_ignores_case(results):
    for name in results.tables:
        columns = results.table(name).columns
        folded = [column.casefold() for column in columns]
        assert len(set(folded)) == len(folded), name
        for condition in (*OWN, *WORDS):
            column = next(one for one in (f"condition.{condition}", condition) if one in columns)
            read = results.table(name).select(pl.col(column))
            assert read.columns == [column]
            assert set(read[column]) <= {f"{condition} it is"}, name
            assert read.is_empty() == results.table(name).is_empty()


def test_labels_do_not_depend_on_the_names_of_loops(results):
    labels = {one.queue for one in results.labels.values()}
    found = carrying(results, "flows")
    assert set(results.labelled("flows")["queue_label"]) == labels
    assert set(found["queue_label"]) == {"RTT 1 ms", "RTT 2 ms"}, "the lines under one queue"
    assert set(found["app"]) == {"p"}


def test_what_polars_reads_from_the_folder_is_what_was_run(results):
    for name in results.tables:
        frame = pl.read_parquet(results.path / "tables" / name)
        said = set() if frame.is_empty() else {"1 ms", "2 ms"}
        assert set(frame["last"]) == said


def test_the_list_of_tables_gives_names_that_sql_takes(results, capsys):
    assert status_of(["query", str(results.path)]) == 0
    table, found = "", {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("  "):
            found.setdefault(table, []).append(line.split("  ")[1].strip())
        elif line:
            table = line.split(" (")[0]
    assert {*results.tables, "verdicts", "quality"} == set(found)
    for table, names in found.items():
        status = status_of(["query", str(results.path), f"SELECT {', '.join(names)} FROM {table}",
                            "--format", "csv"])  # fmt: skip
        captured = capsys.readouterr()
        assert status == 0, captured.err
        head, *rows = csv.reader(io.StringIO(captured.out))
        assert head == [name.strip('"') for name in names]
        assert {row[head.index("last")] for row in rows} <= {"1 ms", "2 ms"}


def test_verdicts_call_conditions_otherwise_where_they_have_such_a_column():
    front = conditions(["trial", "KIND", "rate", "seed", "digest"])
    assert front == {"KIND": "condition.KIND", "rate": "rate"}


def test_the_manifest_has_the_conditions_by_their_own_names(results):
    manifest = json.loads((results.path / "manifest.json").read_text())
    assert manifest["conditions"] == [*OWN, *WORDS, *LABELS, "last"]


def test_reserved_names_are_those_that_readers_put_in_front():
    assert all(not is_column(name) and not is_column(name.upper()) for name in RESERVED)
    assert all(map(is_column, COLUMNS)), "these are called condition.NAME where they would hide"
