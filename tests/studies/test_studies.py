"""The packaged studies are complete, and one study runs end to end."""

import pytest
from aqmlab import studies
from aqmlab.base.failures import RequestError
from aqmlab.planning.change_text import assignments
from aqmlab.studies import preflight
from aqmlab.studies.claims import HOLDS, UNKNOWN, judge
from aqmlab.studies.laboratory import Asked, Laboratory


@pytest.mark.parametrize("name", studies.names())
def test_what_figures_and_claims_need_can_be_run(name, tmp_path):
    study = studies.load(name)
    laboratory = Laboratory(study, Asked(1), tmp_path / "out")
    needs = [need for figure in study.figures.values() for need in figure.trials]
    needs += [need for claim in study.claims.values() for need in claim.needs]
    for need in needs:
        assert need.of(laboratory.plan(need.scenario))
    preflight.of_claims(list(study.claims.values()), laboratory)
    preflight.of_figures(list(study.figures.values()), laboratory)
    for claim in study.claims.values():
        assert claim.says.endswith(".") and claim.source


@pytest.mark.parametrize(
    ("name", "paper", "least"),
    [
        ("kua2017", 0, 45),
        ("cumaranayagam2016", 1, 13),
        ("hoiland2015", 3, 8),
        ("boerlage2016", 4, 49),
        ("modern", "M", 33),
    ],
)
def test_every_numbered_claim_is_there(name, paper, least):
    # 3-02b is a second claim of the sentence of 3-02.
    claims = list(dict.fromkeys(claim.rstrip("b") for claim in studies.load(name).claims))
    assert [f"{paper}-{number:02}" for number in range(1, len(claims) + 1)] == claims
    assert len(claims) >= least


def test_a_number_stands_for_its_parts_but_for_no_other_number():
    figures = studies.load("kua2017")
    assert [one.number for one in figures.asked_figures(["3"])] == ["3a", "3b", "3c"]
    assert [one.number for one in figures.asked_figures(["3b", "4"])] == ["3b", "4"]


def test_the_tiny_study_tells_1_from_12(tiny):
    assert [one.number for one in studies.load(tiny).asked_figures(["1"])] == ["1a", "1b"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = 'x'", "`paper` is missing"),
        ("titel = 'x'", "unknown key `titel`.*did you mean `title`"),
        ("title = 3", "`title` is not a str"),
        ("title = ", "study.toml"),
    ],
)
def test_a_mistake_in_what_a_study_says_of_itself_is_named(tiny, text, said):
    (tiny / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RequestError, match=f"(?s){said}"):
        studies.load(tiny)


def test_figures_and_claims_may_be_packages(tiny):
    inside = tiny / "claims"
    inside.mkdir()
    (tiny / "claims.py").rename(inside / "delays.py")
    text = "from . import delays\nfrom aqmlab.studies.claims import Claims\n"
    (inside / "__init__.py").write_text(f"{text}CLAIMS = Claims.of(delays.CLAIMS)\n", "utf-8")
    assert list(studies.load(tiny).claims) == ["9-1", "9-2", "9-3", "9-4"]
    (inside / "__init__.py").unlink()
    with pytest.raises(RequestError, match=r"there is no claims\.py"):
        _ = studies.load(tiny).claims


def test_a_folder_that_is_no_study_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"has no study\.toml"):
        studies.load(tmp_path)


def test_claims_of_kua2017_are_judged_in_a_short_run(tmp_path):
    study = studies.load("kua2017")
    short = assignments(("measure.from=5 s", "measure.to=15 s", "duration=15 s"))
    laboratory = Laboratory(study, Asked(1, sets=short), tmp_path / "out")
    claims = study.asked_claims(["0-13", "0-17", "0-12"])
    assert laboratory.run([need for claim in claims for need in claim.needs]).run == 12
    found = {one.claim.number: one for one in judge(claims, laboratory)}
    assert found["0-13"].word == found["0-17"].word == HOLDS
    assert found["0-12"].word == UNKNOWN
    assert found["0-17"].finding.deciding.middle < 2
    assert "windows" in found["0-17"].choices


def test_every_claim_of_the_appendix_on_iot_and_of_the_main_text_of_armitage2017_is_there():
    claims = studies.load("armitage2017").claims
    expected = [*range(1, 26), *range(44, 93)]
    assert not {f"2-{number:02}" for number in expected} - set(claims)


def test_the_arithmetic_of_armitage2017_needs_no_trials_and_holds(tmp_path):
    study = studies.load("armitage2017")
    computed = [claim for claim in study.claims.values() if not claim.needs]
    laboratory = Laboratory(study, Asked(1), tmp_path / "out")
    assert len(computed) >= 7
    assert {one.word for one in judge(computed, laboratory)} == {HOLDS}
