"""The search states only results of cases that ran."""

from types import SimpleNamespace

import pytest
from aqmlab.advise import search
from aqmlab.advise.search import Bisection
from hypothesis import given, settings
from hypothesis import strategies as st


def _searched(served: list[bool], whole: bool) -> Bisection:
    """Runs a bisection to its end. Tier `n` serves everyone if `served[n]` is true."""
    way = Bisection(len(served), whole)
    for _ in range(2 * len(served)):
        wanted = way.wanted()
        if not wanted:
            return way
        assert not set(wanted) & way.served.keys()
        way.served.update((one, served[one]) for one in wanted)
    raise AssertionError("the search does not end")


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=40), st.booleans())
def test_a_search_ends_and_runs_both_neighbours_of_what_it_claims(served, whole) -> None:
    way = _searched(served, whole)
    able = [one for one, good in sorted(way.served.items()) if good]
    if not able:
        assert not served[-1]
        return
    first = able[0]
    assert first == 0 or way.served.get(first - 1) is False
    assert first + 1 == len(served) or first + 1 in way.served


@settings(deadline=None)
@given(st.integers(1, 60), st.data())
def test_a_bisection_finds_the_boundary_in_few_steps(count, data) -> None:
    boundary = data.draw(st.integers(0, count))
    way = _searched([one >= boundary for one in range(count)], whole=False)
    able = [one for one, good in way.served.items() if good]
    assert min(able, default=count) == boundary
    assert len(way.served) <= count.bit_length() + 3


def test_few_tiers_are_all_run() -> None:
    assert _searched([False, True, False, True], whole=True).served.keys() == {0, 1, 2, 3}


def _app(word, value=0.0, tolerable=1.0, more_is_better=False):
    """The verdict on an application with one need."""
    finding = SimpleNamespace(
        word=word, value=value, tolerable=tolerable, more_is_better=more_is_better
    )
    return SimpleNamespace(word=word, findings=(finding,))


GOOD, TOLERABLE = _app("good"), _app("tolerable")


def _outcome(share, *verdicts):
    """The outcome of a share, with verdicts on its applications."""
    words = [one.word for one in verdicts]
    service = SimpleNamespace(
        judged=len(words), bad=words.count("bad"), not_good=len(words) - words.count("good")
    )
    apps = {str(at): one for at, one in enumerate(verdicts)}
    return SimpleNamespace(case=SimpleNamespace(share=share), apps=apps, service=service)


@pytest.mark.parametrize(
    ("shares", "best"),
    [
        # A film that stands still for 1.3 % of the time is not as bad as one for 12 %.
        ({98: [_app("bad", 1.3), TOLERABLE], 90: [_app("bad", 12.0), GOOD]}, 98),
        # Needs are compared by the ratio to their limits.
        ({98: [_app("bad", 1.1)], 90: [_app("bad", 1_000.0, 200.0)]}, 98),
        ({98: [_app("bad", 1.0, 3.6, True)], 90: [_app("bad", 3.5, 3.6, True)]}, 90),
        ({98: [_app("bad", 0.0, 3.6, True)], 90: [_app("bad", 0.1, 3.6, True)]}, 90),
        ({98: [_app("bad", 2.0), _app("bad", 2.0)], 90: [_app("bad", 20.0), GOOD]}, 90),
        ({98: [GOOD, TOLERABLE], 90: [GOOD, GOOD]}, 90),
        ({98: [GOOD], 90: [GOOD]}, 98),
        ({98: [], 90: [_app("bad", 2.0)]}, 90),
    ],
)
def test_the_best_share_has_the_fewest_and_the_least_bad_verdicts(shares, best) -> None:
    outcomes = [_outcome(share, *verdicts) for share, verdicts in shares.items()]
    assert min(outcomes, key=search._score).case.share == best
