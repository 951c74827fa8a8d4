"""The fixtures of the tests of commands."""

import pytest
from support.campaigns import fake_engine as fake_engine

SCENARIO = """
title = "Two flows"
duration = "4 s"

[path]
rate = "12/1 Mbit/s"
rtt = "40 ms"

[apps.upload]
kind = "bulk"
direction = "up"

[apps.call]
kind = "voip"

[vary]
path.qdisc = ["pfifo", "fq_codel"]
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The working folder of the command, with the scenario file `home.toml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "home.toml").write_text(SCENARIO)
    return tmp_path
