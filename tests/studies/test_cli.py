"""`aqmlab reproduce`, `aqmlab claims` and `aqmlab list studies`."""

import json
import re

import aqmlab
import pytest
from aqmlab.cli import status_of
from aqmlab.cli.claims import sentence
from aqmlab.studies.claims import above, below


def test_reproduce_draws_each_figure_and_a_page(tiny, tmp_path, capsys):
    out = tmp_path / "out"
    assert status_of(["reproduce", str(tiny), "--out", str(out), "--jobs", "1"]) == 0
    printed = capsys.readouterr().out.split()
    assert str(out / "figures" / "tiny-1a.png") in printed
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<img") == 3
    for expected in ("A tiny study", "Fig. 1b: Delays of a short path", "digest", "sim (core"):
        assert expected in page
    for name in ("1a", "1b", "12"):
        assert (out / "figures" / f"tiny-{name}.svg").read_text("utf-8").startswith("<?xml")
    again = (out / "figures" / "tiny-1a.png").read_bytes()
    assert status_of(["reproduce", str(tiny), "--out", str(out), "--figure", "1a"]) == 0
    assert (out / "figures" / "tiny-1a.png").read_bytes() == again


def test_a_program_reproduces_figures_and_repeats_no_trial(tiny, tmp_path, capsys):
    made = aqmlab.reproduce(tiny, figures="1", seeds=1, out=tmp_path / "out", jobs=1, progress=True)
    assert made.figures == ("1a", "1b")
    assert made.trials == 4
    assert "4/4 trials" in capsys.readouterr().err
    assert len(made.drawings) == 2 and made._repr_html_().count("<figure") == 2
    assert "aqmlab.reproduce(" in made.page.read_text(encoding="utf-8")
    assert str(tiny) not in made.page.read_text(encoding="utf-8")
    assert repr(made).startswith("Reproduction(tiny: 2 figures (1a, 1b), 4 trials, ")
    again = aqmlab.reproduce(tiny, figures=["1a"], out=tmp_path / "out", progress=True)
    assert "/" not in capsys.readouterr().err.replace("4/4 trials", "")
    assert again.folder == made.folder
    with pytest.raises(aqmlab.RequestError, match="there is no figure `7`"):
        aqmlab.reproduce(tiny, figures="7")
    with pytest.raises(aqmlab.RequestError, match="there is no study `kua2018`"):
        aqmlab.reproduce("kua2018")


