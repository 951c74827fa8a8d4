"""Written quantities, loops and scenarios are equal when read back, in every spelling."""

import tomllib

from aqmlab.base.errors import ScenarioError
from aqmlab.planning import change_text
from aqmlab.planning.overrides import Assignment, Variation
from aqmlab.scenario import notation, seeds, sweep, toml_writer
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Duration, Rate, Share, Size
from hypothesis import example, given, settings
from hypothesis import strategies as st

NS = st.integers(0, 10**18)
SPELLINGS = (
    (Duration, {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}),
    (Rate, {"bit/s": 1, "kbit/s": 10**3, "Mbps": 10**6, "gbit": 10**9}),
    (Size, {"B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "GiB": 2**30}),
)


@given(st.sampled_from(SPELLINGS), st.integers(1, 10**18))
def test_a_quantity_reads_back_as_it_was(spelling, amount):
    quantity, _ = spelling
    value = quantity(amount)
    assert quantity.parse(str(value)) == value
    assert str(quantity.parse(str(value))) == str(value)


@given(st.sampled_from(SPELLINGS), st.integers(1, 10**8), st.sampled_from(["", " ", "  "]))
def test_a_quantity_means_the_same_in_every_unit(spelling, amount, blank):
    quantity, scales = spelling
    for unit, scale in scales.items():
        assert quantity.parse(f"{amount}{blank}{unit}") == quantity(amount * scale)
        assert quantity.parse(f"{amount}.0{blank}{unit}") == quantity(amount * scale)
        assert quantity.parse(f"+{amount}e0{blank}{unit}") == quantity(amount * scale)


@given(st.floats(0, 1))
def test_a_share_reads_back_as_it_was(part):
    assert Share.parse(str(Share(part))) == Share(part)


@given(st.integers(1, 10**11).filter(lambda bps: bps >= 1_000), st.integers(1_000, 10**11))
def test_a_pair_of_rates_reads_back(down, up):
    texts = str(Rate(down)), str(Rate(up))
    assert notation.rate_pair(f"{texts[0]} / {texts[1]}") == texts


PLAIN = st.one_of(
    st.text(max_size=8), st.integers(-(2**63), 2**63 - 1), st.booleans(),
    st.floats(allow_nan=False),
)  # fmt: skip
KEYS = st.text(max_size=4)
NESTED = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), NESTED, max_size=5))
def test_tables_read_back_from_toml(table):
    assert tomllib.loads(toml_writer.write(table)) == table


@given(st.lists(PLAIN, min_size=1, max_size=6))
@example(['"', ""])
@example(["\\", "'", ',"],'])
def test_values_are_given_to_vary_as_they_are(values):
    text = ",".join(map(toml_writer.value, values))
    if "\n" not in text and "\r" not in text:
        (read,) = change_text.variations([f"path.rtt={text}"])
        assert read == Variation("path.rtt", tuple(values))


SCALARS = st.one_of(  # configs hold no larger numbers
    st.text(max_size=8), st.integers(-(10**15), 10**15), st.booleans(),
    st.floats(-1e15, 1e15),
)  # fmt: skip


@settings(deadline=None)  # the first example imports the reader of TEACUP configs
@given(st.sampled_from(["path.rtt", "V_delay"]), st.lists(SCALARS, min_size=1, max_size=6))
@example("path.qdisc", ["a,b", "5", " x", "", "true", '"', "'", "[", "{a = 1}"])
@example("V_delay", ["a,b", "5", " x", "", "True", '"', "'", "[", "(1)"])
def test_changes_read_back_from_the_command_line(address, values):
    if not any("\r" in one or "\n" in one for one in values if isinstance(one, str)):
        for value in values:
            one = Assignment(address, value)
            assert change_text.assignments([change_text.assignment_text(one)]) == (one,)
        many = Variation(address, tuple(values))
        assert change_text.variations([change_text.variation_text(many)]) == (many,)


def ms(least=1):
    return st.integers(least, 5_000).map(lambda number: f"{number} ms")


APPS = st.dictionaries(
    st.text("abcé -_1", min_size=1, max_size=6).filter(str.strip),
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["bulk", "ping"])},
        optional={"start": ms() | st.lists(ms(), min_size=1, max_size=3), "rtt": ms(),
                  "duration": ms(), "tcp": st.just({"ecn": True})},
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip
VARY = st.fixed_dictionaries(
    {},
    optional={
        "path.rtt": st.lists(ms(), min_size=1, max_size=3, unique=True),
        "path.qdisc": st.permutations(["pfifo", "codel limit=5", "fq_codel"]),
        "scheme": st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True).map(
            lambda numbers: [{"label": f"l{n}", "path.down.loss": f"{n} %"} for n in numbers]
        ),
    },
)
SCENARIOS = st.fixed_dictionaries(
    {
        "path": st.fixed_dictionaries(
            {"rate": st.sampled_from(["12/1 Mbit/s", "500 kbit/s"])},
            optional={"rtt": ms(), "qdisc": st.sampled_from(["codel", "pfifo limit=7"]),
                      "overhead": st.sampled_from(["atm", "ip", {"bytes": 3}])},
        ),
        "apps": APPS,
    },
    optional={
        "title": st.text(max_size=8), "description": st.text(max_size=8), "duration": ms(),
        "seeds": st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4, unique=True),
        "vary": VARY,
        "measure": st.just({"from": "1 ms", "series": False}),
        "report": st.just({"tolerances": {"a": "1 s"}, "notes": "n"}),
    },
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(SCENARIOS)
def test_a_scenario_reads_back_from_its_toml(table):
    try:
        scenario = Scenario.from_dict(table)
    except ScenarioError:
        return
    text = scenario.to_toml()
    again = Scenario.from_toml(text)
    assert again == scenario
    assert again.to_toml() == text
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert seeds.numbers(again.seeds) == seeds.numbers(scenario.seeds)
    assert sweep.loops(again.vary) == sweep.loops(scenario.vary)
