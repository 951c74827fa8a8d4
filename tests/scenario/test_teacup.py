"""TEACUP configs: argument strings, experiments, queues, hosts and traffic.

The kinds that tasks are mapped to are the real ones if the simulator is built; a stand-in
with their names and the parameters used here otherwise.
"""

from pathlib import Path

import pytest
from aqmlab import catalogue, teacup
from aqmlab.errors import ScenarioError
from aqmlab.teacup.vocabulary import Entry, arguments
from hypothesis import given, settings
from hypothesis import strategies as st

from . import fake_teacup

DATA = Path(__file__).parent / "data"
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def teacup_catalogue(monkeypatch):
    """A catalogue with the kinds that TEACUP's words stand for."""
    kinds = catalogue.Catalogue(fake_teacup.RAW)
    monkeypatch.setattr(catalogue, "load", lambda: kinds)


def load(name, **changes):
    """The plan for a config among the test data."""
    sets = [tuple(text.split("=", 1)) for text in changes.pop("sets", [])]
    vary = [tuple(text.split("=", 1)) for text in changes.pop("vary", [])]
    return teacup.load(DATA / name, sets, vary, **changes)


def parse(text, variables=None):
    """The arguments of a string, and what was said about them."""
    said = []
    return arguments(Entry((), "c.py:1"), text, variables or {}, said.append), said


# --- Argument strings ------------------------------------------------------------------------


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
        "c.py:1: TEACUP takes `V_a-1` for one name and would stop here; it is read as a difference"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mpd='V_mpd'",
            "c.py:1: mpd: `V_mpd` stands inside quotes, where TEACUP does not replace it\n\n"
            "hint: write mpd=V_mpd",
        ),
        (
            "delay=V_dely",
            "c.py:1: delay: unknown variable `V_dely`\n\nhint: did you mean `V_delay`?",
        ),
        ("delay=(1", "c.py:1: these are no arguments: '(' was never closed"),
        ("a, b", "c.py:1: only the task's name may stand without a key"),
        ("**V_delay", "c.py:1: `**` is not read"),
        (
            "x=__import__('os')",
            "c.py:1: x: unknown variable `__import__`\n\nhint: there are V_delay, V_mpd",
        ),
        ("x=[1]", "c.py:1: x: `[1]` is not text or a number"),
        ("x=1) or (2", "c.py:1: these are no arguments: not a list of arguments"),
    ],
)
def test_argument_strings_that_are_refused(text, message):
    with pytest.raises(ScenarioError) as caught:
        parse(text, {"V_delay": 1, "V_mpd": "x"})
    assert str(caught.value) == message


@pytest.mark.filterwarnings("error")
def test_python_warns_of_nothing_in_argument_strings():
    # Python 3.12 and later would have a space between a number and a word.
    assert parse("x=1if 1else 2", {})[0]["x"] == 1


@pytest.mark.filterwarnings("error")
@settings(deadline=None)
@given(st.text(alphabet="start_iperf, client='a'V_x-+*/=()[]\n0123456789\"{}", max_size=60))
def test_any_argument_string_is_read_or_refused(text):
    try:
        parse(text, {"V_x": 1})
    except ScenarioError as error:
        assert error.where.startswith("c.py:1")


# --- A config of version 1.1 with two routers in series --------------------------------------


@pytest.fixture
def two_routers():
    """The plan for it."""
    return load("v1_1_two_routers.py")


def app_named(plan, name, trial=-1):
    """One application of a trial."""
    return next(app for app in plan.trials[trial].spec["apps"] if app["name"] == name)


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
        ":51: TEACUP takes `V_duration-5` for one name",
        ":67: start_iperf: both ends are in the home: left out",
        ":68: unknown task `start_owamp`: left out",
        ":69: unknown task `start_iprf`: left out; did you mean `start_iperf`?",
        "8 experiments are left out: there is no congestion control `cdg` here",
    ):
        assert sum(warning in said for said in two_routers.warnings) == 1, warning


