"""`aqmlab validate` on the command line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from aqmlab.cli import status_of
from aqmlab.validation import engines, grid

from .support import RECIPE, Shop, slow_kernel, small


@pytest.fixture(autouse=True)
def shop(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """The small grid in place of the packaged grid, and a fake kernel."""
    folder = tmp_path_factory.mktemp("shop")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(grid, "load", small)
    shop = Shop(folder)
    monkeypatch.setattr(engines, "kernel", shop)
    return shop


def _validate(*arguments: object) -> int:
    return status_of(["validate", *map(str, arguments)])


def test_it_grows_compares_reports_and_ends_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = ("--reference", tmp_path / "set")
    assert _validate("--regenerate", "--missing", *place) == 0
    assert "10 new" in capsys.readouterr().err
    assert _validate(*place, "--report", tmp_path / "report.html") == 0
    shown = capsys.readouterr()
    assert "throughput" in shown.out and "rule: met" in shown.err
    monkeypatch.setenv("COLUMNS", "80")
    assert _validate(*place) == 0
    assert "throughput" in capsys.readouterr().out, "where there is little room, too"
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert _validate(*place, "--regenerate", "alone.codel") == 0
    assert "3 reproduced" in capsys.readouterr().err


def test_a_file_of_a_cell_that_is_gone_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--regenerate", "--missing", "--reference", tmp_path, "--seeds", 1, "alone.codel")
    assert _validate(*asked) == 0
    shutil.copy(tmp_path / "alone.codel.json.gz", tmp_path / "gone.codel.json.gz")
    assert _validate(*asked) == 0
    said = capsys.readouterr().err
    assert f"warning: {tmp_path / 'gone.codel.json.gz'}: the grid has no such cell" in said
    assert said.count("no such cell") == 1


def test_a_kernel_that_is_another_gives_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shop: Shop
) -> None:
    place = ("--reference", tmp_path)
    assert _validate("--regenerate", *place, "--seeds", 1) == 0
    shop.run, shop.recipe = slow_kernel, RECIPE | {"kernel": "6.1.1-fake"}
    assert _validate("--regenerate", *place, "--seeds", 1) == 1
    said = capsys.readouterr().err
    assert "warning: the kernel was 6.1.0-fake and is 6.1.1-fake: 3 trials may not" in said
    assert "3 DIFFERENT" in said
    assert _validate("--regenerate", "--renew", *place, "--seeds", 1) == 0
    assert "3 renewed" in capsys.readouterr().err
    assert _validate(*place, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["accepted"] is False and found["trials"] == 3


def test_a_sample_is_reproduced_cell_by_cell_or_gives_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shop: Shop
) -> None:
    place = ("--reference", tmp_path)
    sample = ("--regenerate", "--sample", 2, *place)
    assert _validate(*sample) == 2
    assert "no trial of these cells to sample" in capsys.readouterr().err
    assert _validate("--regenerate", "--missing", *place) == 0
    capsys.readouterr()
    assert _validate(*sample, "--draw", 5) == 0
    first = capsys.readouterr().err
    assert "`--draw 5` draws them again" in first and "2 reproduced" in first
    assert len(re.findall(r"^\[\d/2\] \S+ seed \d: reproduced$", first, re.M)) == 2
    assert _validate(*sample) == 0
    assert re.search(r"`--draw \d+` draws them again", capsys.readouterr().err)
    shop.run = slow_kernel
    assert _validate(*sample, "--draw", 5) == 1
    said = capsys.readouterr().err
    assert "2 DIFFERENT" in said and "made by the same kernel, QEMU and agent" in said


def test_it_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _validate("--list", "--cells", "alone.*", "--reference", tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].split()[:2] == ["alone.codel", "0/3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.*",), "no cell is called `nothing.*`"),
        (("--missing",), "need --regenerate"),
        (("--sample", 3), "need --regenerate"),
        (("--regenerate", "--missing", "--renew"), "exclude each other"),
        (("--regenerate", "--draw", 3), "--draw needs --sample"),
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
