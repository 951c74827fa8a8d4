"""`aqmlab validate` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aqmlab.cli import status_of
from aqmlab.validate import engines, grid

from .support import RECIPE, fake_kernel, slow_kernel, small


@pytest.fixture(autouse=True)
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small grid in place of the packaged one, and a kernel that is none."""
    monkeypatch.setattr(grid, "load", small)
    monkeypatch.setattr(engines, "kernel", lambda cells, say: (fake_kernel, RECIPE))


def _validate(*arguments: object) -> int:
    return status_of(["validate", *map(str, arguments)])


def test_it_grows_compares_reports_and_ends_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ("--reference", tmp_path / "set")
    assert _validate("--regenerate", "--missing", *place) == 0
    assert "10 new" in capsys.readouterr().err
    assert _validate(*place, "--report", tmp_path / "report.html") == 0
    shown = capsys.readouterr()
    assert "throughput" in shown.out and "rule: met" in shown.err
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert _validate(*place, "--regenerate", "alone.codel") == 0
    assert "3 reproduced" in capsys.readouterr().err


def test_a_kernel_that_is_another_gives_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--reference", tmp_path)
    assert _validate("--regenerate", *place, "--seeds", 1) == 0
    monkeypatch.setattr(engines, "kernel", lambda cells, say: (slow_kernel, RECIPE))
    assert _validate("--regenerate", *place, "--seeds", 1) == 1
    assert "3 DIFFERENT" in capsys.readouterr().err
    assert _validate("--regenerate", "--overwrite", *place, "--seeds", 1) == 1
    capsys.readouterr()
    assert _validate(*place, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["accepted"] is False and found["trials"] == 3


def test_it_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _validate("--list", "--cells", "alone.*", "--reference", tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].split()[:2] == ["alone.codel", "0/3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.*",), "no cell is called `nothing.*`"),
        (("--missing",), "go with --regenerate"),
        (("--metric", "speed"), "there is no metric `speed`"),
        (("--peer", "ns4"), "there is no peer called `ns4`"),
        ((), "the reference set has no trial of these cells"),
    ],
)
def test_a_wrong_request_is_answered(
    tmp_path: Path, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _validate(*arguments, "--reference", tmp_path) == 2
    assert said in capsys.readouterr().err
