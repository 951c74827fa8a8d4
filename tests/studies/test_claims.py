"""The rule by which a claim holds."""

import importlib
import math
import runpy
from functools import partial
from types import ModuleType

import pytest
from aqmlab import studies
from aqmlab.base.failures import RequestError
from aqmlab.studies.claims import (
    FAILS,
    HOLDS,
    UNKNOWN,
    Check,
    Claims,
    Evidence,
    about,
    above,
    alike,
    always,
    below,
    interval,
    judge,
    more,
    mostly,
    not_less,
    part,
)
from aqmlab.studies.laboratory import Asked, Laboratory


def seeds(*values):
    return {number: float(value) for number, value in enumerate(values, 1)}


@pytest.mark.parametrize("study", ["armitage2017", "boerlage2016", "kua2017", "modern", "rfc7928"])
def test_two_modules_of_a_study_cannot_have_a_claim_with_the_same_number(study, monkeypatch):
    claims = importlib.import_module(f"aqmlab.studies.papers.{study}.claims")
    modules = (one for one in vars(claims).values() if isinstance(one, ModuleType))
    part = next(one for one in modules if hasattr(one, "CLAIMS"))
    twice = Claims([*part.CLAIMS, part.CLAIMS[0]])
    monkeypatch.setattr(part, "CLAIMS", twice)
    with pytest.raises(RequestError, match=f"two claims have the number `{twice[0].number}`"):
        runpy.run_path(claims.__file__)


@pytest.mark.parametrize(
    ("check", "margin"),
    [
        (below("x", seeds(1.5), 2), 0.25),
        (below("x", seeds(2.1), 2), -0.05),
        (below("x", seeds(2.1), 2, slack=0.1), 0.05),
        (above("x", seeds(3), 2), 0.5),
        (above("x", seeds(1), 2, slack=0.1), -0.4),
        (about("x", seeds(110), 100, within=0.25), 0.15),
        (about("x", seeds(70), 100, within=0.25), -0.05),
        (below("x", seeds(0), 0), 0.0),
        (more("x", seeds(3), seeds(1), times=2), 0.5),
    ],
)
def test_a_margin_is_a_share_of_the_bound(check: Check, margin: float) -> None:
    assert check.middle_margin == pytest.approx(margin)
    assert check.holds == (margin >= 0)


@pytest.mark.parametrize("met", range(6))
def test_an_ordering_holds_in_four_of_five_seeds_and_fails_in_one_of_five(met):
    check = more("x", seeds(*[2] * met, *[0.5] * (5 - met)), seeds(*[1] * 5))
    assert check.holds == (met >= 4)
    assert check.is_undecided == (met in (2, 3))


def test_a_number_is_held_against_the_median():
    assert below("x", seeds(1, 1, 1, 3, 3), 2).holds
    assert not below("x", seeds(1, 1, 3, 3, 3), 2).holds
    assert not below("x", seeds(1, 1, 3, 3, 3), 2).is_undecided
    assert about("x", seeds(60, 90, 100, 140, 150), 100).holds
    assert about("x", seeds(125), 100).holds
    assert not about("x", seeds(126), 100).holds
    assert not alike("x", seeds(60, 90, 100, 140, 150), seeds(*[100] * 5), within=0.25).holds


def test_an_ordering_compares_within_a_seed():
    check = more("x", seeds(2, 20, 200), seeds(1, 10, 100))
    assert check.values == seeds(2, 2, 2)
    assert not more("x", seeds(1, 1, 1), seeds(1, 1, 1)).holds
    assert not_less("x", seeds(1, 1, 0.97), seeds(1, 1, 1), slack=0.05).holds
    assert more("x", seeds(1, 1, 1), seeds(0, 0, 0)).holds  # zero is less
    assert not not_less("x", seeds(-1, -1, -1), seeds(0, 0, 0), slack=0.05).holds


def checks(*held):
    """Checks of one kind, each with the result that a word of `held` names."""
    values = {"met": [2.0] * 5, "tied": [1.0] * 5, "opposite": [0.5] * 5, "split": [2, 2, 2, 0, 0]}
    return [
        more(f"{number}", seeds(*values[one]), seeds(*[1.0] * 5)) for number, one in enumerate(held)
    ]


@pytest.mark.parametrize(
    ("held", "said", "verdict"),
    [
        (["met"] * 9, list, HOLDS),
        ([*["met"] * 8, "tied"], list, FAILS),  # eight of nine checks are less than 90 %
        ([*["met"] * 9, "tied"], list, HOLDS),
        ([*["met"] * 8, "tied", "tied"], list, FAILS),
        ([*["met"] * 9, "opposite"], list, FAILS),
        ([*["met"] * 71, "tied"], partial(always, "in all cases"), FAILS),
        ([*["met"] * 4, "opposite"], partial(mostly, "mostly"), HOLDS),
        ([*["met"] * 3, "tied", "tied"], partial(mostly, "mostly"), FAILS),
        (["met", "tied"], partial(mostly, "", share=0.5), HOLDS),
        (["split"], list, UNKNOWN),
        ([*["met"] * 9, "split"], list, HOLDS),
        ([*["met"] * 8, "split", "split"], list, UNKNOWN),
        ([*["met"] * 8, "tied", "split"], list, UNKNOWN),  # 90 % if the undecided check holds
        ([*["met"] * 7, "tied", "tied", "split"], list, FAILS),
        ([*["met"] * 8, "opposite", "split"], list, FAILS),
        ([*["met"] * 4, "split"], partial(always, "in all cases"), UNKNOWN),
    ],
    ids=lambda value: "-".join(dict.fromkeys(value)) if isinstance(value, list) else "",
)
def test_how_many_of_a_kind_must_hold_is_a_rule(held, said, verdict):
    found = Evidence(said(checks(*held)))
    assert found.verdict == verdict
    assert found.held == held.count("met")


