"""TEACUP configs in the test data: experiments, queues, hosts and traffic."""

from pathlib import Path

import pytest
from aqmlab.engines.trial_spec import KindSpec, OverheadSpec
from aqmlab.planning import teacup
from support import changes as changes_of

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.usefixtures("teacup_catalogue")


def load(name, **changes):
    """The plan for a config among the test data."""
    return teacup.load(DATA / name, **changes_of.read(**changes))


# --- A config of version 1.1 with two routers in series --------------------------------------


@pytest.fixture
def two_routers():
    """The plan for the config of version 1.1 with two routers."""
    return load("v1_1_two_routers.py")


def app_named(plan, name, trial=-1):
    """The application called `name` of a trial."""
    return next(app for app in plan.trials[trial].spec.apps if app.name == name)


def test_experiments_and_their_names(two_routers):
    ids = [trial.id for trial in two_routers.trials]
    assert ids[0] == "exp_20000101-000000_tcp_default_ecn_0_del_10_run_0"
    assert ids[-1] == "exp_20000101-000000_tcp_host1_ecn_1_del_20_run_1"
    assert len(set(ids)) == 2 * 2 * 2 * 2, "cdg is left out"
    assert two_routers.conditions == ("tcp", "ecn", "del")
    assert two_routers.trials[-1].conditions == {"tcp": "host1", "ecn": "1", "del": 20}
    assert [trial.seed for trial in two_routers.trials[:2]] == [1, 2]


def test_warnings_name_what_has_no_meaning_and_every_rule(two_routers):
    for warning in (
        "no meaning here: TPCONF_config_topology",
        "no meaning here: TPCONF_linux_tcp_logger",
        ":47: no meaning here: start_nginx_server",
        "10.0.1.0/24, 10.0.2.0/24 is taken for the home",
        ":51: TEACUP reads `V_duration-5` as one name",
        ":67: start_iperf: both ends are in the home: left out",
        ":68: unknown task `start_owamp`: left out",
        ":69: unknown task `start_iprf`: left out; did you mean `start_iperf`?",
        "8 experiments are left out: there is no congestion control `cdg` here",
    ):
        assert sum(warning in said for said in two_routers.warnings) == 1, warning


def test_queues_become_links(two_routers):
    links = two_routers.trials[0].spec.links
    assert [link.name for link in links] == [
        "up",
        "down",
        "up-gateway-3",
        "down-gateway-4",
        "up-isp-1",
        "down-isp-1",
    ]
    # In 100 ms, 2 Mbit/s carry 41 packets of 600 bytes; the limit is twice that number.
    assert links[0].qdisc == KindSpec(kind="pie", params={"limit": 82}), "kernel 5.10"
    assert links[1].qdisc.params == {
        "limit": 600,
        "target": 20_000_000,
        "ecn": False,
        "bytemode": True,
    }
    assert links[0].overhead == OverheadSpec(bytes=14, counted=14)
    assert (links[0].rate_bps, links[1].rate_bps) == (2_000_000, 20_000_000)


def test_routes_go_through_both_routers_in_order(two_routers):
    dash, ping = app_named(two_routers, "dash-2"), app_named(two_routers, "ping-3")
    assert (dash.up.links, dash.down.links) == ((0, 4), (5, 1))
    assert (ping.up.links, ping.down.links) == ((2, 4), (5, 3))
    assert dash.up.delay_ns == dash.down.delay_ns == 20_000_000
    assert dash.up.loss == 0.01, "an extra variable of the delays"
    assert two_routers.trials[-1].rtt_base_ms["dash-2"] == 40.0


