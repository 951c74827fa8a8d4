"""Scenarios as values: spelling, changes, round trips, inheritance and resolution."""

import pytest
from aqmlab.engines.trial_spec import KindSpec, LinkSpec, OverheadSpec, RouteSpec
from aqmlab.planning import planner
from aqmlab.planning.lowering import resolve
from aqmlab.scenario.applications import App, Host
from aqmlab.scenario.fields import Qdisc
from aqmlab.scenario.model import Path, Scenario
from aqmlab.scenario.quantities import Duration
from msgspec import UNSET
from support import changes as changes_of

HOME = Scenario(
    path=Path(rate="12/1mbit", rtt="40ms", qdisc="fq_codel limit=1000"),
    hosts={"iot": Host(profile="freebsd", cc="newreno", delayed_ack="10 ms")},
    apps={
        "up": App(kind="bulk", direction="up", start="5s", tcp="iot"),
        "ping": {"kind": "ping", "interval": "0.1 s"},
    },
    vary={"path.rtt": ["20 ms", "40 ms"]},
)


def only(scenario):
    """The resolved trial of a scenario whose loops are removed."""
    (trial,) = planner.load(scenario.but(vary={}, seeds=1)).trials
    return trial.spec


def test_values_have_one_spelling():
    assert str(HOME.path.down.rate) == "12 Mbit/s"
    assert str(HOME.path.up.rate) == "1 Mbit/s"
    assert HOME.path.up.qdisc == Qdisc(kind="fq_codel", params={"limit": "1000 packets"})
    assert HOME.apps["ping"].params == {"interval": Duration.parse("100 ms")}


def test_a_plan_keeps_what_was_written_and_of_a_value_what_reads_back(tmp_path):
    text = f"# mine\n{HOME.to_toml()}"
    (tmp_path / "home.toml").write_text(text)
    assert changes_of.load(tmp_path / "home.toml", sets=["path.rtt=30 ms"]).text == text
    assert Scenario.from_toml(planner.load(HOME).text) == HOME


def test_scenarios_are_frozen_and_hashable():
    assert HOME.but() == HOME
    assert hash(HOME) == hash(HOME.but())
    assert HOME.set("path.rtt", "41 ms") != HOME
    with pytest.raises(AttributeError, match="immutable"):
        HOME.duration = "1 s"
    with pytest.raises(TypeError):
        HOME.apps["other"] = HOME.apps["up"]
    with pytest.raises(TypeError):
        HOME.apps["ping"].params["interval"] = "1 s"


def test_round_trips():
    assert Scenario.from_toml(HOME.to_toml()) == HOME
    assert Scenario.from_dict(HOME.to_dict()) == HOME
    assert Scenario.from_toml(Scenario.from_toml(HOME.to_toml()).to_toml()) == HOME


def test_parameters_of_every_type_keep_it_in_tables():
    params = {"ecn": True, "limit": 9, "target": "3 ms", "ce_threshold": "off"}
    home = HOME.but(path={"qdisc": {"kind": "codel", **params}}, hosts={"wan": {"ecn": False}})
    written = home.to_dict()
    assert repr(written["path"]["down"]["qdisc"]) == repr({"kind": "codel", **params})
    assert repr(written["hosts"]["wan"]) == repr({"ecn": False})
    assert Scenario.from_toml(home.to_toml()) == home


def test_changes_leave_the_rest_alone():
    changed = HOME.but(duration="9 s", path={"rtt": "1 ms"}).set("apps.up.start", "7 s")
    found = changed.duration, changed.path.rtt, changed.apps["up"].start
    assert [*map(str, found)] == ["9 s", "1 ms", "7 s"]
    assert changed.path.down == HOME.path.down
    assert changed.vary == {}, "what is set is no longer varied"
    assert (str(HOME.duration), str(HOME.path.rtt)) == ("30 s", "40 ms")


