"""A user's program, checked with `mypy --strict` against the installed package."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import aqmlab
import pytest
from aqmlab.campaign.store.layout import TRIALS
from aqmlab.results.results import CampaignResults

ROOT = Path(__file__).parents[1]

PROGRAM = """
from pathlib import Path
from typing import assert_type

import aqmlab
import polars as pl
from aqmlab.campaign.store.manifest import Manifest, TrialEntry
from aqmlab.engines.trial_spec import TrialSpec
from aqmlab.report.figures.drawing import Drawings
from aqmlab.results.labels import Label

home = aqmlab.Scenario.from_toml(Path("home.toml").read_text())
assert_type(home, aqmlab.Scenario)
assert_type(home.path.rtt, aqmlab.Duration)
assert_type(home.path.rtt.ns, int)
assert_type(home.set("path.qdisc", "fq_codel"), aqmlab.Scenario)
assert_type(aqmlab.Rate.parse("12 Mbit/s").bps, int)
results = aqmlab.run(home, seeds=3, path__rtt=["20 ms", "40 ms"], out="results")
assert_type(results, aqmlab.Results)
assert_type(aqmlab.load("results"), aqmlab.Results)
assert_type(results.flows, pl.DataFrame)
assert_type(results.tcp_series, pl.DataFrame)
assert_type(results.table("verdicts"), pl.DataFrame)
assert_type(results.labelled("flows"), pl.DataFrame)
assert_type(results.scan("windows"), pl.LazyFrame)
assert_type(results.labels, dict[str, Label])
assert_type(results.manifest, Manifest)
assert_type(results.manifest.trials[0], TrialEntry)
assert_type(results.spec("seed=1"), TrialSpec)
assert_type(results.digest, str | None)
assert_type(results.complete, bool)
assert_type(results.path, Path)
assert_type(results.report(), Path)
assert_type(results.figure("throughput"), Drawings)
assert_type(results.figure("throughput")[0].rendered("png"), bytes)
try:
    results.flowz  # type: ignore[attr-defined]
    aqmlab.Scenarios  # type: ignore[attr-defined]
    aqmlab.run(home, jobs="two")  # type: ignore[arg-type]
except (aqmlab.LabError, aqmlab.ScenarioError) as error:
    assert_type(error.problem, str)
    assert_type(error.hint, str | None)
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_strictly_typed_program_of_a_user_is_accepted(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    cache = ROOT / ".mypy_cache" / "user"
    strict = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), "program.py"]
    done = subprocess.run(strict, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_says_that_it_has_types():
    assert Path(aqmlab.__file__).with_name("py.typed").is_file()


def test_each_table_has_a_type(home_results):
    source = Path(sys.modules[CampaignResults.__module__].__file__).read_text()
    for name in (*home_results.tables, TRIALS):
        assert f"        {name}: pl.DataFrame" in source, name