@pytest.mark.parametrize(
    "other",
    [
        lambda: part("and so", checks("tied")),
        lambda: [more("twice", seeds(1, 1, 1), seeds(1, 1, 1), times=2)],
        lambda: [below("as a bound", seeds(3), 2)],
        lambda: always("always", checks("tied")),
    ],
    ids=["part", "bound", "relation", "words"],
)
def test_no_part_of_a_sentence_makes_up_for_another(other):
    many = checks(*["met"] * 40)
    assert Evidence(many).verdict == HOLDS
    found = Evidence([*many, *other()])
    assert found.verdict == FAILS
    assert not found.deciding.holds


def test_what_decides_is_the_weakest_that_counts():
    assert Evidence(checks(*["met"] * 9, "opposite")).deciding.what == "9"
    assert Evidence(checks("met", "tied")).deciding.what == "1"
    assert Evidence(checks(*["met"] * 9, "tied")).deciding.holds
    assert Evidence(mostly("mostly", checks("met", "met", "met", "met", "tied"))).deciding.holds


def test_what_is_undecided_decides_where_nothing_fails():
    found = Evidence([*checks(*["met"] * 8, "tied", "split"), *part("and so", checks("met"))])
    assert (found.verdict, found.deciding.what) == (UNKNOWN, "9")
    found = Evidence([*checks("split"), *part("and so", checks("tied"))])
    assert (found.verdict, found.deciding.part) == (FAILS, "and so")


def test_of_a_contradiction_and_a_tie_the_contradiction_decides():
    assert Evidence(checks(*["met"] * 8, "tied", "opposite")).deciding.what == "9"


@pytest.mark.parametrize(
    ("check", "contradicted"),
    [
        (more("tied", seeds(0.99, 0.98, 0.99, 0.97, 0.96), seeds(1, 1, 1, 1, 1)), False),
        (more("less", seeds(0.9, 0.9, 0.95, 0.9, 1.1), seeds(1, 1, 1, 1, 1)), True),
        (more("in half", seeds(0.5, 0.5, 0.5, 1.1, 1.1), seeds(1, 1, 1, 1, 1)), False),
        (more("not twice", seeds(*[1.2] * 5), seeds(*[1] * 5), times=2), False),
        (more("not near", seeds(*[0.92] * 5), seeds(*[1] * 5), times=0.95), False),
        (not_less("a little", seeds(*[0.78] * 5), seeds(*[1] * 5), slack=0.2), False),
        (not_less("much", seeds(*[0.7] * 5), seeds(*[1] * 5), slack=0.2), True),
        (alike("far", seeds(*[1.3] * 5), seeds(*[1] * 5), within=0.2), True),
        (below("just above", seeds(*[104] * 5), 100), False),
        (below("above", seeds(*[106] * 5), 100), True),
    ],
    ids=lambda value: value.what if isinstance(value, Check) else "",
)
def test_a_contradiction_is_seen_in_most_seeds(check, contradicted):
    assert not check.holds
    assert check.contradicted == contradicted


@pytest.mark.parametrize("count", range(1, 40))
def test_an_interval_holds_the_median_of_nineteen_samples_in_twenty(count: int) -> None:
    low, high = map(int, interval(range(count)))
    outside = 2 * sum(math.comb(count, k) for k in range(low + 1)) / 2**count
    assert low + high == count - 1
    assert outside <= 0.05 or low == 0  # fewer than six values: below 95 %


def test_a_number_names_one_claim_only():
    claims = Claims()
    claims("1-1", "here", "so")(lambda n: None)
    with pytest.raises(RequestError, match="two claims have the number `1-1`"):
        claims("1-1", "there", "so too")(lambda n: None)


def judged(tiny, out, count):
    study = studies.load(tiny)
    laboratory = Laboratory(study, Asked(count), out)
    claims = study.asked_claims([])
    laboratory.run([need for claim in claims for need in claim.needs], jobs=1)
    return {one.claim.number: one for one in judge(claims, laboratory)}


def test_claims_are_judged_over_seeds(tiny, tmp_path):
    found = judged(tiny, tmp_path / "out", 3)
    assert [one.word for one in found.values()] == [HOLDS, FAILS, UNKNOWN, HOLDS]
    assert found["9-3"].because == "nobody can be asked"
    plain = found["9-1"].to_json()
    assert plain["given"] == {"buffer": "The paper names none; 30 packets."}
    assert plain["deciding"]["seeds"] == 3
    low, high = plain["deciding"]["interval"]
    assert low <= plain["deciding"]["value"] <= high


def test_arithmetic_needs_no_trial(tiny, tmp_path):
    study = studies.load(tiny)
    (found,) = judge(study.asked_claims(["9-4"]), Laboratory(study, Asked(3), tmp_path / "out"))
    assert found.word == HOLDS
    plain = found.to_json()["deciding"]
    assert (plain["value"], plain["bound"], plain["seeds"]) == (240, 240, 0)
    assert not about("x", 241, 240, within=0.001).holds


def test_an_ordering_of_one_run_is_not_judged(tiny, tmp_path):
    found = judged(tiny, tmp_path / "out", 1)
    assert found["9-1"].word == UNKNOWN
    assert "at least 3 seeds" in found["9-1"].because
    assert found["9-2"].word == FAILS


def test_a_choice_that_nobody_explains_is_a_mistake(tiny):
    path = tiny / "claims.py"
    path.write_text(path.read_text("utf-8").replace('"buffer"', '"window"'), encoding="utf-8")
    with pytest.raises(RequestError, match="no choice `window`"):
        _ = studies.load(tiny).claims