def test_another_kind_drops_the_parameters_of_the_first():
    assert HOME.set("path.down.qdisc", "pfifo").path.down.qdisc.params == {}
    assert HOME.set("path.down.qdisc", "fq_codel").path.down.qdisc.params == {"limit": 1000}
    assert HOME.set("path.qdisc.limit", 9).path.up.qdisc.params == {"limit": 9}


def test_resolved_trials_are_in_base_units():
    spec = only(HOME)
    assert spec.links[0] == LinkSpec(
        name="up",
        rate_bps=1_000_000,
        qdisc=KindSpec(kind="fq_codel", params={"limit": 1_000}),
        shaper="line",
        overhead=OverheadSpec(bytes=0, minimum=0, atm=False, counted=0),
    )
    assert [link.name for link in spec.links] == ["up", "down"]
    up, ping = spec.apps
    assert (up.start_ns, up.stop_ns) == (5_000_000_000, None)
    assert up.app == KindSpec(kind="bulk", params={"direction": "up"})
    assert up.home.settings == {"delayed_ack": 10_000_000}
    assert up.wan.cc == KindSpec(kind="newreno", params={})
    assert ping.app.params == {"interval": 100_000_000}
    assert ping.up == RouteSpec(
        links=(0,), delay_ns=20_000_000, loss=0.0, jitter_ns=0, reorder=False
    )
    assert ping.wan.profile == "linux"
    assert spec.measure.window_ns == 1_000_000_000


def test_a_pipe_of_dummynet_may_have_the_delay():
    pipe = HOME.but(path={"rtt": "41 ns", "shaper": "dummynet", "pipe_delays": True})
    assert [link.pipe_delay_ns for link in only(pipe).links] == [20, 21]
    for other in (pipe.set("path.pipe_delays", "false"), pipe.set("path.shaper", "htb")):
        assert all(link.pipe_delay_ns is UNSET for link in only(other).links)


