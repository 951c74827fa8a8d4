"""The kernel's own spread, and a test of its limit against chance."""

from __future__ import annotations

import random
import statistics

import pytest
from aqmlab.validation import spread
from aqmlab.validation.spread import Unit


@pytest.mark.parametrize("count", [3, 10])
def test_of_pairs_of_medians_of_the_same_thing_nineteen_in_twenty_keep_the_bound(
    count: int,
) -> None:
    rng = random.Random(count)
    kept = 0
    for _ in range(2_000):
        one, other = ([rng.gauss(100, 5) for _ in range(count)] for _ in range(2))
        width = spread.half_width(one, unit=Unit(0.1), kin=None, others=count, tests=1)
        assert width is not None
        kept += abs(statistics.median(one) - statistics.median(other)) <= width
    assert 0.93 <= kept / 2_000 <= 0.97


def test_three_seeds_are_not_excused_by_their_own_chance() -> None:
    restless = [90.0, 100.0, 112.0]
    unit = Unit(0.1)
    alone = spread.half_width(restless, unit=unit, kin=None, others=3, tests=1)
    calm = spread.half_width(restless, unit=unit, kin=0.0001, others=3, tests=1)
    wild = spread.half_width(restless, unit=unit, kin=1.0, others=3, tests=1)
    assert alone is not None and calm is not None and wild is not None
    assert calm < alone
    assert wild == alone, "a restless kin excuses nothing"


def test_ten_seeds_are_judged_by_themselves() -> None:
    values = [float(value) for value in range(10)]
    unit = Unit(0.1)
    assert spread.half_width(values, unit=unit, kin=0.0, others=10, tests=1) == spread.half_width(
        values, unit=unit, kin=None, others=10, tests=1
    )


@pytest.mark.parametrize("values", [[3.0], [3.0, 4.0]])
def test_fewer_than_three_seeds_know_nothing_of_their_spread(values: list[float]) -> None:
    width = spread.half_width(values, unit=Unit(0.1), kin=0.5, others=len(values), tests=1)
    assert width is None


def test_bounds_that_must_hold_together_are_wider() -> None:
    values = [1.0, 2.0, 3.0]
    one, eight = (
        spread.half_width(values, unit=Unit(0.1), kin=None, others=3, tests=tests)
        for tests in (1, 8)
    )
    assert one is not None and eight is not None and eight > one


def test_a_count_s_variance_goes_with_its_mean() -> None:
    assert Unit(2.0, counts=True).variance([10.0]) == 20.0
    assert Unit(2.0).variance([10.0]) == 100.0
    assert Unit(2.0).variance([0.0]) == 4.0


@pytest.mark.parametrize("count", [3, 6, 10, 15])
def test_the_variance_of_medians_is_that_of_medians(count: int) -> None:
    rng = random.Random(count)
    medians = [statistics.median(rng.gauss(0, 1) for _ in range(count)) for _ in range(20_000)]
    assert spread.median_variance(count) == pytest.approx(statistics.variance(medians), rel=0.05)
