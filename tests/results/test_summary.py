"""The tables that `run` and `show` print, in the requested width."""

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import summary
from aqmlab.results.results import load
from support.campaigns import app, campaign_of, grid, spec_of
from support.processes import HERE


@pytest.fixture(scope="module")
def far_results(tmp_path_factory):
    """Results with two round-trip times, so that labels are long enough for line breaks."""
    out = tmp_path_factory.mktemp("far") / "out"
    specs = [
        ({"rtt": f"{rtt_ms} ms"}, spec_of("fq_codel", apps=[app("file", rtt_ms=rtt_ms)], seed=seed))
        for rtt_ms in (10, 50)
        for seed in (1, 2)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        patch.setenv("FAKE_LOG", str(out.parent / "log"))
        campaigns.run(campaign_of(specs), out, jobs=1)
    return load(out)


def printed(results, monkeypatch, capsys, columns, **more):
    """The output to a pipe if the variable COLUMNS is `columns`."""
    monkeypatch.setenv("COLUMNS", str(columns))
    capsys.readouterr()
    summary.show(results, **more)
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 100, 140, 200])
def test_a_table_is_as_wide_as_columns_says_and_cuts_nothing(
    home_results, far_results, monkeypatch, capsys, columns
):
    for results in (home_results, far_results):
        shown = printed(results, monkeypatch, capsys, columns)
        assert max(map(len, shown.splitlines())) <= columns
        head = shown.splitlines()[0].split()
        assert head[:2] == ["condition", "application"] and "p95" in head and "verdict" in head
        assert not [word for word in shown.split() if word.startswith("…") or word.endswith("…")]


def test_columns_that_do_not_fit_are_named_below_the_table(home_results, monkeypatch, capsys):
    for columns in (60, 80, 100, 140, 250):
        monkeypatch.setenv("COLUMNS", str(columns))
        summary.show(home_results)
        shown, said = capsys.readouterr()
        head = shown.splitlines()[0]
        left = [name for name in ("Mbit/s", "p5…p95", "loss %", "because", "difference")
                if name not in head]  # fmt: skip
        told = [line for line in said.splitlines() if line.startswith("columns that do not fit")]
        assert len(told) == bool(left), columns
        assert bool(left) == (columns < 250)
        for name in left:
            assert name in told[0] and "--json" in told[0], columns


@pytest.mark.parametrize("said", ["", "0", "wide"])
def test_a_table_that_nobody_says_the_width_of_has_140_columns(
    home_results, monkeypatch, capsys, said
):
    shown = printed(home_results, monkeypatch, capsys, said)
    assert {len(line) for line in shown.splitlines()[:2]} <= {139, 140}


def test_a_number_stays_with_its_unit(far_results, monkeypatch, capsys):
    shown = printed(far_results, monkeypatch, capsys, 60)
    assert "10 ms" in shown and "50 ms" in shown and "fq_codel" in shown
    assert "\u00a0" not in shown, "as whoever searches for it writes it"


def test_the_least_and_the_most_are_shown_where_they_are_equal(tmp_path, monkeypatch, capsys):
    alike = [app("idle", mbit=0.0)]
    campaigns.run(campaign_of(grid(("pie",), apps=alike)), tmp_path / "out", jobs=1)
    _, _, numbers, ranges = printed(load(tmp_path / "out"), monkeypatch, capsys, 140).splitlines()[
        :4
    ]
    at = numbers.index(" 0 ") + 1
    assert numbers[at] == ranges[at] == "0"