def test_queues_become_links(two_routers):
    links = two_routers.trials[0].spec["links"]
    assert [link["name"] for link in links] == [
        "up",
        "down",
        "up-gateway-3",
        "down-gateway-4",
        "up-isp-1",
        "down-isp-1",
    ]
    # 2 Mbit/s for 100 ms are 41 packets of 600 bytes; twice that.
    assert links[0]["qdisc"] == {"kind": "pie", "params": {"limit": 82}}, "kernel 5.10"
    assert links[1]["qdisc"]["params"] == {
        "limit": 600,
        "target": 20_000_000,
        "ecn": False,
        "bytemode": True,
    }
    assert links[0]["overhead"] == {"bytes": 14, "minimum": 0, "atm": False, "counted": 14}
    assert (links[0]["rate_bps"], links[1]["rate_bps"]) == (2_000_000, 20_000_000)


def test_routes_go_through_both_routers_in_order(two_routers):
    dash, ping = app_named(two_routers, "dash-2"), app_named(two_routers, "ping-3")
    assert (dash["up"]["links"], dash["down"]["links"]) == ([0, 4], [5, 1])
    assert (ping["up"]["links"], ping["down"]["links"]) == ([2, 4], [5, 3])
    assert dash["up"]["delay_ns"] == dash["down"]["delay_ns"] == 20_000_000
    assert dash["up"]["loss"] == 0.01, "an extra variable of the delays"
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
    assert app["app"] == {"kind": kind, "params": params}
    assert app["start_ns"] == start_s * 10**9


def test_hosts_follow_their_operating_system(two_routers):
    dash, ping = app_named(two_routers, "dash-2"), app_named(two_routers, "ping-3")
    assert dash["home"]["profile"] == "linux-3.17"
    assert dash["home"]["settings"] == {
        "receive_tuning": False,
        "receive_buffer": 87_380,
        "send_buffer": 65_535,
    }
    assert dash["home"]["cc"]["kind"] == "reno", "host1 of the desktop is newreno"
    assert dash["wan"]["cc"]["kind"] == "cubic_freebsd"
    assert dash["wan"]["settings"] == {"receive_tuning": False, "receive_buffer": 131_072}
    assert ping["home"]["profile"] == "freebsd", "Darwin"
    upload = app_named(two_routers, "iperf-21")
    assert upload["wan"]["profile"] == "windows"
    assert upload["wan"]["cc"]["kind"] == "newreno", "said by the task"
    assert upload["home"]["receive_buffer"] == upload["wan"]["send_buffer"] == 300_000
    assert upload["home"]["mtu"] == 1_440
    assert [trial.spec["apps"][0]["home"]["ecn"] for trial in two_routers.trials[1:3]] == [
        False,
        False,
    ]
    assert two_routers.trials[-1].spec["apps"][0]["home"]["ecn"] is True
    default = app_named(two_routers, "iperf-21", 0)["home"]
    assert default["cc"]["kind"] == "reno"
    assert app_named(two_routers, "dash-2", 0)["home"]["cc"] is None, "the host's own"


def test_version_1_1_waits_for_the_last_generator(two_routers):
    assert two_routers.trials[0].spec["duration_ns"] == 31 * 10**9


# --- A FreeBSD router ------------------------------------------------------------------------


