import io

import numpy as np
import polars as pl
import pytest
from aqmlab.api import load
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import summary
from aqmlab.report import figures
from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import canvas, log_axis_from_zero
from aqmlab.report.figures.overlap import calmest_above, rim_covered
from aqmlab.report.page import tables
from PIL import Image
from support.campaigns import app, campaign_of, grid


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def marks(drawing):
    """The number of lines, bars and areas with finite values in a drawing."""
    count = 0
    for axes in drawing.canvas.axes:
        for line in axes.lines:
            count += np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any()
        count += len(axes.patches) + len(axes.collections)
    return count


def test_every_figure_is_registered_and_described():
    for name in figures.FIGURES:
        figure = figures.figure(name)
        assert figure.title and figure.tables, name
    with pytest.raises(RequestError, match="unknown figure `dashh`") as caught:
        figures.figure("dashh")
    assert "`dash`" in caught.value.hint


@pytest.mark.parametrize("name", [name for name in figures.FIGURES if name != "rates"])
def test_a_figure_shows_something(home_results, name):
    for drawing in figures.draw(home_results, name):
        assert marks(drawing) > 3, drawing.name
        assert drawing.caption.endswith(".") and "seed" in drawing.caption
        for axes in drawing.canvas.axes:
            assert axes.get_ylabel() or axes.get_subplotspec().colspan.start > 0
        image = pixels(drawing.rendered("png"))
        assert image.shape[1] == 9 * 200
        assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50, "it is not blank"
        assert drawing.rendered("svg").startswith(b"<?xml")


def test_a_figure_is_the_same_for_the_same_results(home_results):
    again = load(home_results.path)
    for kind in ("png", "svg"):
        one, other = (figures.draw(one, "throughput")[0] for one in (home_results, again))
        assert one.rendered(kind) == other.rendered(kind)


