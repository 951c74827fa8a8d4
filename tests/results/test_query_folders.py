"""SQL queries of folders: several campaigns, links, unfinished and changing campaigns."""

import shutil

import polars as pl
import pytest
from aqmlab.base.checksums import checksum_of
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.store import dataset
from aqmlab.cli import status_of
from aqmlab.results.query import process
from aqmlab.results.query.campaigns import find
from aqmlab.results.query.process import answer
from aqmlab.results.query.question import Question
from aqmlab.results.query.session import Session
from aqmlab.results.results import load
from support.campaigns import (
    as_if_running,
    campaign_of,
    grid,
    rewrite_manifest,
    spec_of,
)


def test_several_campaigns_in_a_folder_are_asked_together(home_results, tmp_path):
    for name in ("home/seed-1", "home/seed-2"):
        shutil.copytree(home_results.path, tmp_path / "study" / name)
    with Session(tmp_path / "study", find(tmp_path / "study")) as session:
        sql = "SELECT campaign, count(*) FROM flows GROUP BY ALL ORDER BY ALL"
        with session.ask(sql) as answer:
            assert answer.columns[0] == "campaign"
            assert list(answer.rows()) == [("home/seed-1", 60), ("home/seed-2", 60)]


def test_campaigns_that_lie_deeper_are_named_in_a_warning(home_results, tmp_path, capsys):
    for name in ("a", "b", "study/home/seed-1", "study/home/seed-2", "other/seed-1"):
        shutil.copytree(home_results.path, tmp_path / name)
    sql = "SELECT DISTINCT campaign FROM flows ORDER BY ALL"
    assert status_of(["query", str(tmp_path), sql]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["campaign", "a", "b"]
    assert (
        shown.err.startswith("warning: the query leaves out")
        and str(tmp_path / "a") not in shown.err
    )
    assert f"{tmp_path / 'other'}, {tmp_path / 'study'}\n" in shown.err
    assert status_of(["query", str(tmp_path / "study"), sql]) == 0
    shown = capsys.readouterr()
    assert shown.out.split() == ["campaign", "home/seed-1", "home/seed-2"] and not shown.err


def test_files_of_a_table_may_have_different_columns(home_results, tmp_path):
    shutil.copytree(home_results.path, tmp_path / "study" / "a")
    shutil.copytree(home_results.path, tmp_path / "study" / "b")
    name = "tables/flows/chunk=0000/rows.parquet"
    path = tmp_path / "study" / "b" / name
    pl.read_parquet(path).drop("queue").with_columns(pl.col("seed").cast(float)).write_parquet(path)
    files = home_results.manifest.files | {name: checksum_of(path)}
    rewrite_manifest(tmp_path / "study" / "b", files=files)
    sql = "SELECT campaign, count(queue) FROM flows WHERE seed = 1 GROUP BY ALL ORDER BY ALL"
    with (
        Session(tmp_path / "study", find(tmp_path / "study")) as session,
        session.ask(sql) as answer,
    ):
        rows = list(answer.rows())
    assert [name for name, _ in rows] == ["a", "b"] and rows[0][1] > 0 == rows[1][1]


def test_a_campaign_may_be_asked_while_it_is_unfinished(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dataset, "CHUNK", 2)
    specs = [({"flow": "a"}, spec_of("pie", seed=seed)) for seed in (1, 2, 3)]
    specs.append(({"share": 1}, spec_of("pie", behaviour="crash once", seed=4, extra="yes")))
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    assert status_of(["query", str(tmp_path / "out"), "SELECT count(*) AS n FROM trials"]) == 0
    shown = capsys.readouterr()
    assert (
        shown.out.split() == ["n", "3"]
        and "1 of 4 planned trials are not in the tables" in shown.err
        and "claim" not in shown.err
    )


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(RequestError, match="not the folder of a campaign"):
        find(tmp_path)
    campaigns.run(campaign_of(grid(queues=("pie",), seeds=(1,))), tmp_path / "out", jobs=1)
    shutil.rmtree(tmp_path / "out" / "tables")
    as_if_running(tmp_path / "out")
    with pytest.raises(RequestError, match="tables of the campaign hold no trial yet"):
        find(tmp_path / "out")


def test_a_file_that_is_a_link_is_known_by_what_it_leads_to(home_results, tmp_path, capsys):
    shutil.copytree(home_results.path, tmp_path / "out")
    asked = ["query", str(tmp_path / "out"), "SELECT count(*) AS n FROM flows", "--format", "csv"]
    (file,) = (tmp_path / "out" / "tables" / "flows").glob("*/*.parquet")
    file.rename(tmp_path / "flows.parquet")
    file.symlink_to(tmp_path / "flows.parquet")
    assert status_of(asked) == 0
    assert capsys.readouterr().out.split() == ["n", str(home_results.flows.height)]
    (tmp_path / "flows.parquet").write_bytes(b"x")
    assert status_of(asked) == 2
    assert f"{file}: is damaged: it has 1 bytes" in capsys.readouterr().err


def test_a_folder_of_links_to_campaigns_is_read_as_they_are(home_results, tmp_path, capsys):
    (tmp_path / "links").mkdir()
    for name in ("a", "b"):
        (tmp_path / "links" / name).symlink_to(home_results.path)
    rows = str(home_results.flows.height)
    sql = "SELECT campaign, count(*) AS n FROM flows GROUP BY ALL ORDER BY ALL"
    assert status_of(["query", str(tmp_path / "links"), sql, "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["campaign,n", f"a,{rows}", f"b,{rows}"]
    linked = tmp_path / "links" / "a"
    assert load(linked).flows.equals(home_results.flows, null_equal=True)
    assert status_of(["verify", str(linked)]) == 0
    assert status_of(["query", str(linked), "SELECT count(*) FROM flows"]) == 0


def test_a_question_is_asked_again_when_a_campaign_has_replaced_a_file(
    home_results, tmp_path, monkeypatch
):
    folder = tmp_path / "out"
    shutil.copytree(home_results.path, folder)
    once, before = iter([True]), process.find

    def find_and_replace(path):
        files = before(path)
        if next(once, False):
            replace_flows(folder)
        return files

    monkeypatch.setattr(process, "find", find_and_replace)
    question = Question(str(folder), "SELECT count(*) AS n FROM flows", "csv")
    said = b"".join(answer(question, lambda _: None))
    assert said.split() == [b"n", str(home_results.flows.height).encode()]


def replace_flows(folder):
    """Rewrites the table `flows` of a campaign with the same rows in different bytes.

    Updates the checksum in the manifest.
    """
    (path,) = (folder / "tables" / "flows").glob("*/*.parquet")
    pl.read_parquet(path).write_parquet(path)
    name = path.relative_to(folder).as_posix()
    files = load(folder).manifest.files | {name: checksum_of(path)}
    rewrite_manifest(folder, files=files)
