"""SQL queries of verdicts, which are made on demand."""

import json
import shutil

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset
from aqmlab.cli import status_of
from aqmlab.results.query.campaigns import find
from aqmlab.results.query.session import Session
from support.campaigns import (
    HOME,
    as_if_running,
    campaign_of,
    grid,
    spec_of,
)

VERDICTS = "SELECT DISTINCT rate, queue, flow, verdict FROM verdicts WHERE decides"


def test_verdicts_are_those_of_the_report(ask, home_results):
    status, out, err = ask(VERDICTS, "--format", "json")
    assert (status, err) == (0, "")
    found = {tuple(row.values()) for row in json.loads(out)}
    labels = {label: trial for trial, label in home_results.labels.items()}
    conditions = {one.id: one.conditions for one in home_results.manifest.trials}
    expected = set()
    for one in home_results.judged:
        own = conditions[labels[one.label]]
        expected.add((own["rate"], own["queue"], one.app, one.word))
    assert found == expected and {row[-1] for row in found} == {"good", "tolerable", "bad"}


def test_verdicts_are_made_only_for_those_who_ask_for_them(home_results, monkeypatch):
    monkeypatch.setattr("aqmlab.results.results.judge", lambda results: 1 / 0)
    with Session(home_results.path, find(home_results.path)) as session:
        (table,) = (table for table in session.tables() if table.name == "verdicts")
        assert table.rows is None
        for sql in ("SELECT count(*) FROM flows", "SELECT 1"):
            with session.ask(sql) as answer:
                assert len(list(answer.rows())) == 1
        with pytest.raises(ZeroDivisionError), session.ask("FROM Verdicts"):
            pass


def test_the_columns_of_verdicts_are_known_before_they_are_made(tmp_path):
    specs = [({"verdict": queue, "share": 1}, spec_of(queue)) for queue in ("pie", "pfifo")]
    for name in ("a", "b", "not run yet"):
        campaigns.run(campaign_of(specs), tmp_path / name, jobs=1)
    shutil.rmtree(tmp_path / "not run yet" / "tables")
    as_if_running(tmp_path / "not run yet")
    with Session(tmp_path, find(tmp_path)) as session:
        known = next(one.columns for one in session.tables() if one.name == "verdicts")
        assert [name for name, _ in known[:3]] == ["campaign", "condition.verdict", "share"]
        with session.ask("DESCRIBE verdicts") as answer:
            assert tuple((row[0], row[1]) for row in answer.rows()) == known
        sql = "SELECT campaign, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL"
        with session.ask(sql) as answer:
            assert list(answer.rows()) == [("a", 12), ("b", 12)]


def test_verdicts_of_several_campaigns_are_told_apart(home_results, tmp_path, capsys):
    for name in ("a", "b"):
        shutil.copytree(home_results.path, tmp_path / name)
    sql = "SELECT campaign, count(*) AS n FROM verdicts WHERE decides GROUP BY ALL ORDER BY ALL"
    assert status_of(["query", str(tmp_path), sql, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["campaign,n", "a,24", "b,24"]


def test_verdicts_of_a_campaign_that_runs_are_of_what_is_in_its_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "CHUNK", 2)
    specs = grid(("pie", "fq_codel"), seeds=(1, 2), apps=HOME[:1])
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    for file in (tmp_path / "out" / "tables").glob("*/chunk=0001/*"):
        file.unlink()
    as_if_running(tmp_path / "out")
    with (
        Session(tmp_path / "out", find(tmp_path / "out")) as session,
        session.ask("SELECT DISTINCT queue, seeds FROM verdicts") as answer,
    ):
        assert list(answer.rows()) == [("pie", 2)]
