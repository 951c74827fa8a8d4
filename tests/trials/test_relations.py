"""Pairs of random trials, of which the second is derived from the first."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from support import scenarios
from support.relations import PLANNED, RELATIONS, Relation

QUICK = range(0, 12)
QUICK_PLANNED = range(0, 40)
SOAK = range(20_000, 21_000, 50)
LEAST_SHARE = 0.2
"""The minimum share of scenarios to which a conditional relation must apply."""


def broken(relation: Relation, numbers: range) -> tuple[list[str], int]:
    """The forbidden differences, and the number of scenarios to which the relation applied."""
    found, applied = [], 0
    for number in numbers:
        rng = random.Random(f"{relation.__name__} {number}")
        differences = relation(scenarios.table(number), rng)
        if differences is not None:
            applied += 1
            found += [f"scenario {number}: {text}" for text in differences]
    return found, applied


by_name: Callable[[Relation], str] = lambda relation: relation.__name__  # noqa: E731


@pytest.mark.parametrize("relation", RELATIONS, ids=by_name)
def test_a_relation_holds_between_random_trials(relation: Relation) -> None:
    numbers = QUICK_PLANNED if relation in PLANNED else QUICK
    found, applied = broken(relation, numbers)
    assert found == []
    assert applied >= LEAST_SHARE * len(numbers)


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK)
@pytest.mark.parametrize("relation", RELATIONS, ids=by_name)
def test_a_relation_holds_between_a_thousand_pairs(relation: Relation, first: int) -> None:
    found, _ = broken(relation, range(first, first + 50))
    assert found == []
