"""Variants of a small TEACUP config: queues, changes, refusals, limits."""

from pathlib import Path

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.engines.trial_spec import KindSpec
from aqmlab.planning import teacup
from hypothesis import given, settings
from hypothesis import strategies as st
from support import changes as changes_of

DATA = Path(__file__).parent / "data"

pytestmark = pytest.mark.usefixtures("teacup_catalogue")

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
    """The plan for SMALL with some parts replaced."""
    whole = text.replace("QUEUE", queue).replace("MORE", more)
    return teacup.read(whole, "c.py", **changes_of.read(**changes))


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
    plan = small(queue, seeds=1, sets=["V_up_rate=1mbit"])
    assert plan.trials[0].spec.links[0].qdisc == KindSpec(kind=kind, params=params)


@pytest.mark.parametrize(
    ("disc", "older", "version"),
    [("fq_codel", "fq_codel_linux_3_5", "4.7"), ("PIE", "pie_linux_3_14", "5.5")],
)
def test_the_assumed_kernel_of_a_linux_router_is_stated_if_the_discipline_depends_on_it(
    disc, older, version
):
    plan = small(f"queue_disc='{disc}'")
    told = [one for one in plan.warnings if "kernel" in one]
    assert told == [
        f"c.py: the kernel of the Linux router is taken to be older than {version}, so"
        f" `{disc.lower()}` is `{older}`; TPCONF_linux_kern_router = '{version}' makes it"
        f" `{disc.lower()}`"
    ]
    for stated, kind in ((version, disc.lower()), ("3.17.4", older)):
        own = small(f"queue_disc='{disc}'", sets=[f"TPCONF_linux_kern_router='{stated}'"])
        assert {link.qdisc.kind for link in own.trials[0].spec.links} == {"pfifo", kind}
        assert not any("kernel" in one for one in own.warnings)


@pytest.mark.parametrize("queue", ["", "queue_disc='codel'", "queue_disc='pie_linux_3_14'"])
def test_no_kernel_is_assumed_for_a_discipline_of_every_kernel(queue):
    assert not any("kernel" in one for one in small(queue).warnings)


