"""The examples give the described results."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from aqmlab.planning import planner

EXAMPLES = Path(__file__).parent.parent / "examples"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_scenario_has_ten_lines_and_shows_the_problem(tmp_path: Path) -> None:
    path = EXAMPLES / "first.toml"
    assert len(path.read_text().splitlines()) == 10
    command = [sys.executable, "-m", "aqmlab", "run", str(path), "--out", str(tmp_path / "first")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    flows = pl.read_parquet(tmp_path / "first" / "tables" / "flows").filter(flow="call")
    late = dict(flows.group_by("qdisc").agg(pl.col("induced_p95_ms").max()).iter_rows())
    assert late["pfifo"] > 1_000 > 50 > late["fq_codel"]
    assert (tmp_path / "first" / "report.html").is_file()


def test_the_first_study_says_which_queue_keeps_the_call_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = _module("first_study")
    study.main(tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:4]] == study.QUEUES
    assert all(" opinion score " in line and line.endswith(" Mbit/s") for line in said[:4])
    assert (tmp_path / "first_study.png").stat().st_size > 10_000
    rows = study.measure()
    assert rows.height == len(study.QUEUES) * 5
    scores = dict(rows.group_by("qdisc").agg(pl.col("mos").median()).iter_rows())
    assert scores["pfifo"] < 2 < 4 < scores["fq_codel"]
    assert min(study.against_fifo(rows, "fq_codel")) > 2
    # The backup loses little goodput with FQ-CoDel.
    goodput = dict(rows.group_by("qdisc").agg(pl.col("goodput_mbit").median()).iter_rows())
    assert goodput["fq_codel"] > 0.9 * goodput["pfifo"]


def test_the_teacup_household_is_read_whole() -> None:
    made = planner.load(EXAMPLES / "teacup" / "household.py")
    assert len(made.trials) == 16
    assert made.conditions == ("down", "up", "delay", "aqm")
    kinds = {app.name: app.app.kind for app in made.trials[0].spec.apps}
    assert kinds == {
        "ping-1": "ping",
        "dash-3": "dash",
        "game-4": "game",
        "iperf-5": "bulk",
        "iperf-6": "bulk",
    }
    unread = [text for text in made.warnings if "passed over" in text or "is not read" in text]
    assert not unread
