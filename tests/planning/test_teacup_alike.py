"""TEACUP configs with values, columns or experiments that could be confused."""

import pytest
from aqmlab.base.errors import ScenarioError

from .test_teacup_small import SMALL, small

pytestmark = pytest.mark.usefixtures("teacup_catalogue")

AQM = """\
    'aqm': (['V_aqm'], ['aqm'], VALUES, {}),
    'runs': (['V_runs'], ['run'], RUNS, {}),
"""


def varied(values, runs="range(2)", names="['aqm', 'runs']", row=AQM, **changes):
    """The plan for SMALL with varied disciplines, and some runs."""
    own = row.replace("VALUES", values).replace("RUNS", runs)
    text = SMALL.replace("    'runs': (['V_runs'], ['run'], range(2), {}),\n", own)
    text = text.replace("['ups', 'runs']", names).replace("'V_x': 'a_b'", "'V_aqm': 'pfifo'")
    return small("queue_disc=V_aqm", text=text, **changes)


@pytest.mark.parametrize(
    ("values", "one", "other"),
    [
        ("['pfifo', 'PFIFO', 'codel']", "pfifo", "PFIFO"),
        ("['codel', 'pfifo', 'fifo']", "pfifo", "fifo"),
    ],
)
def test_values_that_mean_the_same_are_refused_with_both(values, one, other):
    with pytest.raises(ScenarioError) as caught:
        varied(values)
    message = str(caught.value)
    assert message.startswith("c.py:13: TPCONF_parameter_list: aqm: ")
    assert f"`{one}` and `{other}` make the same trials" in message


def test_equal_rates_in_different_units_are_refused():
    text = SMALL.replace("('2mbit', 10), ('2mbit', 20)", "('1000kbit', 10), ('2mbit', 20)")
    with pytest.raises(ScenarioError, match=r"`1mbit 10` and `1000kbit 10` make the same trials"):
        small(text=text)


def test_values_of_an_option_that_mean_the_same_are_refused_at_the_option():
    with pytest.raises(ScenarioError, match=r"--vary V_aqm: `pfifo` and `fifo` make the same"):
        varied("['codel']", vary=["V_aqm=pfifo,fifo"])


def test_what_is_written_alike_runs_once():
    assert [one.seed for one in varied("['pfifo', 'pfifo']", "[0, 0]").trials] == [1]
    assert [one.seed for one in varied("['pfifo', 'codel']", "[0, 1]").trials] == [1, 2, 1, 2]


def test_experiments_that_are_left_out_are_no_equal_trials():
    row = AQM.replace("V_aqm", "V_tcp_cc_algo").replace("'aqm'", "'tcp'")
    plan = varied("['newreno', 'cdg', 'hd', 'cubic']", names="['tcp', 'runs']", row=row)
    assert {trial.conditions["tcp"] for trial in plan.trials} == {"newreno", "cubic"}


@pytest.mark.parametrize(
    ("shorts", "columns"),
    [(("rate", "del"), ("rate", "del")), (("x", "X"), ("V_up_rate", "V_delay"))],
)
def test_no_two_columns_differ_in_case_only(shorts, columns):
    assert small(text=SMALL.replace("'up', 'del'", f"'{shorts[0]}', '{shorts[1]}'")).conditions == (
        columns
    )


def test_columns_that_would_differ_in_case_only_are_refused():
    text = SMALL.replace("['up', 'del']", "['v_DELAY', 'v_delay']").replace("V_up_rate", "V_Delay")
    with pytest.raises(ScenarioError, match=r"c.py:13: TPCONF_parameter_list.*V_Delay.*V_delay"):
        small(text=text)


def test_no_two_experiments_differ_in_case_only():
    rows = "    'x': (['V_x'], ['x'], VALUES, {}),\n    'runs': (['V_runs'], ['run'], RUNS, {}),\n"
    text = SMALL.replace("delay=V_delay", "delay=V_x")
    text = text.replace("    'runs': (['V_runs'], ['run'], range(2), {}),\n", rows)
    text = text.replace("VALUES", "['10', '20']").replace("RUNS", "[0]")
    ids = [one.id for one in small(text=text.replace("['ups', 'runs']", "['x', 'runs']")).trials]
    assert len({one.casefold() for one in ids}) == len(ids)
