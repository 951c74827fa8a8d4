"""The page's composer makes the same trials as the lowering of scenarios, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aqmlab import _core
from aqmlab.base.errors import ScenarioError
from aqmlab.households import loading
from aqmlab.households.traffic import scenario_of
from aqmlab.planning.lowering import resolve
from aqmlab.scenario import catalogue, number_text
from aqmlab.scenario.links import OVERHEADS
from aqmlab.scenario.model import Scenario
from hypothesis import example, given, settings
from hypothesis import strategies as st

LINE_KINDS = [*OVERHEADS, {"bytes": 22, "minimum": 64, "counted": 14}]
GATEWAYS = ["pfifo", "bfifo", "codel", "fq_codel", "pie", "fq_pie"]
SHORT = {
    "pfifo": ["limit=250", "limit=1000"],
    "bfifo": ["limit=64kB"],
    "codel": ["target=10ms interval=150ms"],
    "fq_codel": ["limit=1000 target=5ms", "quantum=300B"],
    "pie": ["tupdate=20ms", "target=20ms"],
    "fq_pie": ["limit=5000"],
}


def durations(most_ms: int) -> st.SearchStrategy[str]:
    """Durations up to `most_ms` in the notation of users."""
    whole = st.integers(0, most_ms).map(lambda ms: f"{ms} ms")
    seconds = st.integers(0, most_ms * 10).map(lambda tenths: f"{tenths / 10_000:.4f} s")
    return whole | seconds | st.integers(0, most_ms * 10**6).map(lambda ns: f"{ns}ns")


def rates(most_mbit: int) -> st.SearchStrategy[str]:
    """Rates of lines in Mbit/s up to `most_mbit`, or in kbit/s."""
    mbit = st.decimals("0.064", most_mbit, places=3).map(lambda rate: f"{rate:f} Mbit/s")
    return mbit | st.integers(64, 1_000 * most_mbit).map(lambda kbit: f"{kbit} kbit/s")


@st.composite
def pairs(draw: st.DrawFn) -> str:
    """Rates down and up in the short form."""
    down, up = draw(st.integers(1, 1_000)), draw(st.decimals("0.1", 400, places=2))
    return draw(st.sampled_from([f"{down}/{up:f} Mbit/s", f"{down} Mbit/s / {up:f} Mbit/s"]))


def disciplines() -> st.SearchStrategy[Any]:
    """Disciplines as texts and as tables, with and without parameters."""

    def forms(kind: str) -> st.SearchStrategy[Any]:
        short = st.sampled_from([kind, *(f"{kind} {params}" for params in SHORT[kind])])
        return short | parameters("disciplines", kind).map(lambda given: {"kind": kind} | given)

    return st.sampled_from(GATEWAYS).flatmap(forms)


@st.composite
def parameters(draw: st.DrawFn, family: str, name: str) -> dict[str, Any]:
    """Some parameters of a kind. Numbers have their defaults, in several spellings."""
    params = catalogue.load()[family][name].params
    chosen = (
        draw(st.lists(st.sampled_from(sorted(params)), unique=True, max_size=3)) if params else []
    )
    spelled = {name: draw(_spellings(params[name])) for name in chosen}
    return {name: value for name, value in spelled.items() if value is not None}


def _spellings(param: Any) -> st.SearchStrategy[Any]:
    """Spellings of a value of the parameter's type; `None` stands for no value."""
    default = param.default
    match param.type:
        case "duration" | "duration or off":
            off = ["off"] if param.type.endswith("off") else []
            default = default or 5_000_000
            return st.sampled_from([f"{default} ns", f"{default / 1e6:.3f} ms", *off])
        case "bytes":
            return st.sampled_from([f"{default} B", f"{default / 1000:.3f} kB"])
        case "rate":
            return st.sampled_from([f"{default} bit/s", f"{default / 1e6:.6f} Mbit/s"])
        case "count":
            return st.sampled_from([default, str(default), f"{default} packets"])
        case "number":
            return st.just(default)
        case "flag":
            return st.sampled_from([True, False, "on", "off"])
        case "word":
            return st.sampled_from(list(param.choices))
    return st.none()


