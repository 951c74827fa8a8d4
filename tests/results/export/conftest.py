import os
import shutil
import subprocess
import sys
from pathlib import Path

import aqmlab
import pytest
from aqmlab.results.export import flent
from aqmlab.results.export.trials import read

HOME = """
title = "A home"
duration = "12 s"
path = { rate = "12/1 Mbit/s", rtt = "40 ms" }
apps.call.kind = "voip"
apps.sensor.kind = "iot_high"
apps.film.kind = "dash"
apps.pages = { kind = "web", think = "1 s" }
apps.file = { kind = "bulk", direction = "up" }
vary.path.qdisc = ["pfifo", "fq_codel"]
"""


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The results of a home with several applications, for two disciplines and two seeds."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "home.toml").write_text(HOME)
    return aqmlab.run(folder / "home.toml", seeds=2, out=folder / "results")


@pytest.fixture(scope="session")
def rrul(tmp_path_factory):
    """The results of the built-in scenario `rrul`, whose series fill Flent's test rrul_be."""
    return aqmlab.run("rrul", duration="20 s", out=tmp_path_factory.mktemp("rrul") / "results")


def documents(results):
    """The document in Flent's format for each trial, by the trial's name."""
    return {one.id: flent.document(results, one) for one in read(results, flent.TABLES)}


def installed_flent():
    """The folder of modules of Debian's package flent; `None` if it is not installed."""
    command = shutil.which("flent")
    folder = Path(command).resolve().parent if command else None
    return folder if folder and (folder / "flent" / "resultset.py").is_file() else None


def run_flent(*arguments):
    """Runs Flent with this interpreter, which has matplotlib, and returns Flent's output."""
    env = {**os.environ, "PYTHONPATH": str(installed_flent()), "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "flent", *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