def test_queues_may_share_a_bottleneck():
    text = SMALL.replace(
        "]\nTPCONF_traffic",
        "    ('3', \"source='10.1.0.2', dest='10.2.0.0/24', attach_to_queue='1', delay=70\"),\n"
        "]\nTPCONF_traffic",
    )
    spec = small(text=text).trials[0].spec
    assert len(spec.links) == 2
    (app,) = spec.apps
    assert (app.up.links, app.up.delay_ns) == ((0,), 70_000_000), "the last mark stands"


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
            {"sets": ["V_up_rate=5mbit"]},
            ["up_5mbit_del_10_run_0", "up_5mbit_del_10_run_1", "up_5mbit_del_20_run_0"],
        ),
        ({"sets": ["TPCONF_vary_parameters=['runs']"]}, ["run_0", "run_1"]),
        ({"sets": ["TPCONF_vary_parameters=[]"]}, [""]),
        (
            {
                "sets": ["TPCONF_vary_parameters=[]"],
                "vary": ["V_x=fq_codel,pie"],
                "queue": "queue_disc=V_x",
            },
            ["x_fq-codel", "x_pie"],
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
    assert [trial.spec.seed for trial in plan.trials[:2]] == [4, 5]


def test_duration_measure_and_overhead_can_be_set():
    plan = small(
        duration="2 s",
        sets=["measure.window=500 ms", "path.overhead=ip", "TPCONF_host_os=FreeBSD"],
    )
    spec = plan.trials[0].spec
    assert spec.duration_ns == 2 * 10**9
    assert spec.measure.window_ns == 500_000_000
    assert spec.links[0].overhead.bytes == 0
    assert spec.links[0].qdisc.kind == "pfifo_freebsd"
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
        ({"sets": ["V_up_rate=0mbit"]}, "c.py:6: rate: `0 mbit/s` is a rate of zero"),
        ({"sets": ["V_up_rate=1MBps"]}, "--set V_up_rate: c.py:6: rate: `1MBps` is not a rate"),
        ({"sets": ["V_aqm=pie"]}, "--set: unknown variable `V_aqm`"),
        ({"sets": ["path.rtt=1 ms"]}, "--set: `path.rtt` is not a name in a TEACUP config"),
        ({"vary": ["V_up_rate=1mbit"]}, "--vary: `V_up_rate` varies together with others"),
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
        teacup.load(tmp_path / "freebsd_router.py")


# --- Limits ----------------------------------------------------------------------------------

DOUBLED = "a = [1]\n" + "a = [a, a]\n" * 100


def appended(text, **changes):
    """The plan for SMALL with a text appended."""
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
    assert "c.py: starts after the end of the run, 5 s: web-2" in plan.warnings
    assert "c.py: cut at the end of the run, 5 s: ping-1" in plan.warnings


# --- Columns and seeds that identify the trials ----------------------------------------------


def varied(parameters, names, **changes):
    """The plan for SMALL with other loops."""
    head = SMALL.partition("TPCONF_parameter_list")[0]
    defaults = "TPCONF_variable_defaults = {'V_duration': 5, 'V_up_rate': '1mbit', 'V_delay': 10}\n"
    text = f"{head}TPCONF_parameter_list = {{{parameters}}}\n{defaults}"
    return small(text=f"{text}TPCONF_vary_parameters = {names}\n", **changes)


RATES = "'ups': (['V_up_rate'], ['up'], ['1mbit', '2mbit'], {}),"


@pytest.mark.parametrize(
    ("parameters", "names", "message"),
    [
        (RATES, "['ups', 'ups']", "`V_up_rate` is varied twice, by `ups` and by `ups`"),
        (
            RATES + "'more': (['V_delay', 'V_up_rate'], ['d', 'u'], [(1, '3mbit')], {}),",
            "['ups', 'more']",
            "`V_up_rate` is varied twice, by `ups` and by `more`",
        ),
        (
            RATES + "'more': (['V_delay'], ['d'], [1, 2], {'V_up_rate': '9mbit'}),",
            "['ups', 'more']",
            "`V_up_rate` is varied by `ups`, and `more` sets it, too",
        ),
        (
            "'runs': (['V_runs'], ['run'], ['a', 0], {}),",
            "['runs']",
            "two runs are seed 1",
        ),
        (RATES + "'y': (['chunk'], ['*'], [1], {}),", "['ups', 'y']", "`*` is not a name"),
    ],
)  # fmt: skip
def test_loops_that_contradict_each_other_are_refused(parameters, names, message):
    with pytest.raises(ScenarioError) as caught:
        varied(parameters, names)
    assert message in str(caught.value) and str(caught.value).startswith("c.py:")


def test_a_value_that_is_varied_twice_by_an_option_is_refused():
    with pytest.raises(ScenarioError, match=r"--vary V_delay: `10` is given twice"):
        varied(RATES, "['ups']", vary=["V_delay=10,20,10"])


def test_values_that_are_written_alike_are_one():
    plan = varied("'d': (['V_delay'], ['del'], [10, '10', 10.0, 20], {}),", "['d']")
    assert [trial.conditions for trial in plan.trials] == [{"del": 10}, {"del": 20}]


def test_the_unit_of_a_variable_that_is_only_a_delay_is_known():
    assert small().scenario["units"] == {"del": "ms"}
    assert small("delay=V_delay").scenario["units"] == {"del": "ms"}
    for other in ("delay=2*V_delay", "rtt=V_delay", "delay=V_delay+1, queue_size=V_delay"):
        assert small(other).scenario["units"] == {}, other


@pytest.mark.parametrize("short", ["chunk", "Seed", "*", "^a$", "up"])
def test_a_short_name_that_no_column_may_have_gives_way_to_the_variable(short):
    parameters = f"{RATES} 'd': (['V_delay'], ['{short}'], [10, 20], {{}}),"
    plan = varied(parameters, "['ups', 'd']")
    assert plan.conditions == (("V_up_rate", "V_delay") if short == "up" else ("up", "V_delay"))
    assert len({trial.id for trial in plan.trials}) == 4


@pytest.mark.parametrize("seed", [1, 7, 10**15, 10**16, 2**63 - 1])
def test_any_seed_but_0_can_be_asked_for(seed):
    plan = varied(RATES, "['ups']", seeds=f"{seed}-{seed}")
    assert {trial.seed for trial in plan.trials} == {seed}
    assert all(trial.id.endswith(f"_run_{seed - 1}") for trial in plan.trials)
