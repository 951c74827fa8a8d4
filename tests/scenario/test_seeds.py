"""Seeds: every set has one spelling, which reads back as the same set; other texts are refused."""

import pytest
from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.planning import planner
from aqmlab.scenario import seeds
from aqmlab.scenario.model import Scenario
from hypothesis import example, given
from hypothesis import strategies as st

HOME = """\
seeds = SEEDS
path.rate = "12/1 Mbit/s"
apps.up.kind = "bulk"
"""
LAST = 2**63 - 1


@given(st.lists(st.integers(0, LAST) | st.integers(0, 20), min_size=1, max_size=30, unique=True))
@example([7])
@example([0])
@example([LAST])
@example([LAST - 1, LAST])
@example([2, 1])
def test_every_list_of_seeds_has_a_spelling_that_reads_back(numbers):
    spelled = seeds.spelled(numbers)
    assert seeds.numbers(spelled) == tuple(numbers)
    assert seeds.numbers(str(spelled)) == tuple(numbers), "as --seeds has it"
    assert seeds.spelled(spelled) == spelled


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("[7]", (7,)),
        ('"7-7"', (7,)),
        ("[0]", (0,)),
        ('"0-0"', (0,)),
        (f"[{LAST}]", (LAST,)),
        (f'"{LAST}-{LAST}"', (LAST,)),
        ('"0-2"', (0, 1, 2)),
        ("7", (1, 2, 3, 4, 5, 6, 7)),
        ('"7"', (1, 2, 3, 4, 5, 6, 7)),
    ],
)
def test_a_plan_has_the_seeds_that_are_written(tmp_path, written, numbers):
    path = tmp_path / "home.toml"
    path.write_text(HOME.replace("SEEDS", written))
    loaded = planner.load(path)
    assert tuple(trial.seed for trial in loaded.trials) == numbers
    again = Scenario.from_toml(Scenario.from_toml(path.read_text()).to_toml())
    assert seeds.numbers(again.seeds) == numbers
    of_option = planner.load(path, seeds=seeds.spelled(numbers))
    assert tuple(trial.seed for trial in of_option.trials) == numbers
    assert tuple(trial.seed for trial in planner.load(path, seeds=list(numbers)).trials) == numbers


@pytest.mark.parametrize(
    "written",
    [
        0, -1, 100_001, 10**30, 2**63, "0", "2147483648", "9223372036854775808", "5-3", "1-200000",
        "-1", "1,1", "1-3,2", "", ",", "1,", "a", "٣", "１-２", "1.0", 1.0, True, None, [], [-1],
        [2**63], [1, 1], [True], ["1"], {}, f"{2**63}-{2**63}",
    ],
)  # fmt: skip
def test_what_stands_for_no_seeds_is_refused(written):
    with pytest.raises(BadValueError) as caught:
        seeds.spelled(written)
    assert "3-7" in caught.value.hint and "7-7" in caught.value.hint
    with pytest.raises(ScenarioError):
        Scenario(path={"rate": "1/1 Mbit/s"}, apps={"a": {"kind": "ping"}}, seeds=written)