def test_pipes_of_dummynet():
    plan = load("freebsd_router.py")
    assert [trial.id for trial in plan.trials] == ["exp_pipes"]
    spec = plan.trials[0].spec
    assert spec["duration_ns"] == 15 * 10**9, "Python 2 divides whole numbers"
    kinds = [(link["qdisc"]["kind"], link["qdisc"]["params"]) for link in spec["links"]]
    assert kinds == [
        ("bfifo_freebsd", {"limit": 102_400}),
        ("fq_pie_freebsd", {"limit": 600, "target": 15_000_000, "quantum": 300, "ecn": True}),
        ("codel_freebsd", {"limit": 50}),
    ], "a pipe without a bandwidth is only a delay"
    delays_ms = [link["pipe_delay_ns"] // 10**6 for link in spec["links"]]
    assert delays_ms == [20, 20, 5], "a pipe is not idle while it delays a packet"
    assert all(link["overhead"]["counted"] == 0 for link in spec["links"])
    first, second, _ = spec["apps"]
    assert (first["up"]["links"], first["down"]["links"]) == ([0], [1])
    # Both ways go through the one bidirectional pipe, and every matching pipe delays.
    assert (second["up"]["links"], second["down"]["links"]) == ([2], [2])
    assert (second["up"]["delay_ns"], second["down"]["delay_ns"]) == (105_000_000, 5_000_000)
    assert second["up"]["loss"] == 0.5
    assert any(
        said.startswith("freebsd_router.py:24: passed over: `def`") for said in plan.warnings
    )


# --- Small configs ---------------------------------------------------------------------------

SMALL = """\
TPCONF_router = ['r']
TPCONF_hosts = ['a', 'b']
TPCONF_host_internal_ip = {'r': ['10.1.0.1', '10.2.0.1'], 'a': ['10.1.0.2'], 'b': ['10.2.0.2']}
TPCONF_host_os = {'r': 'Linux', 'a': 'Linux', 'b': 'Linux'}
TPCONF_router_queues = [
    ('1', "source='10.1.0.0/24', dest='10.2.0.0/24', rate=V_up_rate, QUEUE"),
    ('2', "source='10.2.0.0/24', dest='10.1.0.0/24', rate='8mbit', delay=V_delay"),
]
TPCONF_traffic_gens = [
    ('0.0', '1', "start_iperf, client='a', server='b', port=5000, duration=5"),
    MORE
]
TPCONF_parameter_list = {
    'ups': (['V_up_rate', 'V_delay'], ['up', 'del'],
            [('1mbit', 10), ('2mbit', 10), ('2mbit', 20)], {}),
    'runs': (['V_runs'], ['run'], range(2), {}),
}
TPCONF_variable_defaults = {'V_up_rate': '1mbit', 'V_delay': 10, 'V_duration': 5, 'V_x': 'a_b'}
TPCONF_vary_parameters = ['ups', 'runs']
"""


def small(queue="", more="", text=SMALL, **changes):
    """The plan for SMALL with something in its places."""
    return teacup.read(text.replace("QUEUE", queue).replace("MORE", more), "c.py", **changes)


@pytest.mark.parametrize(
    ("queue", "kind", "params"),
    [
        ("", "pfifo", {"limit": 1_000}),
        ("queue_disc='FIFO', queue_size=50", "pfifo", {"limit": 50}),
        ("queue_disc='fq_CoDel', queue_size=600", "fq_codel_linux_3_5", {"limit": 600}),
        ("queue_disc='bfifo', queue_size=60000", "bfifo", {"limit": 60_000}),
        ("queue_disc='pie', queue_size=500", "pie_linux_3_14", {"limit": 500}),
        ("queue_disc='fifo', queue_size='bdp', delay=30", "pfifo", {"limit": 12}),
        ("queue_disc='fifo', queue_size='bdp', rtt=100", "pfifo", {"limit": 20}),
        ("queue_disc='bfifo', queue_size='bdp', rtt=10", "bfifo", {"limit": 2_048}),
        (
            "queue_disc='codel', queue_disc_params='target 5000 interval 0.1s ecn'",
            "codel",
            {"limit": 1_000, "target": 5_000_000, "interval": 100_000_000, "ecn": True},
        ),
        ("queue_disc='pie_freebsd', queue_size=9", "pie_freebsd", {"limit": 9}),
    ],
)
def test_disciplines_and_sizes_of_a_linux_router(queue, kind, params):
    plan = small(queue, seeds=1, sets=[("V_up_rate", "1mbit")])
    assert plan.trials[0].spec["links"][0]["qdisc"] == {"kind": kind, "params": params}


def test_queues_may_share_a_bottleneck():
    text = SMALL.replace(
        "]\nTPCONF_traffic",
        "    ('3', \"source='10.1.0.2', dest='10.2.0.0/24', attach_to_queue='1', delay=70\"),\n"
        "]\nTPCONF_traffic",
    )
    spec = small(text=text).trials[0].spec
    assert len(spec["links"]) == 2
    (app,) = spec["apps"]
    assert (app["up"]["links"], app["up"]["delay_ns"]) == ([0], 70_000_000), "the last mark stands"


@pytest.mark.parametrize(
    ("changes", "ids"),
    [
        (
            {},
            ["up_1mbit_del_10_run_0", "up_1mbit_del_10_run_1", "up_2mbit_del_10_run_0"],
        ),
        (
            {"seeds": "3"},
            ["up_1mbit_del_10_run_0", "up_1mbit_del_10_run_1", "up_1mbit_del_10_run_2"],
        ),
        ({"seeds": "7,9"}, ["up_1mbit_del_10_run_6", "up_1mbit_del_10_run_8"]),
        (
            {"sets": [("V_up_rate", "5mbit")]},
            ["up_5mbit_del_10_run_0", "up_5mbit_del_10_run_1", "up_5mbit_del_20_run_0"],
        ),
        ({"sets": [("TPCONF_vary_parameters", "['runs']")]}, ["run_0", "run_1"]),
        ({"sets": [("TPCONF_vary_parameters", "[]")]}, [""]),
        (
            {"sets": [("TPCONF_vary_parameters", "[]")], "vary": [("V_x", "c_d,e")]},
            ["x_c-d", "x_e"],
        ),
    ],
)
def test_the_command_line_changes_experiments(changes, ids):
    plan = small(**changes)
    prefix = "exp_20000101-000000"
    assert [trial.id for trial in plan.trials[: len(ids)]] == [
        f"{prefix}_{name}" if name else prefix for name in ids
    ]


def test_runs_are_seeds():
    plan = small(seeds="4-5")
    assert [trial.seed for trial in plan.trials[:2]] == [4, 5]
    assert [trial.spec["seed"] for trial in plan.trials[:2]] == [4, 5]


def test_duration_measure_and_overhead_can_be_set():
    plan = small(
        duration="2 s",
        sets=[("measure.window", "500 ms"), ("path.overhead", "ip"), ("TPCONF_host_os", "FreeBSD")],
    )
    spec = plan.trials[0].spec
    assert spec["duration_ns"] == 2 * 10**9
    assert spec["measure"]["window_ns"] == 500_000_000
    assert spec["links"][0]["overhead"]["bytes"] == 0
    assert spec["links"][0]["qdisc"]["kind"] == "pfifo_freebsd"
    assert "c.py: cut at the end of the run, 2 s: iperf-1" in plan.warnings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"queue": "queue_disk='pie'"},
            "c.py:6: unknown key of a queue `queue_disk`\n\nhint: did you mean `queue_disc`?",
        ),
        (
            {"queue": "queue_disc='choke'"},
            "c.py:6: queue_disc: unknown discipline `choke`\n\nhint: ",
        ),
        (
            {"queue": "queue_size='lots'"},
            "c.py:6: queue_size: `lots` is not a size\n\nhint: write packets,",
        ),
        (
            {"queue": "queue_disc='fq_codel', queue_disc_params='target 5furlongs'"},
            "c.py:6: queue_disc_params: target: `5furlongs` is not a duration",
        ),
        ({"queue": "loss=2"}, "c.py:6: loss: `2` is not between 0 and 1"),
        ({"queue": "delay='x'"}, "c.py:6: delay: `x` is not a number of zero or more"),
        ({"sets": [("V_up_rate", "0mbit")]}, "c.py:6: rate: `0 mbit/s` is a rate of zero"),
        ({"sets": [("V_up_rate", "1MBps")]}, "c.py:6: rate: `1MBps` is not a rate"),
        ({"sets": [("V_aqm", "pie")]}, "--set: unknown variable `V_aqm`"),
        ({"sets": [("path.rtt", "1 ms")]}, "--set: `path.rtt` is nothing that a TEACUP config has"),
        ({"vary": [("V_up_rate", "1mbit")]}, "--vary: `V_up_rate` varies together with others"),
        ({"seeds": "0,1"}, "--seeds: seeds of a TEACUP config count from 1"),
        ({"duration": "0 s"}, "--duration: `0 s` is zero"),
        (
            {"more": "('0', '1', \"start_ping, client='a', dest='b'\"),"},
            "c.py:11: there are two generators with the number 1",
        ),
        (
            {"more": "('0', '2', \"start_ping, client='a', dest='c'\"),"},
            "c.py:11: dest: unknown host `c`",
        ),
        (
            {"more": "('0', '2', \"start_ping, client='a'\"),"},
            "c.py:11: start_ping: dest: is missing",
        ),
        (
            {"more": "('x', '2', \"start_ping, client='a', dest='b'\"),"},
            "c.py:11: start: `x` is not a number",
        ),
        ({"more": "('0', '2'),"}, "c.py:11: an entry of TPCONF_traffic_gens has 3 fields"),
        (
            {"text": SMALL.replace("'ups', 'runs'", "'up', 'runs'")},
            "c.py:19: TPCONF_vary_parameters: unknown parameter `up`\n\nhint: did you mean `ups`?",
        ),
        ({"text": "TPCONF_router_queues = []"}, "c.py: TPCONF_traffic_gens is not defined"),
        (
            {"text": SMALL.replace("'r': 'Linux'", "'r': 'BeOS'")},
            "c.py:4: TPCONF_host_os: unknown operating system `BeOS`",
        ),
        ({"text": "x = ["}, "c.py:1: this is not Python: '[' was never closed"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(ScenarioError) as caught:
        small(**changes)
    assert str(caught.value).startswith(message)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_configs_with_a_piece_missing_are_read_or_refused(data):
    text = SMALL.replace("QUEUE", "delay=5").replace("MORE", "")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    piece = data.draw(st.text(alphabet="'\"[](){},=V_0x\n ", max_size=4))
    try:
        teacup.read(text[:start] + piece + text[end:], "c.py")
    except ScenarioError as error:
        assert str(error)


@pytest.mark.parametrize("text", ["[[]]", "[{}]", "[1.5]", "[None]"])
def test_what_cannot_be_a_parameter_is_refused(tmp_path, text):
    config = (DATA / "freebsd_router.py").read_text() + f"\nTPCONF_vary_parameters = {text}\n"
    for name in ("freebsd_router.py", "freebsd_router_nodes.py"):
        (tmp_path / name).write_text((DATA / name).read_text())
    (tmp_path / "freebsd_router.py").write_text(config)
    with pytest.raises(ScenarioError, match="TPCONF_vary_parameters: unknown parameter"):
        teacup.load(tmp_path / "freebsd_router.py", [], [])


# --- Bounds ----------------------------------------------------------------------------------

DOUBLED = "a = [1]\n" + "a = [a, a]\n" * 100


def appended(text, **changes):
    """The plan for SMALL with something at its end."""
    return small(text=SMALL + text, **changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DOUBLED + "TPCONF_traffic_gens = a", "TPCONF_traffic_gens: with what is before it, this"),
        (DOUBLED + "TPCONF_test_id = a", "TPCONF_test_id: with what is before it, this holds more"),
        ("a = [1]\na.append(a)\nTPCONF_router = a", "TPCONF_router: with what is before it"),
        ("a = 1\nfor i in range(200): a = [a]\nTPCONF_aqms = a", "or is nested too deeply"),
        (
            "TPCONF_traffic_gens = [('0.0', str(i), \"start_ping, client='a', dest='b'\")"
            " for i in range(3000)]",
            "TPCONF_traffic_gens: 3000 entries are too many, 2000 at most",
        ),
        (
            "TPCONF_parameter_list = {'a': (['V_a'], ['a'], range(1000), {}),"
            " 'b': (['V_b'], ['b'], range(1000), {})}\nTPCONF_vary_parameters = ['a', 'b']",
            "TPCONF_vary_parameters: 1000000 experiments are too many, 100000 at most",
        ),
    ],
)
def test_experiments_without_end_are_refused(text, message):
    with pytest.raises(ScenarioError) as caught:
        appended(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("host", ["[1]", "{}", "('a', [1])"])
def test_a_host_that_is_no_text_is_called_as_it_is_written(host):
    plan = appended(f"TPCONF_host_os = 'Linux'\nTPCONF_hosts = TPCONF_router = [{host}]")
    assert plan.trials


def test_lists_that_share_lists_stay_out_of_the_manifest():
    shared = "b = [0] * 900\n" + "b = [b] * 900\n" * 3 + "c = b[:0]\n"
    kept = appended(shared).scenario["teacup"]
    assert "b" not in kept and kept["c"] == []


def test_what_starts_when_the_run_is_over_is_said():
    gens = [
        ("0", "1", "start_ping, client='a', dest='b', duration=9"),
        ("20", "2", "start_httperf, client='a', server='b'"),
    ]
    plan = appended(f"TPCONF_traffic_gens = {gens}", duration="5 s")
    assert "c.py: starts when the run is over, at 5 s: web-2" in plan.warnings
    assert "c.py: cut at the end of the run, 5 s: ping-1" in plan.warnings
