"""The forecast of the time for drawing figures."""

import pytest
from aqmlab.base.measurements import store
from aqmlab.cli import status_of
from aqmlab.cli.forecast import drawing
from aqmlab.report import drawing_time, page
from aqmlab.report.drawing_time import ExpectedDrawing, Wanted


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def seconds(name, simulated_s):
    return drawing_time.expected("report", [Wanted(name, simulated_s)]).seconds


def test_a_drawing_has_a_constant_part_and_one_of_its_trials():
    assert drawing_time.expected("report", [Wanted("home", 60)]) is None
    drawing_time.note("report", Wanted("home", 100.0), 5.0)
    assert seconds("home", 4000.0) == 5.0
    drawing_time.note("report", Wanted("home", 1100.0), 6.0)
    assert seconds("home", 4100.0) == pytest.approx(9.0)


def test_a_time_is_never_negative_and_does_not_fall_with_more_trials():
    for amount, took_s in ((1000.0, 1.0), (3000.0, 5.0)):  # a line through these is negative at 0
        drawing_time.note("report", Wanted("steep", amount), took_s)
    assert 0 < seconds("steep", 10.0) < 1.0
    for amount, took_s in ((1000.0, 3.0), (3000.0, 2.0)):
        drawing_time.note("report", Wanted("falling", amount), took_s)
    assert seconds("falling", 10**6) == pytest.approx(2.5)


def test_another_scenario_counts_only_where_the_own_is_unknown():
    drawing_time.note("report", Wanted("home", 100.0), 5.0)
    drawing_time.note("figure", Wanted("paper 3", 100.0), 1.0)
    found = drawing_time.expected("report", [Wanted("other", 100.0)])
    assert found == ExpectedDrawing(5.0, 1, alike=False)
    found = drawing_time.expected("figure", [Wanted("paper 3", 100.0)] * 2)
    assert found == ExpectedDrawing(2.0, 2, alike=True)
    said = drawing("report", [Wanted("home", 100.0)])
    assert said == "drawing: about 5 s, from 1 report of the same scenario on this machine"
    said = drawing("figure", [Wanted("paper 4", 100.0)])
    assert said == "drawing: about 1 s, from 1 drawing of other figures on this machine"


def test_few_drawings_are_kept():
    for number in range(300):
        drawing_time.note("report", Wanted("home", 1.0), float(number))
        drawing_time.note("report", Wanted(f"home {number}", 1.0), 1.0)
    assert seconds("home", 1.0) == pytest.approx(294.5)
    assert not drawing_time.expected("report", [Wanted("home 0", 1.0)]).alike


@pytest.mark.parametrize("one", [[-1.0, 1.0], [1.0, -1.0], [1.0], ["a", 1.0], [1.0, 1e300]])
def test_a_damaged_memory_is_no_memory(one):
    store("drawing.json", {"report": {"home": [one]}})
    assert drawing_time.expected("report", [Wanted("home", 1.0)]) is None


def test_a_report_is_measured_and_the_next_is_expected_from_it(home_results, tmp_path):
    page.write(home_results, tmp_path / "report.html", ["cwnd_time"])
    wanted = page.to_draw(home_results.manifest)
    assert drawing_time.expected("report", [wanted]) is None  # a part of a report does not count
    page.write(home_results, tmp_path / "report.html")
    found = drawing_time.expected("report", [wanted])
    assert found.alike and found.drawings == 1 and found.seconds > 0
    assert wanted.simulated_s == 10.0 * len(home_results.manifest.trials)


def test_the_command_says_the_time_of_drawing_unless_nothing_is_drawn(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert status_of(["run", "household", "--dry-run"]) == 0
    said = "drawing: not known, because nothing was drawn on this machine"
    assert said in capsys.readouterr().out.splitlines()
    drawing_time.note("report", Wanted("other", 1.0), 250.0)
    assert status_of(["run", "household", "--dry-run"]) == 0
    said = "drawing: about 4 min, from 1 report of other scenarios on this machine"
    assert said in capsys.readouterr().out.splitlines()
    assert status_of(["run", "household", "--dry-run", "--no-report"]) == 0
    assert "drawing" not in capsys.readouterr().out