def test_copies_of_an_application():
    counted = only(HOME.set("apps.up", {"kind": "bulk", "count": 3, "stagger": "2 s"}))
    assert [app.name for app in counted.apps] == ["up-1", "up-2", "up-3", "ping"]
    assert [app.start_ns // 10**9 for app in counted.apps[:3]] == [5, 7, 9]
    listed = HOME.set("apps.up", {"start": ["1 s", "4 s"], "rtt": ["10 ms", "30 ms"]})
    starts = [(app.start_ns, app.up.delay_ns) for app in only(listed).apps[:2]]
    assert starts == [(10**9, 5_000_000), (4 * 10**9, 15_000_000)]


def test_a_name_that_the_kind_declares_is_its_parameter():
    app = App(kind="ping", count=5)
    assert (app.params, app.count) == ({"count": 5}, 1)


def test_hosts_lie_over_each_other():
    scenario = HOME.but(
        hosts={"home": {"profile": "freebsd", "cc": "newreno", "ecn": True}},
        defaults={"home": {"mtu": "1400 B"}},
        apps={"ping": {"home": {"profile": "windows"}}},
    )
    ping = only(scenario).apps[1]
    assert ping.home.profile == "windows"
    assert ping.home.cc is None, "chosen for the other profile"
    assert (ping.home.ecn, ping.home.mtu) == (True, 1_400)
    assert ping.wan.ecn is False


@pytest.mark.parametrize(
    ("overhead", "want"),
    [
        ("ip", (0, 0, False, 0)),
        ("ethernet", (14, 0, False, 14)),
        ("docsis", (18, 64, False, 14)),
        ("pppoe", (30, 0, False, 14)),
        ("atm", (40, 0, True, 14)),
        ({"bytes": 22, "atm": True}, (22, 0, True, 0)),
    ],
)
def test_overheads(overhead, want):
    charged = only(HOME.but(path={"overhead": overhead})).links[1].overhead
    assert (charged.bytes, charged.minimum, charged.atm, charged.counted) == want


@pytest.mark.parametrize(
    ("rate", "down", "up"),
    [
        ("12/1 Mbit/s", 12_000_000, 1_000_000),
        ("1.5/0.5 Mbit/s", 1_500_000, 500_000),
        ("12 Mbit/s / 800 kbit/s", 12_000_000, 800_000),
        ("12mbit/800kbit", 12_000_000, 800_000),
        ("100 Mbit/s", 100_000_000, 100_000_000),
    ],
)
def test_rates_of_both_directions(rate, down, up):
    links = only(HOME.set("path.rate", rate)).links
    assert (links[1].rate_bps, links[0].rate_bps) == (down, up)


def test_inheritance(tmp_path):
    (tmp_path / "base.toml").write_text(HOME.to_toml())
    child = tmp_path / "child.toml"
    child.write_text(
        'extends = "base.toml"\ntitle = "Child"\n'
        '[path]\nqdisc = "pfifo"\n'
        '[apps]\nping = "off"\n[apps.up]\nstart = "1 s"\n[apps.more]\nkind = "bulk"\n'
    )
    loaded = planner.load(child)
    assert (loaded.title, len(loaded.trials), loaded.conditions) == ("Child", 2, ("rtt",))
    spec = loaded.trials[0].spec
    assert [app.name for app in spec.apps] == ["up", "more"]
    assert spec.apps[0].start_ns == 10**9
    assert spec.links[0].qdisc == KindSpec(kind="pfifo", params={})


def test_arrays_of_applications_are_named_by_kind():
    text = HOME.to_toml().split("[apps.up]")[0]
    text += (
        '[[apps]]\nkind = "bulk"\n[[apps]]\nkind = "bulk"\n[[apps]]\nname = "p"\nkind = "ping"\n'
    )
    assert list(Scenario.from_toml(text).apps) == ["bulk", "bulk-2", "p"]


def test_a_lan_is_a_link_of_its_own_before_the_queue_and_after_it() -> None:
    text = '[path]\nrate = "12/1 Mbit/s"\nqdisc = "pfifo"\nlan = "100 Mbit/s"\n'
    text += '[apps.a]\nkind = "bulk"\n'
    scenario = Scenario.from_toml('title = "t"\nduration = "1 s"\n' + text)
    spec = resolve(scenario).spec
    links = [link.name for link in spec.links]
    app = spec.apps[0]
    assert [links[at] for at in app.up.links] == ["lan-up", "up"]
    assert [links[at] for at in app.down.links] == ["down", "lan-down"]
    assert [link.own for link in spec.links] == [UNSET, UNSET, True, False]


def test_needs_are_of_each_copy_and_a_slip_in_a_name_is_said() -> None:
    text = 'title = "t"\nduration = "1 s"\npath = { rate = "12/1 Mbit/s" }\n'
    text += '[apps]\nfile = { kind = "bulk", count = 2 }\n'
    text += '[report]\nrates = { file = "2 Mbit/s" }\ntolerances = { fiel = "1 s" }\n'
    loaded = planner.load(Scenario.from_toml(text))
    assert loaded.rates == {"file-1": 2.0, "file-2": 2.0}
    assert loaded.warnings == ("report.tolerances.fiel: there is no such application",)


def test_a_need_of_an_application_is_not_that_of_others_with_longer_names() -> None:
    text = 'title = "t"\nduration = "1 s"\npath = { rate = "12/1 Mbit/s" }\n'
    text += "[apps]\n"
    for name in ("film", "film-hd", "film-2", "game-1"):
        text += f'{name} = {{ kind = "cbr" }}\n'
    text += 'call = { kind = "bulk", count = 2 }\n'
    text += '[report.tolerances]\n"call-2" = "2 s"\nfilm = "3 s"\ncall = "1 s"\ngame = "4 s"\n'
    loaded = planner.load(Scenario.from_toml(text))
    assert loaded.stated_tolerances == {
        "film": 3_000.0,
        "game-1": 4_000.0,
        "call-1": 1_000.0,
        "call-2": 2_000.0,
    }
    assert loaded.warnings == ()
