"""Any text is read as a scenario or refused with a message."""

import tomllib

from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner
from aqmlab.planning.combinations import Engines
from aqmlab.scenario import merge, toml_writer
from aqmlab.scenario.loading import Found
from aqmlab.scenario.model import Scenario
from hypothesis import given, settings
from hypothesis import strategies as st
from support import changes as changes_of

HOME = """\
extends = "bufferbloat"
title = "x"
duration = "3 s"
seeds = "1-3"
[path]
rate = "12/1 Mbit/s"
qdisc = "fq_codel limit=10"
down.overhead = { bytes = 3, atm = true }
[hosts.home]
cc = "cubic"
[defaults]
home = { ecn = true }
[apps.up]
kind = "bulk"
start = ["1 s", "2 s"]
tcp = "home"
[[x.y]]
a = 1
[measure]
from = "1 s"
[vary]
path.rtt = ["1 ms", "2 ms"]
scheme = [{ label = "A", path.qdisc = "pfifo" }, { path.down.qdisc = { kind = "codel" } }]
[report]
figures = ["a"]
tolerances = { up = "1 s" }
rates = { up = "1 Mbit/s" }
"""

WORDS = st.sampled_from(
    [
        "path",
        "down",
        "up",
        "rate",
        "qdisc",
        "queue",
        "rtt",
        "loss",
        "jitter",
        "overhead",
        "hosts",
        "home",
        "wan",
        "defaults",
        "apps",
        "kind",
        "bulk",
        "ping",
        "cbr",
        "start",
        "stop",
        "duration",
        "count",
        "stagger",
        "tcp",
        "cc",
        "ecn",
        "measure",
        "from",
        "to",
        "window",
        "step",
        "vary",
        "report",
        "tolerances",
        "rates",
        "figures",
        "seeds",
        "title",
        "extends",
        "label",
        "params",
        "limit",
        "pfifo",
        "codel",
        "fq_codel",
    ]
)
LEAVES = st.one_of(
    st.sampled_from(
        ["1 ms", "0 s", "-1 s", "12/1 Mbit/s", "1 kbit/s", "off", "codel limit=1", "5 %", "300 kB"]
    ),
    WORDS,
    st.text(max_size=6),
    st.integers(-3, 3000),
    st.booleans(),
    st.floats(allow_nan=True),
)
TABLES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=14,
)


def plan_of(text, **changes):
    """The plan of a text, by all steps of loading except the reading of a file."""
    layer = merge.from_toml(text, "home.toml")
    layer.data.pop("extends", None)
    asked = planner._Requested(
        **changes_of.read(**changes),
        seeds=None,
        duration=None,
        engines=Engines(("sim",), build=False),
    )
    return planner._from_layer(Found(layer, "home", "home.toml", ""), asked)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_files_with_a_piece_replaced(data):
    start = data.draw(st.integers(0, len(HOME)))
    end = data.draw(st.integers(start, min(len(HOME), start + 30)))
    piece = data.draw(st.text(alphabet="'\"[]{}=.,#\n 0x-", max_size=5) | WORDS)
    try:
        plan_of(HOME[:start] + piece + HOME[end:])
    except ScenarioError as error:
        assert str(error)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(WORDS, TABLES, max_size=6))
def test_any_tables(table):
    base = {"path": {"rate": "1/1 Mbit/s"}, "apps": {"a": {"kind": "ping"}}}
    for whole in (table, base | table):
        try:
            text = toml_writer.write(whole)
            tomllib.loads(text)
            plan_of(text)
        except ScenarioError as error:
            assert str(error)
        try:
            Scenario.from_dict(whole)
        except ScenarioError as error:
            assert str(error)


ADDRESSES = st.lists(WORDS | st.text(max_size=3), min_size=1, max_size=4).map(".".join)
TEXTS = st.one_of(LEAVES.map(str), TABLES.map(toml_writer.value), st.text(max_size=12))


@settings(max_examples=150, deadline=None)
@given(ADDRESSES, TEXTS, ADDRESSES, st.lists(TEXTS, min_size=1, max_size=3).map(",".join))
def test_any_command_line(address, value, other, values):
    text = HOME.replace('extends = "bufferbloat"\n', "").replace("[[x.y]]\na = 1\n", "")
    try:
        plan_of(text, sets=[f"{address}={value}"], vary=[f"{other}={values}"])
    except ScenarioError as error:
        assert str(error)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_any_text(text):
    try:
        plan_of(text)
    except ScenarioError as error:
        assert error.where.startswith("home.toml")
