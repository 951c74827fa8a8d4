"""Studies on a real Dask cluster."""

import json

import pytest
from aqmlab.cli import status_of
from support.campaigns import bytes_of


def refuse(*_):
    raise AssertionError("a trial was run on this machine")


def test_a_study_on_a_cluster_gives_the_bytes_and_the_verdicts_of_one_machine(
    tiny, tmp_path, dask, monkeypatch, capsys
):
    verdicts = {}
    for where in (("--cluster", dask.address()), ("--jobs", "1")):
        asked = [str(tiny), "--out", str(tmp_path / where[0]), *where]
        with monkeypatch.context() as patch:
            if where[0] == "--cluster":
                patch.setattr("aqmlab.campaign.local_executor.Pool.run", refuse)
            assert status_of(["reproduce", *asked, "--figure", "1b"]) == 0
            capsys.readouterr()
            assert status_of(["claims", *asked, "--seeds", "3", "--json"]) == 0
            verdicts[where[0]] = json.loads(capsys.readouterr().out)
    there, here = (bytes_of(tmp_path / name) for name in ("--cluster", "--jobs"))
    del there["index.html"], here["index.html"]  # these contain the command
    assert there == here
    assert verdicts["--cluster"] == verdicts["--jobs"]
    assert [one["verdict"] for one in verdicts["--cluster"]][:2] == ["holds", "fails"]


@pytest.mark.parametrize("command", ["reproduce", "claims"])
def test_where_nobody_answers_a_study_says_so(command, tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("aqmlab.campaign.dask_executor._CONNECT_S", 0.2)
    out = ["--out", str(tmp_path / "out")]
    assert status_of([command, str(tiny), *out, "--cluster", "tcp://127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert "no scheduler can be reached" in said and "aqmlab cluster" in said
