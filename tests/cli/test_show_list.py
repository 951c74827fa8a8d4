"""`aqmlab show` without a folder: the campaigns below `results`."""

import json
import os

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import status_of
from aqmlab.results import campaign_list
from support.campaigns import campaign_of, grid, spec_of


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a complete campaign, an unfinished newer campaign, and damaged folders."""
    monkeypatch.chdir(tmp_path)
    campaigns.run(campaign_of(grid(("pie",))), tmp_path / "results" / "whole", jobs=1)
    broken = ({"queue": "pie", "rate": ""}, spec_of("pie", behaviour="refuse"))
    part = tmp_path / "results" / "study" / "part"
    campaigns.run(campaign_of([*grid(("pie",)), broken], name="part\x1b[31m"), part, jobs=1)
    for name, text in (("bad", "{"), ("odd", '{"format": 99}')):
        (tmp_path / "results" / name).mkdir()
        (tmp_path / "results" / name / "manifest.json").write_text(text)
    (tmp_path / "results" / "pipe").mkdir()
    os.mkfifo(tmp_path / "results" / "pipe" / "manifest.json")
    (tmp_path / "results" / "link").symlink_to(tmp_path / "results")
    for age, name in enumerate(["study/part", "whole", "bad", "odd", "pipe"]):
        os.utime(tmp_path / "results" / name / "manifest.json", (1e9 - age, 1e9 - age))
    return tmp_path


def test_campaigns_are_listed_newest_first(here, capsys):
    assert status_of(["show", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["folder"] for one in found] == [
        f"results/{name}" for name in ("study/part", "whole", "bad", "odd", "pipe")
    ]
    part, whole, *damaged = found
    assert (whole["name"], whole["done"], whole["planned"]) == ("fake", 2, 2)
    assert len(whole["digest"]) == 16 and whole["engine"] == "sim" and whole["problem"] is None
    assert whole["size_bytes"] > 10_000 and whole["modified"].startswith("2001-09-09 01:46:")
    assert (part["done"], part["planned"], part["digest"]) == (2, 3, None)
    assert all("manifest.json" in one["problem"] for one in damaged)


def test_a_table_says_the_same(here, capsys):
    assert status_of(["show"]) == 0
    out = capsys.readouterr().out
    assert "2 of 2" in out and "2 of 3" in out and "incomplete" in out and "results/whole" in out
    assert "\x1b[31m" not in out


def test_without_campaigns_it_says_how_to_make_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status_of(["show"]) == 0
    assert "there are no campaigns" in capsys.readouterr().err
    assert status_of(["show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_the_list_is_bounded(here, monkeypatch, capsys):
    monkeypatch.setattr(campaign_list, "MOST_LISTED", 2)
    assert status_of(["show", "--json"]) == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == 2 and "more campaigns" in said.err
    monkeypatch.setattr(campaign_list, "_MOST_FOLDERS", 1)
    assert campaign_list.below(here / "results") == ([], True)


def test_a_huge_manifest_is_not_read(here, monkeypatch):
    monkeypatch.setattr(campaign_list, "_LARGEST_BYTES", 10)
    assert "too much for a list" in campaign_list.below(here / "results")[0][0].problem