@st.composite
def applications(draw: st.DrawFn) -> dict[str, Any]:
    """One application in scenario notation."""
    kind = draw(st.sampled_from(sorted(catalogue.load()["apps"])))
    app = {"kind": kind} | draw(parameters("apps", kind))
    taken = catalogue.load()["apps"][kind].params
    own = {
        "start": durations(20_000),
        "rtt": durations(400),
        "count": st.integers(1, 4),
        "stagger": durations(3_000),
    }
    for key, values in own.items():
        if key not in taken and draw(st.booleans()):
            app[key] = draw(values)
    if draw(st.booleans()):
        app["host"] = draw(st.sampled_from(["notebook", "Anna's tv", "Gerät 1"]))
    return app


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    """The path of a household: a line of one kind, a tier and a gateway."""
    path: dict[str, Any] = {"rtt": draw(durations(300)), "qdisc": draw(disciplines())}
    path["overhead"] = draw(st.sampled_from(LINE_KINDS))
    if draw(st.booleans()):
        path["shaper"] = draw(st.sampled_from(["line", "htb"]))
    if draw(st.booleans()):
        share = draw(st.decimals(50, 100, places=1))
        path["rate"] = draw(st.sampled_from([f"{share:f} %", f"{share:f}/90 %", "1 Gbit/s"]))
        path["modem"] = {
            "rate": draw(pairs()),
            "qdisc": draw(disciplines()),
            "overhead": draw(st.sampled_from(LINE_KINDS)),
        }
        if draw(st.booleans()):
            path["modem"]["up"] = {"qdisc": draw(disciplines()), "rate": draw(rates(50))}
    else:
        path["rate"] = draw(pairs() | rates(1_000))
    if draw(st.booleans()):
        path["down"] = {"qdisc": draw(disciplines()), "overhead": draw(st.sampled_from(LINE_KINDS))}
    if draw(st.booleans()):
        path["host_jitter"] = draw(durations(2))
        path["start_jitter"] = draw(durations(100))
    return path


