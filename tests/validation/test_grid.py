"""The grid: its required coverage and its names."""

from __future__ import annotations

from pathlib import Path

import pytest
from aqmlab.base.failures import RequestError
from aqmlab.validation import grid
from aqmlab.validation.metrics import METRICS

from .support import SMALL, small

GRID = grid.load()


def _said(key: str) -> set[str]:
    return {str(cell.words[key]) for cell in GRID.cells if key in cell.words}


def test_it_has_the_cells_and_seeds_that_were_promised() -> None:
    assert len(GRID.cells) >= 120
    assert sum(len(cell.seeds) == 10 for cell in GRID.cells) == 79
    assert {len(cell.seeds) for cell in GRID.cells} == {3, 10}
    assert {"1.5/0.5 Mbit/s", "12/1 Mbit/s", "50/10 Mbit/s", "100/40 Mbit/s"} <= _said("rate")
    assert {"4/0.5 Mbit/s", "200/40 Mbit/s"} <= _said("rate")
    assert {"10 ms", "340 ms"} <= _said("rtt")
    assert _said("cc") == {"cubic", "reno", "bbr"}
    kinds = {link.qdisc.kind for cell in GRID.cells for link in cell.spec.links}
    queues = {"pfifo", "bfifo", "pfifo_fast", "codel", "pie", "fq_codel", "fq_pie", "sfq", "red"}
    assert kinds == queues | {"cake"}
    assert sum(cell.group.startswith("cake") for cell in GRID.cells) >= 40
    said = [app for cell in GRID.cells for app in cell.apps.values()]
    assert {app["host"] for app in said if "host" in app} == {"anna", "bert"}
    assert {app["dscp"] for app in said if "dscp" in app} == {"EF", "AF41", "CS1"}
    apps = {app.app.kind for cell in GRID.cells for app in cell.spec.apps}
    assert {"bulk", "bursts", "dash", "web", "voip", "game", "iot_low", "iot_high"} <= apps


def test_every_kin_has_cells_whose_spread_is_known() -> None:
    known = {cell.kin for cell in GRID.cells if len(cell.seeds) == 10}
    for kind in ("fifo", "aqm", "fq"):
        assert {f"{kind} alone", f"{kind} shared"} <= known


def test_seeds_are_the_only_difference_between_trials_of_a_cell() -> None:
    cell = small().cells[0]
    one, two = cell.spec_json(1), cell.spec_json(2)
    assert one != two
    assert one.replace('"seed":1', "") == two.replace('"seed":2', "")


def test_names_say_what_a_cell_says_itself() -> None:
    names = [cell.name for cell in small().cells]
    assert names == ["alone.codel", "alone.fq_codel-100", "both.8-2.loss1pc"]


def test_a_cell_s_digest_moves_with_what_it_says_and_not_with_its_seeds() -> None:
    before = [cell.digest for cell in small().cells]
    more = grid.read(SMALL.replace("seeds = 3", "seeds = 9"))
    assert [cell.digest for cell in more.cells] == before
    longer = grid.read(SMALL.replace('"4 s"', '"5 s"'))
    assert not {cell.digest for cell in longer.cells} & set(before)


def test_patterns_choose_and_a_slip_is_answered() -> None:
    assert [cell.name for cell in small().select(["alone.*"])] == [
        "alone.codel",
        "alone.fq_codel-100",
    ]
    with pytest.raises(RequestError, match=r"no cell is called `alone\.codle`"):
        small().select(["alone.codle"])


def test_two_cells_of_a_name_and_unknown_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two cells are called `alone\.codel`"):
        grid.read(SMALL.replace("fq_codel limit=100", "codel"))
    with pytest.raises(ValueError, match="unknown key `sedes`"):
        grid.read(SMALL.replace("seeds = 4", "sedes = 4"))


def test_the_document_names_every_group_and_metric() -> None:
    text = (Path(__file__).parents[2] / "docs/explanation/validation.md").read_text(
        encoding="utf-8"
    )
    for group in dict.fromkeys(cell.group for cell in GRID.cells):
        cells = [cell for cell in GRID.cells if cell.group == group]
        assert f"| `{group}` | {len(cells)} | {cells[0].about} |" in text
    for metric in METRICS:
        row = f"| `{metric.name}` | {metric.unit} | {metric.what} | {metric.finest} |"
        assert row.replace("|  |", "| |") in text.replace("|  |", "| |")
    assert f"is the grid: {len(GRID.cells)} cells" in text
