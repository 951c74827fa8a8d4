"""Figures of studies use the colours of reports, one for each application."""

from __future__ import annotations

import pytest
from aqmlab import studies
from aqmlab.report.figures.looks import APP_COLOURS, CONDITION_COLOURS
from aqmlab.studies import draw
from aqmlab.studies.draw.looks import series_looks
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.trials import Trials

from .conftest import written

ALONE = """
duration = "2 s"
path = { rate = "4/1 Mbit/s" }
apps.file = { kind = "bulk", direction = "up" }
"""
CALLS = {"Call": "call ↑", "Call down": "call ↓", "File": "file"}


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """The tiny study, with a second scenario whose first application is the file."""
    folder = tmp_path_factory.mktemp("looks")
    place = written(folder / "tiny")
    (place / "alone.toml").write_text(ALONE)
    made = Laboratory(studies.load(place), Asked(1), folder / "out")
    made.run([Trials("home"), Trials("alone")], jobs=1)
    return made


def looks(laboratory: Laboratory, rows: draw.Rows, *needs: Trials):
    results = laboratory.results(*needs)
    return series_looks(rows(results), results)


def test_the_applications_are_those_of_the_largest_scenario_first(laboratory) -> None:
    assert laboratory.study.apps == ("call", "file")
    assert studies.load("boerlage2016").apps[:3] == ("movie", "updates", "cloud")


def test_an_application_has_one_colour_in_all_figures_of_a_study(laboratory) -> None:
    home = looks(laboratory, draw.flow_quantiles("rtt", "ms", CALLS), Trials("home"))
    assert [look.colour for look in home.values()] == [*APP_COLOURS[:1] * 2, APP_COLOURS[1]]
    alone = looks(laboratory, draw.flow_quantiles("rtt", "ms", {"x": "file"}), Trials("alone"))
    assert alone["x"].colour == APP_COLOURS[1]
    own = looks(laboratory, draw.app_numbers("mos_up", {"y": "call"}), Trials("home"))
    assert own["y"].colour == APP_COLOURS[0]


def test_series_of_one_colour_differ_in_line_marker_and_hatch(laboratory) -> None:
    home = looks(laboratory, draw.flow_quantiles("rtt", "ms", CALLS), Trials("home"))
    up, down = home["Call"], home["Call down"]
    assert up.line != down.line and up.marker != down.marker and up.hatch != down.hatch
    assert up.point != down.point and up.marker_face != down.marker_face


@pytest.mark.parametrize(
    "rows",
    [
        draw.flow_quantiles("rtt", "ms", {"File": "file"}, by="qdisc"),
        draw.flow_numbers("loss_percent", CALLS, by="qdisc"),
        draw.link_numbers("utilisation", {"uplink": "up", "downlink": "down"}),
    ],
)
def test_no_other_series_has_the_colour_of_an_application(laboratory, rows) -> None:
    found = looks(laboratory, rows, Trials("home"))
    colours = [look.colour for look in found.values()]
    assert colours == list(CONDITION_COLOURS[: len(colours)])
