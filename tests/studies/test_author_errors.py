"""Errors in a user's study are reported with their place before trials run."""

import json
import re

import pytest
from aqmlab import studies
from aqmlab.base.failures import RequestError
from aqmlab.cli import status_of


def line_of(path, text):
    return path.read_text("utf-8").partition(text)[0].count("\n") + 1


RETURN = 'return below("call", n.flow("call", "induced_p50_ms", at, "up"), 5, "ms")'
"""The return statement of claim 9-2."""


@pytest.fixture
def asked(tiny, tmp_path, monkeypatch, capsys):
    """A function that changes a file of the tiny study and then runs a command.

    The function returns the status, the messages and the standard output.
    """
    monkeypatch.chdir(tmp_path)

    def ask(command, file, old, new, *options):
        path = tiny / file
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        status = status_of([command, "tiny", "--out", "out", "--jobs", "1", *options])
        printed = capsys.readouterr()
        return status, printed.err, printed.out

    return ask


CLAIM_SLIPS = [
    ("return more(", "return moore(", "claim 9-1: name 'moore' is not defined", "`more`"),
    ("times=2", "tims=2", "claim 9-1: more() got an unexpected keyword argument 'tims'", ""),
    ("import Claims, about", "import Claimss, about", "cannot import name 'Claimss'", "`Claims`"),
    ("return more(", "retrn more(", "this is not Python: invalid syntax", ""),
    ('n.flow("call", "induced_p50_ms", at', 'n.flow("cal", "x", at',
     "claim 9-2: there is no flow `cal`", "`call`"),
    ('n.flow("call", "induced_p50_ms", at', 'n.flwo("call", "x", at',
     "claim 9-2: type object 'Numbers' has no attribute 'flwo'", "`flow`"),
    ('n.flow("call", "induced_p50_ms", at, "up")', 'n.queue("upp", "sojourn_mean_ms", at)',
     "claim 9-2: there is no link `upp`", "`up`"),
    ('at, "up")', 'at, "sideways")', "claim 9-2: there is no direction `sideways`", "down, up"),
    ('{"qdisc": "FIFO"', '{"qdics": "FIFO"', "claim 9-2: there is no condition `qdics`", "`qdisc`"),
    ('{"qdisc": "FIFO"', '{"qdisc": "PIE"', "claim 9-2: there is no trial with qdisc = PIE",
     "`qdisc` is FIFO, FQ"),
    ("return below(", "below(", "claim 9-2: its function returns `None` instead of checks", ""),
    ('given="buffer"', 'given="bufer"', "claim 9-1: study.toml has no choice `bufer`", "`buffer`"),
    ("CLAIMS = Claims()", "OWN = CLAIMS = Claims()\nnope", "name 'nope' is not defined", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said", "meant"), CLAIM_SLIPS)
def test_a_slip_in_a_claim_is_told_with_its_line_before_any_trial_runs(
    asked, tiny, tmp_path, old, new, said, meant
):
    status, told, _ = asked("claims", "claims.py", old, new)
    assert status == 2
    problem, _, hint = told.partition("\n\nhint: ")
    assert re.match(r"error: tiny/claims\.py:\d+: ", problem), problem
    assert said in problem and meant in hint
    assert "mistake in aqmlab" not in told
    assert not (tmp_path / "out").exists()


def test_the_line_is_that_of_the_slip(asked, tiny):
    _, told, _ = asked("claims", "claims.py", "return more(", "return moore(")
    assert f"tiny/claims.py:{line_of(tiny / 'claims.py', 'moore')}: claim 9-1: " in told


FIGURE_SLIPS = [
    ("boxes = Boxes(", "boxes = Boxs(", "name 'Boxs' is not defined", "`Boxes`"),
    ('"12", "Delays', '"1a", "Delays', "figure 1a: two figures have this number", ""),
    ("FIGURES = (", "FIGURE = (", "it declares no `FIGURES`", ""),
    ("FIGURES = (", "FIGURES = (3,", "`3` in `FIGURES` is not a Figure", ""),
    ('{"rtt": "20 ms"}', '{"rtt": "30 ms"}', "figure 1b: scenario home: `rtt` has no value `30 ms`",
     "20 ms, 60 ms"),
    ('Trials("home"), boxes', 'Trials("hom"), boxes',
     "figure 1a: study tiny: there is no scenario `hom`", "`home`"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said", "meant"), FIGURE_SLIPS)
def test_a_slip_in_a_figure_is_told_before_any_trial_runs(asked, tmp_path, old, new, said, meant):
    status, told, _ = asked("reproduce", "figures.py", old, new)
    assert status == 2
    problem, _, hint = told.partition("\n\nhint: ")
    assert re.match(r"error: tiny/figures\.py(:\d+)?: ", problem), problem
    assert said in problem and meant in hint
    assert not (tmp_path / "out").exists()


def test_one_figure_is_asked_for_with_a_comma(asked, tiny):
    figures = (tiny / "figures.py").read_text("utf-8")
    whole = figures[figures.index("FIGURES = (") :]
    one = 'FIGURES = (Figure("1", "Delays", "4/1 Mbit/s", Trials("home"), boxes))'
    status, told, _ = asked("reproduce", "figures.py", whole, one)
    assert status == 2 and "`FIGURES` is not a list of figures" in told
    assert "needs a comma: FIGURES = (…,)" in told


def test_a_figure_that_fails_while_it_is_drawn_is_named(asked, tiny):
    own = "class Own(Boxes):\n    def draw(self, results):\n        return {}['x']\n\nboxes = Own("
    status, told, _ = asked("reproduce", "figures.py", "boxes = Boxes(", own, "--figure", "1a")
    assert status == 2
    line = line_of(tiny / "figures.py", "return {}")
    assert f"error: tiny/figures.py:{line}: figure 1a: KeyError: 'x'" in told


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("return {}['x']", "KeyError: 'x'"),
        (
            'return below("call", n.flow("call", "los_percent", at, "up"), 5)',
            "there is no column `los_percent`",
        ),
    ],
)
def test_a_slip_that_only_results_show_leaves_its_claim_unjudged_and_the_rest_judged(
    asked, tiny, new, said
):
    status, told, out = asked("claims", "claims.py", RETURN, new, "--json")
    verdicts = {one["id"]: one for one in json.loads(out)}
    words = [verdicts[f"9-{number}"]["verdict"] for number in (1, 2, 3, 4)]
    assert words == ["holds", "cannot be judged", "cannot be judged", "holds"]
    where = f"tiny/claims.py:{line_of(tiny / 'claims.py', new)}: claim 9-2: "
    assert verdicts["9-2"]["because"] == where + said
    assert status == 2 and f"error: {where}{said}" in told


def test_what_follows_from_numbers_that_are_none_yet_is_no_slip(asked):
    new = (
        'best = None\n    for value in n.flow("call", "induced_p50_ms", at, "up").values():\n'
        "        if value > 0: best = value\n"
        '    return below("call", {1: best + 1, 2: max([v for v in [best] if v > 0])}, 5, "ms")'
    )
    status, told, _ = asked("claims", "claims.py", RETURN, new)
    assert status == 0, told


def test_a_broken_scenario_of_a_study_is_named_by_its_own_line(asked):
    status, told, _ = asked("claims", "home.toml", 'kind = "voip"', 'kind = "vip"')
    assert (
        status == 2 and "error: home.toml:10: apps.call.kind: unknown kind of application" in told
    )


def test_claims_without_numbers_of_their_own_are_found_out(tiny):
    path = tiny / "claims.py"
    path.write_text(path.read_text("utf-8").replace('"9-2"', '"9-1"'), "utf-8")
    with pytest.raises(RequestError, match=r"claims\.py:\d+: two claims have the number `9-1`"):
        _ = studies.load(tiny).claims