@st.composite
def households(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario in the form that the page makes."""
    names = st.sampled_from(["zebra", "call", "film", "Größe 3", "backup", "a-game"])
    made: dict[str, Any] = {
        "duration": draw(st.sampled_from(["20 s", "60 s", "1 min", "0.5 min"])),
        "path": draw(lines()),
        "apps": draw(st.dictionaries(names, applications(), min_size=1, max_size=4)),
    }
    if draw(st.booleans()):
        made["title"] = "A home"
    if draw(st.booleans()):
        made["measure"] = {"from": draw(durations(10_000))}
    return made


def lowered(household: dict[str, Any], seed: int) -> str:
    """The trial that Python's lowering makes, with all members."""
    spec = resolve(Scenario.from_dict(household)).spec.with_seed(seed)
    return _core.complete(spec.text())


@settings(max_examples=200, deadline=None)
@given(households(), st.integers(0, 2**64 - 1))
@example(
    {
        "duration": "20 s",
        "path": {"rate": "95 %", "modem": {"rate": "50/2.5 Mbit/s"}},
        "apps": {"b": {"kind": "bulk"}, "a": {"kind": "voip"}},
    },
    1,
)
def test_a_household_composes_to_the_trial_of_pythons_lowering(
    household: dict[str, Any], seed: int
) -> None:
    expected = lowered(household, seed)
    wrong = _core.check(expected)
    if wrong is not None:  # both refuse the same place
        with pytest.raises(ValueError, match=r".") as refused:
            _core.compose(json.dumps(household), seed)
        assert str(refused.value) == f"{wrong[0]}: {wrong[1]}"
        return
    assert _core.compose(json.dumps(household), seed) == expected


@pytest.mark.parametrize("name", loading.builtin_names())
def test_a_built_in_household_composes_to_the_trial_of_pythons_lowering(name: str) -> None:
    home = loading.load(name).model_copy(update={"scenario": None})
    table = scenario_of(home).to_dict()
    del table["vary"]
    for app in table["apps"].values():
        if isinstance(app.get("start"), list):  # the page has no lists of starts
            app["start"] = app["start"][0]
    expected = lowered(table, 1)
    hosts = {app["host"] for app in json.loads(expected)["apps"]}
    assert len(hosts) == len({(one.who, one.device) for one in home.uses()})
    assert _core.compose(json.dumps(table), 1) == expected


def test_the_order_of_applications_is_that_of_the_scenario() -> None:
    household = {
        "path": {"rate": "20/2 Mbit/s"},
        "apps": {"zebra": {"kind": "voip"}, "ant": {"kind": "bulk"}},
    }
    found = json.loads(_core.compose(json.dumps(household), 1))
    assert [app["name"] for app in found["apps"]] == ["zebra", "ant"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"vary": {}}, "unknown field `vary`"),
        ({"hosts": {}}, "unknown field `hosts`"),
        ({"duration": 20}, "duration: `20` is not a duration"),
        ({"path": {"rate": "95 %"}}, "there is no modem"),
        ({"path": {}}, "path.up.rate: is missing"),
        ({"path": {"rate": "20/2 Mbit/s", "lan": "1 Gbit/s"}}, "path.lan: unknown field `lan`"),
        ({"apps": {}}, "no application is given"),
        ({"apps": {"a": {"kind": "voi"}}}, "there is no kind called `voi`"),
        ({"apps": {"a": {"kind": "voip", "tcp": "x"}}}, "apps.a.tcp: no such parameter"),
        ({"apps": {"a": {"kind": "voip", "count": 2000}}}, "2000 is not between 1 and 1000"),
        ({"apps": {"a": {"kind": "voip", "host": 3}}}, "apps.a.host: a name is one line"),
        ({"apps": {"a": {"kind": "voip", "host": "a\n"}}}, "apps.a.host: a name is one line"),
        ({"apps": {"a": {"kind": "voip", "count": "2 dragons"}}}, "`2 dragons` is not a count"),
        ({"apps": {"a": {"kind": "voip", "count": "2 ms"}}}, "`2 ms` is not a count"),
    ],
)
def test_a_key_that_the_page_does_not_offer_is_refused(changes: dict[str, Any], told: str) -> None:
    household = {"path": {"rate": "20/2 Mbit/s"}, "apps": {"call": {"kind": "voip"}}} | changes
    with pytest.raises(ValueError, match=r".") as refused:
        _core.compose(json.dumps(household), 1)
    assert told in str(refused.value)


def test_a_count_has_the_nouns_of_the_lowering() -> None:
    for noun in (*number_text.NOUNS, "Packets", ""):
        apps = {"call": {"kind": "voip", "count": f"2 {noun}"}}
        household = {"path": {"rate": "20/2 Mbit/s"}, "apps": apps}
        assert _core.compose(json.dumps(household), 1) == lowered(household, 1), noun


@pytest.mark.parametrize(
    "letter",
    [
        "\u200b",
        "\u00ad",
        "\u2028",
        "\u00a0",
        "\ue000",
        "\x7f",
        "a",
        "é",
        "e\u0301",
        '"',
        "'",
        "\\",
        "字",
        " ",
    ],
)
def test_a_name_has_the_letters_that_the_lowering_accepts(letter: str) -> None:
    name = f"a{letter}b"
    for apps in ({name: {"kind": "voip"}}, {"call": {"kind": "voip", "host": name}}):
        household = {"path": {"rate": "20/2 Mbit/s"}, "apps": apps}
        if name.isprintable():
            assert _core.compose(json.dumps(household), 1) == lowered(household, 1)
        else:
            with pytest.raises(ScenarioError, match="a name is one line"):
                lowered(household, 1)
            with pytest.raises(ValueError, match="a name is one line"):
                _core.compose(json.dumps(household), 1)
