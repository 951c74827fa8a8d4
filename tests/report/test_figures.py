import io
import itertools
import warnings

import matplotlib
import numpy as np
import polars as pl
import pytest
from aqmlab.api import load
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import summary
from aqmlab.report import figures
from aqmlab.report.figures import data
from aqmlab.report.figures.drawing import canvas, log_axis_from_zero, styled
from aqmlab.report.figures.looks import APP_COLOURS, CONDITION_COLOURS, app_looks
from aqmlab.report.figures.overlap import calmest_above, rim_covered
from aqmlab.report.page import tables
from matplotlib import font_manager
from PIL import Image
from support.campaigns import app, campaign_of, grid, spec_of


def opened(png):
    return Image.open(io.BytesIO(png)).convert("RGB")


def marks(drawing):
    """The number of lines with a finite value, bars and areas in a drawing."""
    count = 0
    for axes in drawing.canvas.axes:
        for line in axes.lines:
            count += np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any()
        count += len(axes.patches) + len(axes.collections)
    return count


def test_the_style_applies_until_the_outer_context_ends():
    name = "axes.titlelocation"
    before = matplotlib.rcParams[name]
    with styled():
        with styled():
            pass
        assert (before, matplotlib.rcParams[name]) == ("center", "left")
    assert matplotlib.rcParams[name] == "center"
    with styled():
        assert matplotlib.rcParams[name] == "left"


def test_every_figure_is_registered_and_described():
    for name in figures.FIGURES:
        figure = figures.figure(name)
        assert figure.title and figure.tables, name
    with pytest.raises(RequestError, match="unknown figure `dashh`") as caught:
        figures.figure("dashh")
    assert "`dash`" in caught.value.hint


@pytest.mark.parametrize(
    "name", [name for name in figures.FIGURES if name not in ("rates", "varied")]
)
def test_a_figure_shows_something(home_results, name):
    for drawing in figures.draw(home_results, name):
        assert marks(drawing) > 3, drawing.name
        assert drawing.caption.endswith(".") and "seed" in drawing.caption
        for axes in drawing.canvas.axes:
            assert axes.get_ylabel() or axes.get_subplotspec().colspan.start > 0
        image = opened(drawing.rendered("png"))
        assert image.width == 9 * 200
        assert len(image.getcolors(image.width * image.height)) > 50, "it is not blank"
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
    assert len(boxes.canvas.axes) == 6 and boxes.notes == ["6 of 20 rates are shown"]
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


def shown_range(axes):
    """The range of a panel's values as a share of the panel's height."""
    low, high = (
        axes.transData.transform((0, y))[1] for y in (axes.dataLim.ymin, axes.dataLim.ymax)
    )
    bottom, top = axes.transAxes.transform([(0, 0), (0, 1)])[:, 1]
    assert low >= bottom - 1 and high <= top + 1, "nothing is clipped"
    return (high - low) / (top - bottom)


def test_axes_show_the_data(tmp_path):
    """An axis begins just below the smallest typical value, not decades below it."""
    apps = [app("small", mbit=4.0), app("large", mbit=9.0)]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "near", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "near"), "throughput_time")
    assert {axes.get_yscale() for axes in drawing.canvas.axes} == {"linear"}
    apps = [app("small", mbit=0.3), app("large", mbit=9.0)]
    campaigns.run(campaign_of(grid(("pfifo", "pie"), apps=apps)), tmp_path / "far", jobs=1)
    for name in ("throughput_time", "queue_time", "throughput"):
        (drawing,) = figures.draw(load(tmp_path / "far"), name)
        drawing.rendered("png")
        for axes in drawing.canvas.axes:
            assert axes.get_yscale() in ("symlog", "log"), name
        assert max(map(shown_range, drawing.canvas.axes)) > 0.4, name


def test_compared_panels_share_their_axes(home_results):
    for name in ("throughput", "induced_rtt", "rtt_time", "throughput_time", "bulk_download"):
        for drawing in figures.draw(home_results, name):
            assert len({axes.get_ylim() for axes in drawing.canvas.axes}) == 1, name
    for drawing in figures.draw(home_results, "queue_time"):
        for column in range(2):
            assert len({axes.get_ylim() for axes in drawing.canvas.axes[column::2]}) == 1


def test_every_drawing_has_a_title(home_results):
    for name in figures.applicable(home_results):
        for drawing in figures.draw(home_results, name):
            assert drawing.canvas.get_suptitle(), drawing.name


