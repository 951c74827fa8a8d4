"""Trials on the real kernel in a campaign: workers, records and continuation."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from aqmlab.api import Request, campaign_for
from aqmlab.campaign import runner as campaigns
from aqmlab.campaign.runner import Silence
from aqmlab.campaign.store.folder import Trial
from aqmlab.results.results import load

pytestmark = pytest.mark.vm

SCENARIO = """
title = "An upload"
duration = "2 s"
path = { rate = "12/1 Mbit/s", rtt = "40 ms", qdisc = "fq_codel" }
apps.file = { kind = "bulk", direction = "up" }
"""


def machines() -> list[int]:
    """The process ids of the machines that workers of this process have started."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            program = (place / "comm").read_text()
            group = os.getpgid(int(place.name))
            parent = int(Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # the process has ended
            continue
        if program.startswith("qemu") and parent == os.getpid():
            found.append(int(place.name))
    return found


class Told(Silence):
    """Records the progress of trials, and the finished trials."""

    def __init__(self) -> None:
        self.moves: list[tuple[int, float]] = []
        self.ended: list[tuple[int, str | None]] = []

    def moved(self, trial: Trial, seconds: float) -> None:
        self.moves.append((trial.seed, seconds))

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        self.ended.append((trial.seed, problem))


class Rough(Told):
    """Kills the first machine during its trial, and stops the campaign when a trial has ended."""

    def moved(self, trial: Trial, seconds: float) -> None:
        super().moved(trial, seconds)
        if len(self.moves) == 1:
            (machine,) = machines()
            os.kill(machine, signal.SIGKILL)

    def done(self, trial: Trial, problem: str | None, busy_s: float | None) -> None:
        super().done(trial, problem, busy_s)
        raise KeyboardInterrupt


def test_a_campaign_outlives_its_machines_and_does_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "upload.toml").write_text(SCENARIO)
    request = Request(tmp_path / "upload.toml", seeds=2, engine="kernel")
    campaign, folder = campaign_for(request, request.plan()), tmp_path / "out"

    rough = Rough()
    with pytest.raises(KeyboardInterrupt):
        campaigns.run(campaign, folder, jobs=1, progress=rough)
    # A machine that dies is started once more, and its trial starts again.
    assert rough.moves[:2] == [(1, 1.0), (1, 1.0)] and rough.ended == [(1, None)]
    assert not machines()

    rest = Told()
    assert campaigns.run(campaign, folder, jobs=1, progress=rest).run == 1
    assert {seed for seed, _ in rest.moves} == {2} and rest.ended == [(2, None)]
    results = load(folder)
    assert results.complete and results.engine == "kernel"
    assert results.flows.filter(direction="up")["packets_received"].min() > 100
    assert campaigns.run(campaign, folder).run == 0