def test_figures_without_anything_to_show_are_left_out(tmp_path):
    only_upload = [app("file", "bulk", ["up"])]
    campaigns.run(campaign_of(grid(("pie",), apps=only_upload)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    shown = figures.applicable(results)
    assert "throughput" in shown
    assert not {"dash", "bulk_download", "rates"} & set(shown)
    with pytest.raises(RequestError, match="nothing to show"):
        results.figure("dash")


def test_the_scenario_chooses_the_figures_of_its_report(tmp_path):
    campaign = campaign_of(grid(("pie",)), figures=["rtt_time", "no such figure", "rates"])
    campaigns.run(campaign, tmp_path / "out", jobs=1)
    assert figures.wanted(load(tmp_path / "out")) == ["rtt_time"]


def test_flows_of_a_few_packets_are_noted_where_their_numbers_are(tmp_path, capsys):
    apps = [app("meter", carries=("up",), packets=9), app("film", packets=10)]
    campaigns.run(campaign_of(grid(apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    note = "fewer than 10 packets in a trial: meter up (9)"
    for name, noted in (("throughput", True), ("rtt_quantiles", True), ("queue_time", False)):
        assert all((note in drawing.notes) == noted for drawing in figures.draw(results, name))
    assert f"F{note[1:]}. Their numbers say little." in tables.notes(results)
    summary.show(results)
    assert f"note: {note}; their numbers say little" in capsys.readouterr().err


def test_a_note_names_what_is_left_out():
    frame = pl.DataFrame({"app": [f"app-{n}" for n in range(20)]})
    kept, notes = data.chosen(frame, "app", data.MOST_APPS, "applications")
    gone = [name for name in frame["app"] if name not in kept]
    assert notes == [f"16 of 20 applications are shown, not {', '.join(gone)}"] and len(gone) == 4


def test_many_rates_are_shown_as_curves_and_chosen_elsewhere(tmp_path):
    rates = [(mbit, 1) for mbit in range(8, 28)]
    campaigns.run(campaign_of(grid(("pfifo", "pie"), rates, (1,))), tmp_path / "out", jobs=2)
    results = load(tmp_path / "out")
    (curves,) = figures.draw(results, "rates")
    assert [label.get_text() for label in curves.canvas.axes[-1].get_xticklabels()][:2] == [
        "8/1",
        "9/1",
    ]
    (boxes,) = figures.draw(results, "throughput")
    assert len(boxes.canvas.axes) == 4 and boxes.notes == ["4 of 20 rates are shown"]
    assert curves.rendered("png") and boxes.rendered("png")


def test_zero_and_missing_values_stand_at_the_zero_of_a_logarithmic_axis(tmp_path):
    apps = [app("idle", mbit=0.0), app("deaf", silent=True), app("busy", mbit=5.0)]
    campaigns.run(campaign_of(grid(("pie",), seeds=(1,), apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    by_marker = {}
    for name in ("throughput", "induced_rtt"):
        (drawing,) = figures.draw(results, name)
        (axes,) = drawing.canvas.axes
        drawing.rendered("png")
        ticks = {tick.get_text(): tick.get_position()[1] for tick in axes.get_yticklabels()}
        assert ticks["0"] == 0, "and no other number stands there"
        low, high = axes.get_ylim()
        for line in axes.lines:
            if line.get_marker() in ("v", "x"):
                by_marker.setdefault((name, line.get_marker()), []).extend(line.get_ydata())
                assert low < 0 < high and not any(line.get_ydata())
    assert len(by_marker["throughput", "v"]) == 1, "idle is at zero"
    assert len(by_marker["induced_rtt", "x"]) == 1, "deaf has no round trips"


def test_names_are_drawn_as_they_are(tmp_path):
    odd = [app("a$b$c_{x}"), app("<i>\\frac", "bulk", ["up"])]
    campaigns.run(campaign_of(grid(("pie",), apps=odd)), tmp_path / "out", jobs=1)
    for drawing in figures.draw(load(tmp_path / "out"), "throughput"):
        assert drawing.rendered("svg") and drawing.rendered("png")


def test_copies_of_an_application_stand_together(tmp_path):
    copies = [app(f"web-{n}", "web") for n in (1, 2, 3)] + [app("game-1", "game")]
    campaigns.run(campaign_of(grid(("pie",), apps=copies)), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "throughput")
    shown = [label.get_text() for label in drawing.canvas.axes[0].get_xticklabels()]
    assert shown == ["web", "game-1"]


def test_zero_throughput_is_drawn_at_zero_over_time(home_results):
    (drawing, *_) = figures.draw(home_results, "throughput_time")
    drawing.rendered("png")
    axes = drawing.canvas.axes[0]
    ticks = {tick.get_text(): tick.get_position()[1] for tick in axes.get_yticklabels()}
    assert ticks["0"] == 0 and axes.get_ylim()[0] < 0


def test_the_delay_that_decides_a_verdict_is_drawn(home_results):
    (drawing,) = figures.draw(home_results, "induced_rtt")
    highest = max(axes.dataLim.ymax for axes in drawing.canvas.axes)
    assert highest == pytest.approx(home_results.flows["induced_p95_ms"].max(), rel=0.05)
    assert "thin lines to the 95th" in drawing.caption
    (drawing,) = figures.draw(home_results, "throughput")
    assert "thin lines" not in drawing.caption


def test_without_a_zero_an_axis_is_logarithmic_all_over(home_results):
    (drawing,) = figures.draw(home_results, "induced_rtt")
    assert {axes.get_yscale() for axes in drawing.canvas.axes} == {"log"}


def labels_of(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_a_legend_lists_no_mark_that_is_absent(home_results, tmp_path):
    (full,) = figures.draw(home_results, "induced_rtt")
    assert not {"zero", "no data"} & set(labels_of(full.canvas.legends[0]))
    (streams,) = figures.draw(home_results, "dash")
    assert "no data" not in labels_of(streams.canvas.legends[0])
    apps = [app("idle", mbit=0.0), app("deaf", silent=True), app("film", "dash", metrics={})]
    apps += [app("other", "dash", metrics={"rr_median_mbit": 1.0})]
    campaigns.run(campaign_of(grid(("pie",), seeds=(1,), apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    assert "zero" in labels_of(figures.draw(results, "throughput")[0].canvas.legends[0])
    assert "no data" in labels_of(figures.draw(results, "induced_rtt")[0].canvas.legends[0])


def test_what_has_no_round_trips_has_no_panel_and_is_named(tmp_path):
    apps = [app("deaf", silent=True), app("call", "voip"), app("mute", silent=True)]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "rtt_quantiles")
    assert [axes.get_title(loc="left") for axes in drawing.canvas.axes] == ["call"]
    assert "there are no round trips of deaf, mute" in drawing.notes

    campaigns.run(campaign_of(grid(("pie",), apps=apps[:1])), tmp_path / "none", jobs=1)
    assert "rtt_quantiles" not in figures.applicable(load(tmp_path / "none"))


def test_copies_have_lines_of_their_own_while_there_are_colours(tmp_path):
    pings = [app(f"ping-{n}", "ping", ["up"]) for n in range(1, 9)]
    for count, names, notes in (
        (2, ["ping-1", "ping-2", "file"], []),
        (8, ["ping", "file"], ["copies have one colour: ping"]),
    ):
        campaign = campaign_of(grid(("pie",), apps=[*pings[:count], app("file")]))
        campaigns.run(campaign, tmp_path / str(count), jobs=1)
        for name in ("rtt_time", "throughput_time"):
            (drawing,) = figures.draw(load(tmp_path / str(count)), name)
            assert labels_of(drawing.canvas.legends[0]) == names
            colours = {line.get_color() for line in drawing.canvas.axes[0].lines}
            assert len(colours) == len(names)
            assert [note for note in drawing.notes if "copies" in note] == notes


def panel(*lines):
    """A panel with lines of the given values, in colours of their own."""
    axes = canvas(2).subplots()
    drawn = [axes.plot(range(len(one)), one, color=f"C{n}")[0] for n, one in enumerate(lines)]
    return axes, drawn


def test_a_line_that_another_covers_shows_its_rim():
    axes, (under, over, apart) = panel([1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1])
    assert rim_covered([axes]) == ["a rim is a line that lies behind another"]
    assert under.get_linewidth() > over.get_linewidth() == apart.get_linewidth()
    assert rim_covered([panel([1, 2, 3, 4], [4, 3, 2, 1])[0]]) == []


def test_a_restless_line_lies_behind_a_calm_one():
    axes, (calm, restless) = panel([1, 1, 1, np.nan, 1], [0, 2, 0, 2, 0])
    calmest_above(axes)
    assert calm.get_zorder() > restless.get_zorder()


def test_an_axis_of_an_idle_queue_has_round_numbers():
    for most in (0.0, 0.02, 0.3, 0.99):
        made = canvas(2)
        axes = made.subplots()
        axes.plot([0, 1], [0.0, most])
        log_axis_from_zero(axes, 1, decades=1)
        made.draw_without_rendering()
        low, high = axes.get_ylim()
        ticks = [tick.get_text() for tick in axes.get_yticklabels()]
        shown = [
            text for text, at in zip(ticks, axes.get_yticks(), strict=True) if low <= at <= high
        ]
        assert shown == ["0", "1"], most