def test_a_few_lines_under_one_queue_are_compared_beside_each_other(tmp_path):
    """Draws the rates of `aqmlab run shaper`. The figures must include the recommended rate."""
    rates = [(20, 2), (19.6, 1.96), (19, 1.9), (18, 1.8), (17, 1.7)]
    campaigns.run(campaign_of(grid(("pie",), rates, (1,))), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    for name in ("throughput", "induced_rtt", "rtt_quantiles", "queue_time", "dash"):
        (drawing,) = figures.draw(results, name)
        assert labels_of(drawing.canvas.legends[0])[:5] == [
            f"{down:g}/{up:g} Mbit/s" for down, up in rates
        ]
        assert not [note for note in drawing.notes if "shown" in note]
    for name in ("rtt_time", "throughput_time", "cwnd_time"):
        (drawing,) = figures.draw(results, name)
        titles = [axes.get_title(loc="left") for axes in drawing.canvas.axes]
        assert [title for title in titles if title] == [
            f"{down:g}/{up:g} Mbit/s" for down, up in rates
        ]
    for name in ("rtt_quantiles", "queue_time", "rtt_time", "throughput_time", "cwnd_time"):
        assert [drawing.name for drawing in figures.draw(results, name)] == [name]


def test_applications_and_conditions_share_no_colour(home_results):
    assert not set(APP_COLOURS) & set(CONDITION_COLOURS)
    of_lines, of_queues = {}, set()
    for name in ("rtt_time", "throughput_time", "cwnd_time"):
        for drawing in figures.draw(home_results, name):
            legend = drawing.canvas.legends[0]
            for text, line in zip(labels_of(legend), legend.get_lines(), strict=True):
                of_lines.setdefault(text.split(" ")[0], set()).add(line.get_color())
    assert all(len(colours) == 1 for colours in of_lines.values()), "one in all figures"
    assert len({next(iter(one)) for one in of_lines.values()}) == len(of_lines) == 4
    for name in ("throughput", "queue_time", "rtt_quantiles"):
        (drawing, *_) = figures.draw(home_results, name)
        of_queues |= {line.get_color() for line in drawing.canvas.legends[0].get_lines()}
    assert not of_queues & {colour for one in of_lines.values() for colour in one}


def test_an_application_keeps_its_colour_if_others_are_not_shown(tmp_path):
    apps = [app("silent", silent=True), app("call", "video_call", ["up", "down"]), app("file")]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    looks = app_looks(load(tmp_path / "out"))
    assert [looks[name].colour for name in ("silent", "call", "file")] == [*APP_COLOURS[:3]]
    assert looks["call ↑"].colour == looks["call ↓"].colour
    assert looks["call ↑"].line != looks["call ↓"].line


VARIED = [
    ({"qdisc": queue, "rtt": f"{rtt} ms"}, spec_of(queue, apps=[app("file", rtt_ms=rtt)]))
    for queue in ("pfifo", "pie")
    for rtt in (5, 200, 40)
]


def test_what_was_varied_is_an_axis_of_numbers(tmp_path):
    campaigns.run(campaign_of(VARIED), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    assert labels_of(drawing.canvas.legends[0]) == ["pfifo", "pie"]
    delay = drawing.canvas.axes[0]
    assert [list(line.get_xdata()) for line in delay.lines] == [[5, 40, 200]] * 2
    assert drawing.canvas.axes[-1].get_xlabel() == "RTT (ms)"
    assert drawing.canvas.axes[1].get_ylabel().split() == ["throughput", "(Mbit/s)"]
    assert "by RTT" in drawing.canvas.get_suptitle() and " over RTT, " in drawing.caption


@pytest.mark.parametrize(
    ("scenario", "label"),
    [
        ({}, "delay"),
        ({"units": {"delay": "ms"}}, "delay (ms)"),
        ({"units": {"delay": "<b>"}}, "delay"),
        ({"units": ["delay"]}, "delay"),
    ],
)
def test_a_varied_plain_number_has_the_unit_that_its_config_gives_it(tmp_path, scenario, label):
    rows = [({"delay": ms}, spec_of("pie", apps=[app("file", rtt_ms=2 * ms)])) for ms in (1, 5, 9)]
    campaigns.run(campaign_of(rows, scenario=scenario), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    assert drawing.canvas.axes[-1].get_xlabel() == label


def test_a_varied_pair_of_rates_is_drawn_over_the_downstream_rate(tmp_path):
    rates = [(12, 1), (25, 5), (50, 20)]
    campaigns.run(campaign_of(grid(("pfifo", "pie"), rates, (1,))), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    assert drawing.canvas.axes[-1].get_xlabel() == "downstream rate (Mbit/s)"


def test_a_varied_curve_that_another_covers_shows_its_rim(tmp_path):
    campaigns.run(campaign_of(VARIED), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    under, over = drawing.canvas.axes[-1].lines  # the shares of verdicts
    assert list(under.get_ydata()) == list(over.get_ydata())
    assert under.get_linewidth() > over.get_linewidth()
    assert "a rim is a line that lies behind another" in drawing.notes


def test_an_application_without_data_has_no_varied_panels_and_is_named(tmp_path):
    rows = [
        ({"rtt": f"{rtt} ms", "delay": f"{delay} ms"}, spec_of("pfifo", apps=apps))
        for delay, apps in ((1, [app("file")]), (2, [app("file"), app("other")]))
        for rtt in (5, 40, 200)
    ]
    campaigns.run(campaign_of(rows), tmp_path / "out", jobs=1)
    first, second = figures.draw(load(tmp_path / "out"), "varied")
    titles = [[one.get_title(loc="left") for one in each.canvas.axes] for each in (first, second)]
    assert "other" not in titles[0] and "other" in titles[1]
    assert all(axes.lines for axes in first.canvas.axes)
    assert "there are no data of other at delay 1 ms" in first.notes


def test_a_note_on_left_out_places_names_what_varies(tmp_path):
    rates = [(12, 1), (25, 5), (50, 20)]
    campaigns.run(campaign_of(grid(("pfifo", "pie"), rates, (1,))), tmp_path / "out", jobs=1)
    (note,) = figures.draw(load(tmp_path / "out"), "rtt_quantiles")[0].notes[:1]
    assert note == "2 of 3 rates are shown, not 25/5 Mbit/s"
    rows = [
        ({"qdisc": queue, "rtt": f"{rtt} ms", "rate": rate},
         spec_of(queue, (rate, 1), apps=[app("file", rtt_ms=rtt)]))
        for queue in ("pfifo", "pie") for rtt in (5, 40, 200) for rate in (12, 25)
    ]  # fmt: skip
    campaigns.run(campaign_of(rows), tmp_path / "both", jobs=1)
    results = load(tmp_path / "both")
    (note,) = figures.draw(results, "rtt_quantiles")[0].notes[:1]
    assert note.startswith("2 of 6 combinations of rate and RTT are shown, not 25/1 Mbit/s, RTT 5")
    (note,) = figures.draw(results, "throughput_time")[0].notes[:1]
    assert note.startswith("2 of 6 combinations of rate and RTT are shown")
    assert figures.draw(results, "varied")[0].notes[0].startswith("a rim is")


def test_a_varied_panel_of_a_flow_without_round_trips_says_so(tmp_path):
    rows = [
        ({"rtt": f"{rtt} ms"}, spec_of("pfifo", apps=[app("tone", "cbr", rtt_ms=rtt, silent=1)]))
        for rtt in (5, 40, 200)
    ]
    campaigns.run(campaign_of(rows), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    delay, rate, *_ = drawing.canvas.axes
    assert "no round trips" in [text.get_text() for text in delay.texts] and not delay.lines
    assert not delay.axison, "an empty panel has no axes"
    assert rate.lines


def test_what_has_no_one_number_stands_side_by_side(tmp_path):
    rates = [(12, 1), (12, 5), (25, 1), (25, 5)]
    campaigns.run(campaign_of(grid(("pfifo", "pie"), rates, (1,))), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    names = [label.get_text() for label in drawing.canvas.axes[-1].get_xticklabels()]
    assert names == [f"{down}/{up} Mbit/s" for down, up in rates]
    assert drawing.canvas.axes[-1].get_xlabel() == "rate, down/up"


def test_figures_say_that_numbers_of_copies_are_of_each_copy(tmp_path):
    copies = [app(f"file-{n}", rtt_ms=rtt) for n in (1, 2) for rtt in (40,)]
    rows = [({"queue": one}, spec_of(one, apps=copies)) for one in ("pfifo", "pie")]
    campaigns.run(campaign_of(rows), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    (drawing,) = figures.draw(results, "bulk_download")
    assert drawing.canvas.axes[0].get_ylabel() == "throughput per copy (Mbit/s)"
    assert drawing.caption.startswith("Throughput per copy of bulk downloads (file) by queue")
    for name in ("bulk_download", "throughput"):
        (drawing,) = figures.draw(results, name)
        assert "numbers are per copy (2 copies of file)" in drawing.notes


def test_figures_of_single_applications_say_nothing_of_copies(home_results):
    (drawing,) = figures.draw(home_results, "bulk_download")
    assert drawing.canvas.axes[0].get_ylabel() == "throughput (Mbit/s)"
    assert "copy" not in drawing.text and "copies" not in drawing.text


def test_conditions_without_numbers_or_with_two_values_are_no_axis(home_results):
    with pytest.raises(RequestError, match="nothing to show"):
        figures.draw(home_results, "varied")


def test_the_delay_that_decides_a_verdict_is_drawn(home_results):
    (drawing,) = figures.draw(home_results, "induced_rtt")
    highest = max(axes.dataLim.ymax for axes in drawing.canvas.axes)
    assert highest == pytest.approx(home_results.flows["induced_p95_ms"].max(), rel=0.05)
    assert "thin lines to the 95th" in drawing.caption
    (drawing,) = figures.draw(home_results, "throughput")
    assert "thin lines" not in drawing.caption


def test_long_names_are_shortened_and_nothing_is_cut_off(tmp_path):
    names = [f"{letter * 60} of a home" for letter in "abcdefgh"]
    queues = [f"pie_{letter * 90}" for letter in "wx"]
    apps = [app(name) for name in names]
    specs = [({"queue": one}, spec_of("pie", apps=apps)) for one in queues]
    campaigns.run(campaign_of(specs), tmp_path / "out", jobs=1)
    for name in ("throughput", "rtt_time", "rtt_quantiles"):
        for drawing in figures.draw(load(tmp_path / "out"), name):
            image = np.asarray(opened(drawing.rendered("png")))
            rim = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
            assert (rim == 255).all(), "no text reaches the edge"


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
    rates = labels_of(figures.draw(results, "throughput")[0].canvas.legends[0])
    assert "idle for half of the time or longer" in rates
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
    """A panel, and its lines of the given values, each in its own colour."""
    axes = canvas(2).subplots()
    drawn = [axes.plot(range(len(one)), one, color=f"C{n}")[0] for n, one in enumerate(lines)]
    return axes, drawn


def test_a_line_that_another_covers_shows_its_rim():
    axes, (under, over, apart) = panel([1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1])
    assert rim_covered([axes]) == ["a rim is a line that lies behind another"]
    assert under.get_linewidth() > over.get_linewidth() == apart.get_linewidth()
    assert rim_covered([panel([1, 2, 3, 4], [4, 3, 2, 1])[0]]) == []
    axes, (under, over) = panel([1, 2, 3, 4], [1, 2, 3, 3])
    assert rim_covered([axes]) == []
    assert rim_covered([axes], least_share=0.5) and under.get_linewidth() > over.get_linewidth()


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


def drawn_with(tmp_path, name):
    """A drawing of a campaign with an application called `name`, rendered without a warning."""
    campaigns.run(
        campaign_of(grid(("pie",), seeds=(1,), apps=[app(name)])), tmp_path / "out", jobs=1
    )
    (drawing,) = figures.draw(load(tmp_path / "out"), "rtt_quantiles")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("png", "svg"):
            drawing.rendered(kind)
    return drawing


def test_characters_that_no_font_has_are_noted_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    drawing = drawn_with(tmp_path, "王伟")
    assert drawing.notes[-1] == (
        "no font on this machine has the characters 伟王, which are drawn as boxes"
    )


def test_characters_that_the_figures_font_lacks_are_drawn_with_another(tmp_path):
    drawing = drawn_with(tmp_path, "𝒟")  # In matplotlib's STIX, and not in its DejaVu Sans.
    assert not [note for note in drawing.notes if "font" in note]
    (title,) = (one for one in drawing.canvas.axes if one.get_title(loc="left") == "𝒟")
    families = title.title.get_fontfamily() + title._left_title.get_fontfamily()
    assert "DejaVu Sans" in families and len(set(families)) > 1


@pytest.mark.parametrize("values", [
    ("0 s", "1 s", "10 ms", "100 ms"), ("0 s", "1 ms", "1 s"), ("1 s", "1.001 s", "3 s"),
    ("10 ms", "11 ms", "1 s"), ("0 s", "10 ms", "20 ms"),
])  # fmt: skip
def test_labels_of_varied_values_do_not_overlap(tmp_path, values):
    varied = [({"rtt": value}, spec_of("pie", seed=n)) for n, value in enumerate(values)]
    campaigns.run(campaign_of(varied), tmp_path / "out", jobs=1)
    (drawing,) = figures.draw(load(tmp_path / "out"), "varied")
    drawing.rendered("png")
    axes = drawing.canvas.axes[-1]
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
    spread = {"1 s" in values and "0 s" in values: "symlog", values[0] == "10 ms": "log"}
    assert axes.get_xscale() == spread.get(True, "linear")
    assert axes.get_xlim()[0] > -5 or axes.get_xscale() == "linear"
    labels = [label.get_text() for label in axes.get_xticklabels()]
    if len(values) == 4:
        assert labels == ["0", "10", "100", "1000"]
