"""TEACUP's argument strings, which are evaluated after variables are replaced."""

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.planning.teacup.vocabulary import ListEntry, arguments
from hypothesis import given, settings
from hypothesis import strategies as st


def parse(text, variables=None):
    """The arguments of a string, and the warnings about them."""
    said = []
    return arguments(ListEntry((), "c.py:1"), text, variables or {}, said.append), said


@pytest.mark.parametrize(
    ("text", "variables", "task", "values"),
    [
        (
            " start_iperf, client='a', server='b', port=5000, duration=V_duration ",
            {"V_duration": 30},
            "start_iperf",
            {"client": "a", "server": "b", "port": 5000, "duration": 30},
        ),
        (
            " start_iPerf, client='a', server='b', port=5020,\n duration=60 ",
            {},
            "start_iPerf",
            {"client": "a", "server": "b", "port": 5020, "duration": 60},
        ),
        (
            "source='10.0.0.0/24', dest='10.0.1.0/24', delay=2*V_delay, rate=V_up_rate",
            {"V_delay": 10, "V_up_rate": "1mbit"},
            "",
            {"source": "10.0.0.0/24", "dest": "10.0.1.0/24", "delay": 20, "rate": "1mbit"},
        ),
        (
            "start_httperf_incast, client='a', servers='b:80,c:81', duration=10, period=1, "
            "response_size=64,",
            {},
            "start_httperf_incast",
            {
                "client": "a",
                "servers": "b:80,c:81",
                "duration": 10,
                "period": 1,
                "response_size": 64,
            },
        ),
        (
            "start_http_server, server='b', port='8000', docroot='/x'",
            {},
            "start_http_server",
            {"server": "b", "port": "8000", "docroot": "/x"},
        ),
        (
            "start_dash_streaming_dashjs, client='h1', dest='h2', serv_port='8000', "
            "chunk_size=V_chunksize, mpd=V_mpd, duration=50",
            {"V_chunksize": "2", "V_mpd": "BigBuckBunny_2s.mpd"},
            "start_dash_streaming_dashjs",
            {
                "client": "h1",
                "dest": "h2",
                "serv_port": "8000",
                "chunk_size": "2",
                "mpd": "BigBuckBunny_2s.mpd",
                "duration": 50,
            },
        ),
        ("delay=V_delay/2 - 1", {"V_delay": 25}, "", {"delay": 11}),
    ],
)
def test_argument_strings(text, variables, task, values):
    args, said = parse(text, variables)
    assert (args.task, dict(args), said) == (task, values, [])


def test_a_hyphen_belongs_to_the_name_for_teacup():
    args, said = parse("delay=V_a-1", {"V_a": 5})
    assert args["delay"] == 4
    assert said == [
        "c.py:1: TEACUP reads `V_a-1` as one name and would stop here; aqmlab reads it as a"
        " difference"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mpd='V_mpd'",
            "c.py:1: mpd: `V_mpd` is inside quotes, where TEACUP does not replace it\n\n"
            "hint: write mpd=V_mpd",
        ),
        (
            "delay=V_dely",
            "c.py:1: delay: unknown variable `V_dely`\n\nhint: did you mean `V_delay`?",
        ),
        ("delay=(1", "c.py:1: these are not arguments: '(' was never closed"),
        ("a, b", "c.py:1: only the task's name may lack a key"),
        ("**V_delay", "c.py:1: `**` is not read"),
        (
            "x=__import__('os')",
            "c.py:1: x: unknown variable `__import__`\n\nhint: there are V_delay, V_mpd",
        ),
        ("x=[1]", "c.py:1: x: `[1]` is not text or a number"),
        ("x=1) or (2", "c.py:1: these are not arguments: not a list of arguments"),
    ],
)
def test_argument_strings_that_are_refused(text, message):
    with pytest.raises(ScenarioError) as caught:
        parse(text, {"V_delay": 1, "V_mpd": "x"})
    assert str(caught.value) == message


@pytest.mark.filterwarnings("error")
def test_python_warns_of_nothing_in_argument_strings():
    # Python 3.12 and later warn if no space separates a number from a word.
    assert parse("x=1if 1else 2", {})[0]["x"] == 1


@pytest.mark.filterwarnings("error")
@settings(deadline=None)
@given(st.text(alphabet="start_iperf, client='a'V_x-+*/=()[]\n0123456789\"{}", max_size=60))
def test_any_argument_string_is_read_or_refused(text):
    try:
        parse(text, {"V_x": 1})
    except ScenarioError as error:
        assert error.where.startswith("c.py:1")
