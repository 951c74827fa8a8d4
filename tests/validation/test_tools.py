"""The tools that find causes: the first difference of two runs, and other start times and seeds."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import apart, phases, tap_packets
from tools.tap_packets import Packet


def packet(t_ms: float, seq: int, lost: bool = False) -> Packet:
    """A segment that the home sends."""
    return Packet(t_ms, True, (0, seq, 0), seq, 1, 100, 500, (), 16, lost)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ([packet(0, 1), packet(10, 101)], None),
        ([packet(0, 1), packet(13, 101)], None),
        ([packet(0, 1), packet(16, 101)], "data packet 1 is +6.000 ms apart"),
        ([packet(0, 1), packet(10, 201)], "data packet 1 differs"),
        ([packet(0, 1, lost=True), packet(10, 201)], "data packet 0 is lost on one side"),
    ],
)
def test_runs_part_at_the_first_packet_that_differs(other: list[Packet], said: str | None) -> None:
    found = apart.parting([packet(0, 1), packet(10, 101)], other, 5.0)
    assert (found and found[0]) == said


def test_sack_blocks_are_found_behind_other_options() -> None:
    blocks = bytes([5, 18, *(0, 0, 0, 9), *(0, 0, 0, 12), *(0, 0, 1, 0), *(0, 0, 1, 4)])
    assert tap_packets.sacks_of(bytes([1, 1, 8, 10, *[0] * 8]) + blocks) == ((9, 12), (256, 260))
    assert tap_packets.sacks_of(bytes([1, 1, 8, 10, *[0] * 8])) == ()


def test_other_starts_move_applications_and_other_seeds_do_not() -> None:
    spec = apart.spec_of("both-ways.pie", 1)
    asked = phases.parse(["both-ways.pie", "--metric", "loss", "--count", "3", "--flow", "up"])
    starts = [{app.name: app.start_ns for app in one.apps} for one in phases.specs(spec, asked)]
    first = starts[0]
    assert [one["up"] - first["up"] for one in starts] == [0, 1_000_000, 2_000_000]
    assert {one["down"] for one in starts} == {first["down"]}

    asked = phases.parse(["both-ways.pie", "--metric", "loss", "--count", "3", "--step", "0"])
    others = list(phases.specs(spec, asked))
    assert [one.seed for one in others] == [1, 2, 3]
    assert all(one.apps == spec.apps for one in others)


def test_other_seeds_move_no_application(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        phases.parse(["both-ways.pie", "--metric", "loss", "--step", "0", "--flow", "up"])
    assert "--step 0 moves none" in capsys.readouterr().err


def test_what_each_run_gave_is_printed_with_the_median(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["upload.pie", "--metric", "throughput", "--count", "3", "--to", "2", "--only", "sim"]
    assert phases.main([*asked, "--keep", str(tmp_path)]) == 0
    title, line = capsys.readouterr().out.strip().splitlines()
    assert title == "throughput, bulk up"
    name, middle, *values = line.split()
    assert (name, len(values)) == ("sim", 3)
    assert middle == values[1]


def test_one_cell_and_a_metric_that_it_has_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="one is wanted"):
        apart.spec_of("upload.*", 1)
    asked = ["upload.pie", "--metric", "opinion", "--to", "1", "--only", "sim"]
    with pytest.raises(SystemExit, match=r"the trial has no `opinion`, only .*\bloss\b"):
        phases.main([*asked, "--keep", str(tmp_path)])


@pytest.mark.parametrize(("status", "passes"), [(0, 1), (1, 0), (2, 1), (3, 1), (4, 0), (127, 0)])
def test_mutants_accepts_survivors_and_timeouts_and_no_other_failure(
    tmp_path: Path, status: int, passes: int
) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text(f'#!/bin/sh\ntest "$2" = --version || exit {status}\n')
    cargo.chmod(0o755)
    script = Path(__file__).parents[2] / "tools/mutants.sh"
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run([script, tmp_path / "none"], cwd=tmp_path, env=path, capture_output=True)
    assert (ran.returncode == 0) == bool(passes), ran.stderr
