"""The content of figures, and the drawing of every form."""

import pytest
from aqmlab import studies
from aqmlab.base.failures import RequestError
from aqmlab.report.figures.drawing import Drawing, styled
from aqmlab.studies import draw, preflight
from aqmlab.studies.draw.words import short as shortened
from aqmlab.studies.laboratory import Asked, Laboratory
from aqmlab.studies.trials import Trials

APPS = {"Call": "call ↑", "File": "file"}
FILE = {"File": "file"}
GROUPS = ("qdisc", "rtt")
RTTS = draw.flow_quantiles("rtt", "ms", APPS)
OVER_TIME = draw.rtt_over_time(APPS)
FORMS = {
    "markers": draw.Boxes(RTTS, "RTT (ms)", GROUPS),
    "boxes": draw.BoxPlots(RTTS, "RTT (ms)", GROUPS, bound=(100, "too long"), log=False),
    "boxes by queue": draw.BoxPlots(draw.flow_quantiles("rtt", "ms", FILE, "qdisc"), "x", ("rtt",)),
    "bars": draw.Bars(draw.flow_numbers("loss_percent", APPS), "loss (%)", GROUPS),
    "stacked": draw.Stacked((draw.BoxPlots(RTTS, "RTT (ms)", GROUPS),) * 2),
    "queues": draw.Bars(draw.link_numbers("utilisation", {"uplink": "up"}), "x", GROUPS),
    "apps": draw.Bars(draw.app_numbers("mos_up", {"Call": "call"}), "x", GROUPS),
    "lines": draw.Lines(draw.flow_quantiles("rtt", "ms", APPS, "qdisc"), "RTT (ms)", "rtt"),
    "time": draw.OverTime(draw.rate_over_time(APPS), "Mbit/s", panels="qdisc"),
    "points": draw.OverTime(OVER_TIME, "RTT (ms)", marks="points", span_s=(0, 1), log=True),
    "shares": draw.Shares(draw.rtt_shares(APPS, induced=True), "RTT (ms)", panels="qdisc"),
    "lab": draw.Lab("queue_time"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_draws_the_same_bytes_again(name, ran):
    results = ran.results(Trials("home"))

    def png():
        with styled():
            canvases = FORMS[name].draw(results)
        return [Drawing(name, canvas, "").rendered("png") for canvas in canvases]

    assert png() == png()
    assert not FORMS[name].legend.endswith(".")


@pytest.mark.parametrize("bound", [0.01, 1e6])
def test_a_bound_is_within_the_axis(ran, bound):
    boxes = draw.BoxPlots(RTTS, "RTT (ms)", GROUPS, bound=(bound, "limit"), log=False)
    with styled():
        [made] = boxes.draw(ran.results(Trials("home")))
    low, high = made.axes[0].get_ylim()
    assert low <= bound <= high


def test_quantiles_are_those_of_the_table(ran):
    results = ran.results(Trials("home", {"rtt": "60 ms", "qdisc": "FQ"}))
    rtts, induced = (draw.flow_quantiles(what, "ms", APPS)(results) for what in ("rtt", "induced"))
    assert rtts["series"].unique(maintain_order=True).to_list() == ["Call", "File"]
    columns = ["least", "low", "middle", "high", "most"]
    for row, less in zip(rtts.rows(named=True), induced.rows(named=True), strict=True):
        values = [row[name] for name in columns]
        assert values == [row[f"rtt_p{part}_ms"] for part in (5, 25, 50, 75, 95)]
        assert [less[name] for name in columns] == [value - 60 for value in values]


def test_a_condition_may_name_the_series(ran):
    results = ran.results(Trials("home"))
    alone = draw.flow_quantiles("throughput", "mbit", FILE, "qdisc")(results)
    assert alone["series"].unique(maintain_order=True).to_list() == ["FIFO", "FQ"]
    both = draw.flow_numbers("loss_percent", APPS, "qdisc")(results)
    assert "Call, FQ" in both["series"].to_list()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (draw.flow_quantiles("rtt", "ms", {"Call": "cal"}), "application `cal`.*mean `call [↑↓]`"),
        (draw.flow_numbers("loss_percent", {"Call": "call"}), "`call`.*did you mean `call [↑↓]`"),
        (draw.rtt_over_time(APPS | {"TV": "movie"}), "`movie`.*there are call ↑, call ↓, file"),
        (draw.rtt_shares({"Call": "call ↑", "file": "flie"}), "`flie`.*did you mean `file`"),
        (draw.app_numbers("mos_up", {"Call": "calls"}), "application `calls`.*mean `call`"),
        (draw.app_numbers("mos_upp", {"Call": "call"}), "metric `mos_upp`.*did you mean `mos_up`"),
        (draw.sample_shares("mos", {"Call": "clal"}), "application `clal`.*mean `call`"),
        (draw.link_numbers("utilisation", {"uplink": "upp"}), "link `upp`.*did you mean `up`"),
        (draw.chunks_over_time("ar_mbit", {"film": "dash"}), "no video stream `dash`.*are none"),
        (draw.chunk_medians("file", {"AR": "ar_mbit"}), "no video stream `file`.*are none"),
    ],
)
def test_what_a_figure_names_and_no_trial_has_is_an_error(rows, said, ran):
    with pytest.raises(RequestError, match=f"(?s){said}"):
        rows(ran.results(Trials("home")))


