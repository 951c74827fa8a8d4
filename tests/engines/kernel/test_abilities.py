"""The kernel engine refuses unsupported settings before it starts, and names their place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.base.failures import LabError
from aqmlab.engines import registry
from aqmlab.engines.kernel import abilities, image, kinds, machine
from aqmlab.engines.kernel import agent as agents
from aqmlab.planning import planner
from aqmlab.planning.plan import Plan
from aqmlab.scenario import catalogue
from support import changes as changes_of

SOURCES = Path(__file__).resolve().parents[3] / "crates" / "agent" / "src"

HOME = """title = "A home"
duration = "4 s"
path = { rate = "12/1 Mbit/s", rtt = "40 ms" }

[hosts.server]
profile = "linux"
sack = true

[apps.upload]
kind = "bulk"
direction = "up"
wan = "server"
"""


@pytest.fixture
def home(tmp_path: Path):
    """A function that loads the home for the kernel engine, with a part of its text replaced."""

    def load(old: str = "", new: str = "", engine: str = "kernel", **more) -> Plan:
        assert old in HOME
        path = tmp_path / "home.toml"
        path.write_text(HOME.replace(old, new) if old else HOME)
        return changes_of.load(path, engine=engine, **more)

    return load


def test_the_disciplines_are_those_that_the_agent_sets_up() -> None:
    text = (SOURCES / "qdisc" / "tc_params" / "kinds.rs").read_text()
    table = text[text.index("const KINDS") : text.index("\n];", text.index("const KINDS"))]
    known = re.findall(r'ours: "(\w+)",\s*kernel: "(\w+)"', table)
    modules = {f"sch_{kernel}" for _, kernel in known if not kernel.startswith(("pfifo", "bfifo"))}
    assert [ours for ours, _ in known] == list(kinds.DISCIPLINES)
    assert modules == set(filter(None, kinds.DISCIPLINES.values()))


def test_the_controllers_are_those_that_the_agent_sets_up() -> None:
    text = (SOURCES / "tcp_settings" / "controllers.rs").read_text()
    found = re.search(r"const OURS: &\[&str\] = &\[(.*?)\];", text)
    assert found and re.findall(r'"(\w+)"', found[1]) == list(kinds.CONTROLLERS)


@pytest.mark.parametrize("family", ["disciplines", "tcp", "profiles"])
def test_every_ability_is_in_the_catalogue(family: str) -> None:
    assert set(kinds.kinds(family)) <= set(catalogue.load()[family])


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Replaces the agent by a script; returns a function that sets the answer to every trial."""
    program = tmp_path / "agent"

    def put(answer: str, status: int = 1) -> None:
        program.write_text(
            f"#!/bin/sh\n[ $1 = check ] || exit 9\ncat > /dev/null\necho '{answer}'\nexit {status}"
        )
        program.chmod(0o755)

    put("", 0)
    monkeypatch.setattr(agents, "find", lambda say: program)
    monkeypatch.setattr(agents, "is_there", lambda: True)
    monkeypatch.setattr(machine, "find_qemu", lambda: "qemu")
    monkeypatch.setattr(image, "find_kernel", lambda: (tmp_path / "vmlinuz", "6.1.0"))
    return put


@pytest.mark.parametrize(
    ("answer", "where", "problem"),
    [
        ("links[0].qdisc: `x`: no", "home.toml:3: path.qdisc", "`x`: no"),
        ("links[1].qdisc.limit: 5: too few", "home.toml:3: path.qdisc.limit", "5: too few"),
        ("apps[0].wan.profile: `x`: no", "home.toml:6: hosts.server.profile", "`x`: no"),
        ("apps[0].wan.settings.sack: off: no", "home.toml:7: hosts.server.sack", "off: no"),
        ("apps[0].home.cc: `x`: no", "home.toml:9: apps.upload", "`x`: no"),
        ("apps[0].up.jitter_ns: no", "home.toml:3: path.up.jitter", "no"),
        ("links: 2 bottlenecks up", "home.toml:3: path", "2 bottlenecks up"),
    ],
)
def test_what_the_agent_refuses_names_the_line(home, agent, answer, where, problem) -> None:
    agent(answer)
    with pytest.raises(ScenarioError) as caught:
        home('"40 ms" }', '"40 ms", qdisc = "pfifo limit=5" }')
    assert (caught.value.where, caught.value.problem) == (where, problem)


