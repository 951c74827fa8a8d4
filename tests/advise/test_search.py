"""The search states only results of cases that ran."""

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