def test_reproduce_counts_before_it_runs(tiny, tmp_path, capsys):
    asked = ["reproduce", str(tiny), "--out", str(tmp_path / "out"), "--seeds", "2", "--dry-run"]
    assert status_of([*asked, "--figure", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "figure 1a: 8 trials, all to run: 16 s of them",
        "figure 1b: 4 trials, all to run: 8 s of them",
        "all: 8 trials, all to run: 16 s of them",
        "time: not known, because this build has run no trial on this machine",
        "drawing: not known, because nothing was drawn on this machine",
    ]
    assert not (tmp_path / "out").exists()
    assert status_of([*asked, "--figure", "1b"]) == 0
    assert capsys.readouterr().out.count("4 trials") == 1  # not again as the sum of one figure
    assert status_of([*asked[:-1], "--figure", "1"]) == 0
    assert status_of([*asked, "--figure", "1"]) == 0
    said = r"drawing: about \d+ s, from 2 drawings of the same figure on this machine"
    assert re.fullmatch(said, capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "kua2018"], "did you mean `kua2017`"),
        (["reproduce", "kua2017", "--figure", "7"], "there is no figure `7`"),
        (["claims", "kua2017", "--id", "0-99"], "there is no claim `0-99`"),
        (["claims", "kua2017", "--id", "0-99"], "hint: there are 0-01 to 0-49\n"),
        (["claims", "--id", "0-99"], "there is no claim `0-99`\n\nhint: there are 0-01 to 0-49\n"),
        (["claims", "--id", "0-7"], "hint: did you mean `0-07`?"),
        (["claims", "kua2017", "--seeds", "none"], "seeds"),
    ],
)
def test_a_slip_is_named(arguments, said, capsys):
    assert status_of(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_figure_of_what_nothing_varies_is_named_with_what_is_varied(tiny, tmp_path, capsys):
    figures = tiny / "figures.py"
    figures.write_text(
        figures.read_text("utf-8").replace('("qdisc", "rtt")', '("qdisk",)'), "utf-8"
    )
    asked = ["reproduce", str(tiny), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert status_of([*asked, "--figure", "1a"]) == 2
    said = capsys.readouterr().err
    assert "figure 1a" in said
    assert "`qdisk`" in said
    assert "conditions are qdisc, rtt" in said


def test_a_figure_that_names_what_no_trial_has_is_named_with_what_was_meant(tiny, tmp_path, capsys):
    figures = tiny / "figures.py"
    figures.write_text(figures.read_text("utf-8").replace('"call ↑"', '"cal ↑"'), "utf-8")
    asked = ["reproduce", str(tiny), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert status_of([*asked, "--figure", "1a"]) == 2
    said = capsys.readouterr().err
    assert "figure 1a: there is no application `cal ↑`" in said
    assert "did you mean `call ↑`?" in said


def test_claims_prints_verdicts_and_fails_only_when_told_to(tiny, tmp_path, capsys):
    asked = ["claims", str(tiny), "--out", str(tmp_path / "out"), "--jobs", "1"]
    assert status_of(asked) == 0
    printed = capsys.readouterr()
    assert "tiny: 4 claims: 2 hold, 1 fails, 1 cannot be judged" in printed.err
    assert "A FIFO delays calls." in printed.out
    assert "three calls: 240 kbit/s ≈ 240 ± 1% (margin +1%)" in " ".join(printed.out.split())
    assert "depends on the study's choice of buffer" in " ".join(printed.out.split())
    assert status_of([*asked, "--strict"]) == 1
    assert status_of([*asked, "--strict", "--id", "9-1"]) == 0
    capsys.readouterr()
    assert status_of([*asked, "--json", "--id", "9-2"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["study"], found["id"], found["verdict"]) == ("tiny", "9-2", "fails")
    assert found["deciding"]["margin"] < 0


@pytest.mark.parametrize(
    ("check", "printed"),
    [
        (below("rate", 0.721, 2, "Mbit/s", slack=0.1), "0.721 Mbit/s < 2 + 10% (margin +74%)"),
        (
            above("rate", 0.147, 0.152, "Mbit/s", slack=0.05),
            "0.147 Mbit/s > 0.152 - 5% (margin +2%)",
        ),
        (above("rate", 0.4, 0.3), "0.4 > 0.3 (margin +33%)"),
    ],
)
def test_a_printed_comparison_states_the_tolerance_of_its_bound(check, printed):
    assert sentence(check) == f"rate: {printed}"


def test_studies_are_listed(capsys):
    assert status_of(["list", "studies", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert found["kua2017"]["figures"][0] == "2a"
    assert status_of(["list", "studies"]) == 0
    assert "figures: 2a to 5d (11)" in capsys.readouterr().out


def test_a_study_in_a_folder_elsewhere_is_listed(tiny, capsys, monkeypatch):
    monkeypatch.chdir(tiny.parent)
    assert status_of(["list", "studies", "tiny"]) == 0
    told = capsys.readouterr().out
    assert "A tiny study" in told and "claims: 9-1 to 9-4 (4)" in told
    assert status_of(["list", "studies", "tinny", "--json"]) == 2
    assert "there is no study `tinny`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "problem"),
    [("file", "is a file, not a folder"), ("campaign", "is the folder of a campaign")],
)
@pytest.mark.parametrize("command", ["reproduce", "claims"])
def test_a_study_goes_into_no_file_and_no_campaign(tiny, tmp_path, capsys, command, name, problem):
    (tmp_path / "file").write_text("")
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "manifest.json").write_text("{}")
    assert status_of([command, str(tiny), "--out", str(tmp_path / name)]) == 2
    assert f"{tmp_path / name}: {problem}" in capsys.readouterr().err
    assert [one.name for one in (tmp_path / "campaign").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("asked", [["reproduce"], ["claims"]])
@pytest.mark.parametrize("damaged", ["tables/flows/chunk=0000/rows.parquet", "manifest.json"])
def test_damage_of_a_stored_campaign_is_told_where_it_is(tiny, tmp_path, capsys, asked, damaged):
    out = tmp_path / "out"
    command = [*asked, str(tiny), "--out", str(out), "--jobs", "1", "--seeds", "1"]
    status_of(command)
    path = out / "home" / "seed-1" / damaged
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    capsys.readouterr()
    assert status_of(command) == 2
    said = capsys.readouterr().err
    assert f"\nerror: {path}: " in f"\n{said}"
    assert "figures.py" not in said and "claims.py" not in said