def test_a_radio_that_the_agent_refuses_is_named_by_its_table(home, agent) -> None:
    agent("links[2].wifi: a radio of 802.11n")
    with pytest.raises(ScenarioError) as caught:
        home('"40 ms" }', '"40 ms", wifi = { mcs = 7 } }')
    assert (caught.value.where, caught.value.hint) == ("home.toml:3: path.wifi", None)


def test_a_modem_that_the_agent_refuses_is_named_by_its_table(home, agent) -> None:
    agent("links: 2 bottlenecks up")
    with pytest.raises(ScenarioError) as caught:
        home('"40 ms" }', '"40 ms", modem = { rate = "9/1 Mbit/s" } }')
    assert (caught.value.where, caught.value.hint) == ("home.toml:3: path.modem", None)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"40 ms" }', '"40 ms", qdisc = "red_floyd" }', "home.toml:3: path.qdisc"),
        ('"40 ms" }', '"40 ms", wifi = { mcs = 7 } }', "home.toml:3: path.wifi"),
        ('"12/1 Mbit/s"', '[["0 s", "9 Mbit/s"], ["1 s", "5 Mbit/s"]]', "home.toml:3: path.rate"),
        ('profile = "linux"', 'profile = "freebsd"', "home.toml:6: hosts.server.profile"),
        ('wan = "server"', 'tcp = { cc = "newreno" }', "home.toml:12: apps.upload.tcp.cc"),
    ],
)
def test_an_unsupported_kind_is_refused_before_the_agent_is_built(
    home, agent, monkeypatch, old, new, where
) -> None:
    monkeypatch.setattr(agents, "is_there", lambda: False)
    monkeypatch.setattr(agents, "find", lambda say: pytest.fail("the agent is built"))
    with pytest.raises(ScenarioError) as caught:
        home(old, new)
    assert caught.value.where == where


def test_an_agent_that_does_not_answer_is_no_refusal(home, agent) -> None:
    agent("", 3)
    with pytest.raises(LabError, match="ended with status 3"):
        home()


def test_what_was_set_is_named_by_its_option(home, agent) -> None:
    agent("links[0].qdisc: no")
    with pytest.raises(ScenarioError, match=r"--set: path\.qdisc: no"):
        home(sets=["path.qdisc=red_floyd"])


def test_a_config_of_teacup_is_refused_by_its_trial(agent) -> None:
    agent("apps[0].home.profile: no")
    config = Path(__file__).resolve().parents[3] / "examples" / "teacup" / "household.py"
    with pytest.raises(ScenarioError) as caught:
        planner.load(config, engine="kernel")
    assert "household.py: trial " in caught.value.where


def test_several_engines_are_one_more_condition(home, agent) -> None:
    loaded = home(engine="sim,kernel", vary=["path.qdisc=pfifo,codel"], seeds=2)
    assert loaded.conditions == ("qdisc", "engine")
    assert [(one.conditions["qdisc"], one.engine, one.seed) for one in loaded.trials] == [
        (qdisc, engine, seed)
        for qdisc in ("pfifo", "codel")
        for engine in ("sim", "kernel")
        for seed in (1, 2)
    ]
    assert len({one.id for one in loaded.trials}) == 8


def test_modules_are_those_of_what_is_used(home, agent) -> None:
    loaded = home('wan = "server"', 'tcp = { cc = "bbr" }', vary=["path.qdisc=pfifo,fq_pie"])
    wanted = kinds.modules([one.spec for one in loaded.trials])
    assert wanted == {"sch_fq_pie": "fq_pie", "tcp_bbr": "bbr"}


def test_the_engines_of_a_kind() -> None:
    assert list(registry.that_have("disciplines", "fq_codel")) == ["sim", "kernel"]
    assert list(registry.that_have("disciplines", "pie_freebsd")) == ["sim"]
    assert list(registry.that_have("apps", "dash")) == ["sim", "kernel"]


def test_a_program_of_the_gateway_is_refused_before_the_agent_is_built() -> None:
    spec = planner.load("autorate").trials[-1].spec
    names = [app.name for app in spec.apps]
    refused = [one.at for one in abilities.missing(spec, "sim") if one.at[0] == "apps"]
    assert refused == [("apps", names.index("autorate"), "app")]