@pytest.mark.parametrize(
    ("name", "kind", "params", "start_s"),
    [
        ("dash-2", "dash", {"direction": "down", "segment": "4s"}, 0.5),
        ("ping-3", "ping", {"interval": 100_000_000}, 1),
        ("nttcp-4", "cbr", {"direction": "up", "payload": 700, "interval": 20_000_000}, 1),
        ("nttcp-5", "cbr", {"direction": "down", "payload": 700, "interval": 20_000_000}, 1),
        (
            "incast-6",
            "bursts",
            {"direction": "down", "period": 2 * 10**9, "count": 5, "size": 65_536},
            2,
        ),
        (
            "incast-6-2",
            "bursts",
            {"direction": "down", "period": 2 * 10**9, "count": 5, "size": 65_536},
            2,
        ),
        (
            "stream-7",
            "audio_stream",
            {"direction": "down", "rate": 500_000, "chunk": 5 * 10**9},
            2,
        ),
        ("web-8", "web", {}, 2),
        (
            "game-9",
            "game",
            {
                "title": "hl2dm",
                "players": 8,
                "c2s_interval": 10_000_000,
                "c2s_payload": 60,
                "client_delay": 3 * 10**9,
            },
            3,
        ),
        ("iperf-20", "cbr", {"direction": "down", "payload": 1_470, "rate": 2_000_000}, 3),
        ("iperf-21", "bulk", {"direction": "up", "duration": 20 * 10**9}, 3),
    ],
)
def test_tasks_become_applications(two_routers, name, kind, params, start_s):
    app = app_named(two_routers, name)
    assert app.app == KindSpec(kind=kind, params=params)
    assert app.start_ns == start_s * 10**9


def test_hosts_follow_their_operating_system(two_routers):
    dash, ping = app_named(two_routers, "dash-2"), app_named(two_routers, "ping-3")
    assert dash.home.profile == "linux-3.17"
    assert dash.home.settings == {
        "receive_tuning": False,
        "receive_buffer": 87_380,
        "send_buffer": 65_535,
    }
    assert dash.home.cc.kind == "reno", "host1 of the desktop is newreno"
    assert dash.wan.cc.kind == "cubic_freebsd"
    assert dash.wan.settings == {"receive_tuning": False, "receive_buffer": 131_072}
    assert ping.home.profile == "freebsd", "Darwin"
    upload = app_named(two_routers, "iperf-21")
    assert upload.wan.profile == "windows"
    assert upload.wan.cc.kind == "newreno", "said by the task"
    assert upload.home.receive_buffer == upload.wan.send_buffer == 300_000
    assert upload.home.mtu == 1_440
    assert [trial.spec.apps[0].home.ecn for trial in two_routers.trials[1:3]] == [
        False,
        False,
    ]
    assert two_routers.trials[-1].spec.apps[0].home.ecn is True
    default = app_named(two_routers, "iperf-21", 0).home
    assert default.cc.kind == "reno"
    assert app_named(two_routers, "dash-2", 0).home.cc is None, "the host's own"


def test_version_1_1_waits_for_the_last_generator(two_routers):
    assert two_routers.trials[0].spec.duration_ns == 31 * 10**9


# --- A FreeBSD router ------------------------------------------------------------------------


def test_pipes_of_dummynet():
    plan = load("freebsd_router.py")
    assert [trial.id for trial in plan.trials] == ["exp_pipes"]
    spec = plan.trials[0].spec
    assert spec.duration_ns == 15 * 10**9, "Python 2 divides whole numbers"
    kinds = [(link.qdisc.kind, link.qdisc.params) for link in spec.links]
    assert kinds == [
        ("bfifo_freebsd", {"limit": 102_400}),
        ("fq_pie_freebsd", {"limit": 600, "target": 15_000_000, "quantum": 300, "ecn": True}),
        ("codel_freebsd", {"limit": 50}),
    ], "a pipe without a bandwidth is only a delay"
    delays_ms = [link.pipe_delay_ns // 10**6 for link in spec.links]
    assert delays_ms == [20, 20, 5], "a pipe is not idle while it delays a packet"
    assert all(link.overhead.counted == 0 for link in spec.links)
    first, second, _ = spec.apps
    assert (first.up.links, first.down.links) == ((0,), (1,))
    # Both directions pass through the bidirectional pipe, and every matching pipe adds its delay.
    assert (second.up.links, second.down.links) == ((2,), (2,))
    assert (second.up.delay_ns, second.down.delay_ns) == (105_000_000, 5_000_000)
    assert second.up.loss == 0.5
    assert any(
        said.startswith("freebsd_router.py:24: passed over: `def`") for said in plan.warnings
    )