def test_what_has_no_rows_in_a_table_although_it_is_there_is_no_error(ran):
    results = ran.results(Trials("home"))
    # A transfer has no opinion score.
    both = draw.app_numbers("mos_up", {"Call": "call", "File": "file"})(results)
    assert both["series"].unique().to_list() == ["Call"]


def test_a_figure_of_nothing_that_was_measured_says_so(ran):
    late = draw.OverTime(OVER_TIME, "RTT (ms)", span_s=(7, 8))
    with pytest.raises(RequestError, match=r"(?s)there are no measurements.*measure\.from"):
        late.draw(ran.results(Trials("home")))


def test_what_was_silent_is_no_slip(tiny, tmp_path):
    home = tiny / "home.toml"
    home.write_text(home.read_text("utf-8").replace('"up"\n', '"up"\nstart = "3 s"\n'), "utf-8")
    own = Laboratory(studies.load(tiny), Asked(), tmp_path / "out")
    short = Trials("home", {"rtt": "20 ms"})
    own.run([short], jobs=1)
    rows = draw.flow_quantiles("throughput", "mbit", APPS)(own.results(short))
    assert rows["series"].unique().to_list() == ["Call"]


@pytest.mark.parametrize("name", ["series", "middle", "value", "app"])
def test_a_condition_called_like_a_derived_column_is_refused(name, tiny, tmp_path):
    home = tiny / "home.toml"
    text = home.read_text("utf-8").replace("qdisc = [", f"{name} = [")
    home.write_text(text, "utf-8")
    (tiny / "figures.py").write_text(
        "from aqmlab.studies.draw import Boxes, Figure, flow_quantiles\n"
        "from aqmlab.studies.trials import Trials\n"
        'rows = flow_quantiles("rtt", "ms", {"File": "file"})\n'
        f'form = Boxes(rows, "RTT (ms)", ("{name}", "rtt"))\n'
        'FIGURES = (Figure("1", "Delays", "4/1", Trials("home"), form),)\n',
        "utf-8",
    )
    study = studies.load(tiny)
    own = Laboratory(study, Asked(), tmp_path / "out")
    with pytest.raises(RequestError, match=f"figure 1: condition `{name}`: .* figures add"):
        preflight.of_figures(study.asked_figures([]), own)


def test_over_time_the_first_seed_is_shown(ran):
    shown = FORMS["time"]._shown(draw.rate_over_time(APPS)(ran.results(Trials("home"))))
    assert shown["seed"].unique().to_list() == [1]


def test_several_scenarios_are_told_apart(ran):
    (ran.study.folder / "office.toml").write_text(
        (ran.study.folder / "home.toml").read_text("utf-8").replace("4/1", "8/2"), "utf-8"
    )
    where = {"rtt": "20 ms"}
    needs = Trials("home", where), Trials("office", where)
    ran.run(needs, jobs=1)
    both = ran.results(*needs)
    flows = both.table("flows").filter(flow="file", direction="up")
    assert flows["scenario"].to_list() == ["home"] * 4 + ["office"] * 4
    assert flows["trial"].n_unique() == 8
    assert both.digest not in (None, ran.results(needs[0]).digest)
    rows = draw.flow_quantiles("throughput", "mbit", FILE, "scenario")(both)
    home, office = (rows.filter(series=name)["middle"].mean() for name in ("home", "office"))
    assert office > 1.5 * home
    assert both.only([flows["trial"][-1]]).table("trials")["scenario"].to_list() == ["office"]
    figure = draw.Figure("1", "Both", "so", needs, FORMS["lines"])
    assert figure.trials == needs


def test_a_tick_has_no_unit():
    assert [shortened(text) for text in ("40 ms", "12/1 Mbit/s", "fq_codel limit=9")] == [
        "40",
        "12/1",
        "fq_codel limit=9",
    ]


def test_stacked_panels_have_their_own_numbers_and_one_legend(ran):
    results = ran.results(Trials("home"))
    rates = draw.flow_quantiles("throughput", "mbit", APPS)
    parts = [draw.BoxPlots(rows, name, GROUPS) for rows, name in ((rates, "rate"), (RTTS, "RTT"))]
    (made,) = draw.Stacked(parts).draw(results)
    assert [axes.get_ylabel() for axes in made.axes] == ["rate", "RTT"]
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["Call", "File"]
