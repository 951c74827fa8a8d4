"""Likely mistakes in a TEACUP config with valid syntax give warnings or errors."""

import pytest
from aqmlab.base.errors import ScenarioError

from .test_teacup_small import SMALL, small

pytestmark = pytest.mark.usefixtures("teacup_catalogue")

NTTCP = "('0', '2', \"start_nttcp, client='a', server='b', WORDS\"),"


def refusal(text, **changes):
    """The text of the error that a config raises."""
    with pytest.raises(ScenarioError) as caught:
        small(text=text, **changes)
    return str(caught.value)


# --- Queues without packets ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "dest='10.2.0.0/24', rate=V_up",
            "dest='10.3.0.0/24', rate=V_up",
            "c.py:6: queue 1 takes no packets: no host is in dest='10.3.0.0/24', and packets from "
            "a to b pass no queue (c.py:10: start_iperf)",
        ),
        (
            "source='10.2.0.0/24'",
            "source='10.2.0.1'",
            "c.py:7: queue 2 takes no packets: no host is in source='10.2.0.1', and packets from "
            "b to a pass no queue (c.py:10: start_iperf)",
        ),
        (
            "'a': ['10.1.0.2']",
            "'a': ['10.9.0.2']",
            "c.py:6: queue 1 takes no packets: no host is in source='10.1.0.0/24'",
        ),
    ],
)
def test_a_queue_that_is_nobodys_while_packets_pass_none_is_refused(right, wrong, message):
    error = refusal(SMALL.replace(right, wrong))
    assert error.startswith(f"{message}\n\nhint: hosts are 10."), error


def test_a_queue_that_is_nobodys_is_said():
    queue = "    ('9', \"source='10.1.0.0/24', dest='10.2.0.7', rate='1mbit'\"),\n]\nTPCONF_traffic"
    plan = small(text=SMALL.replace("]\nTPCONF_traffic", queue))
    assert "c.py:8: queue 9 takes no packets: no host is in dest='10.2.0.7'" in plan.warnings


def test_packets_that_pass_no_queue_are_said():
    lines = [line for line in SMALL.splitlines() if "('2', " not in line]
    plan = small(text="\n".join(lines), sets=["TPCONF_vary_parameters=['runs']"])
    said = "c.py:9: start_iperf: packets from b to a pass no queue: nothing limits or delays them"
    assert said in plan.warnings


# --- Misspelt names --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TPCONF_traffic_gens", "TPCONF_router_queues"])
def test_what_is_missing_and_misspelt_is_found(name):
    wrong = name.replace("ff", "f").replace("ue", "eu")
    error = refusal(SMALL.replace(name, wrong))
    assert error.startswith(f"c.py: {name} is not defined\n\nhint: c.py:")
    assert error.endswith(f": {wrong} is not read; did you mean `{name}`?")


def test_a_misspelt_name_that_may_be_missing_is_said():
    plan = small(text=SMALL.replace("TPCONF_vary_parameters", "TPCONF_vary_parametres"))
    said = "TPCONF_vary_parametres is not read; did you mean `TPCONF_vary_parameters`?"
    assert f"c.py:19: {said}" in plan.warnings


def test_a_name_that_the_config_itself_uses_is_its_own():
    text = "TPCONF_durations = [5]\nTPCONF_x = TPCONF_durations[0]\n" + SMALL
    assert not any("did you mean" in warning for warning in small(text=text).warnings)


def test_a_misspelt_parameter_of_a_generator_is_said():
    plan = small(more=NTTCP.replace("WORDS", "intervl=20, psze=7, colour=1"))
    for said in (
        "`intervl` is not read; did you mean `interval`?",
        "`psze` is not read; did you mean `psize`?",
        "`colour` is not read",
    ):
        assert f"c.py:11: start_nttcp: {said}" in plan.warnings


def test_a_missing_parameter_that_is_misspelt_is_found():
    error = refusal(SMALL, more=NTTCP.replace("client=", "clint=").replace("WORDS", ""))
    assert error == (
        "c.py:11: start_nttcp: client: is missing\n\n"
        "hint: `clint` is written; did you mean `client`?"
    )


def test_a_misspelt_parameter_of_a_discipline_is_said():
    plan = small("queue_disc='codel', queue_disc_params='targt 5ms'")
    said = "c.py:6: queue_disc_params: `targt` of codel is not read; did you mean `target`?"
    assert said in plan.warnings


def test_an_error_keeps_its_hint_beside_what_was_not_read():
    text = SMALL.replace("TPCONF_hosts", "TPCONF_hotss")
    error = refusal(text, sets=["V_up_rate=1MBps"])
    assert error.endswith(
        "write '12mbit', '500kbit' or bits per second\n"
        "c.py:2: TPCONF_hotss is not read; did you mean `TPCONF_hosts`?"
    )


# --- Options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("TPCONF_hostos", "did you mean `TPCONF_host_os`?"),
        ("TPCONF_debug_levl", "did you mean `TPCONF_debug_level`?"),
        ("TPCONF_zzzzzz", "there are TPCONF_aqms, "),
    ],
)
def test_a_set_of_a_name_that_is_not_read_is_refused(name, hint):
    error = refusal(SMALL, sets=[f"{name}=Linux"])
    assert error.startswith(f"--set: unknown name `{name}`\n\nhint: {hint}")


def test_a_set_may_name_what_the_config_itself_uses():
    text = SMALL.replace("range(2)", "range(TPCONF_own)").replace(
        "TPCONF_router =", "TPCONF_own = 2\nTPCONF_router =", 1
    )
    assert len(small(text=text).trials) == 2 * len(small(text=text, sets=["TPCONF_own=1"]).trials)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"sets": ["V_q=fq_codell"]}, "--set V_q: c.py:6: queue_disc: "),
        ({"vary": ["V_q=pie,fq_codell"]}, "--vary V_q: c.py:6: queue_disc: "),
        ({}, "c.py:6: queue_disc: "),
    ],
)
def test_an_error_in_the_value_of_an_option_names_the_option(changes, place):
    default = "pie" if changes else "fq_codell"
    text = SMALL.replace("'V_x': 'a_b'", f"'V_q': '{default}'").replace("QUEUE", "queue_disc=V_q")
    assert refusal(text, **changes).startswith(f"{place}unknown discipline `fq_codell`")


@pytest.mark.parametrize("option", ["set", "vary"])
def test_an_unknown_variable_names_its_option(option):
    error = refusal(SMALL, **{f"{option}s".replace("varys", "vary"): ["V_dilay=1"]})
    assert error == f"--{option}: unknown variable `V_dilay`\n\nhint: did you mean `V_delay`?"


def test_an_unknown_congestion_control_is_named_with_what_was_meant():
    told = "there is no congestion control `cubik` here; did you mean `cubic`?"
    assert told in refusal(SMALL, sets=["V_tcp_cc_algo=cubik"])
    plan = small(vary=["V_tcp_cc_algo=cubik,newreno"])
    assert any(warning.endswith(told) for warning in plan.warnings)


# --- Rates in an unintended unit -------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "hint"),
    [
        ("1", "a number alone counts bit/s: did you mean '1mbit'?"),
        ("999bit", "write a rate between 1 kbit/s and 100 Gbit/s"),
        ("101gbit", "write a rate between 1 kbit/s and 100 Gbit/s"),
    ],
)
def test_a_rate_that_no_link_has_is_refused(rate, hint):
    error = refusal(SMALL, sets=[f"V_up_rate={rate}"])
    assert (
        error
        == f"--set V_up_rate: c.py:6: rate: `{rate}` is outside the supported range\n\nhint: {hint}"
    )


# --- Packet intervals in an unintended unit --------------------------------------------------


@pytest.mark.parametrize(("interval_ms", "few"), [(8_000, True), (500, False)])
def test_a_generator_of_hardly_any_packets_is_said(interval_ms, few):
    plan = small(more=NTTCP.replace("WORDS", f"duration=5, interval={interval_ms}"))
    said = "c.py:11: start_nttcp: interval is in milliseconds: this is a packet every 8 s for 5 s"
    assert (said in plan.warnings) == few


@pytest.mark.parametrize("seconds", ["1000000000000.0", "1e400", "1152921505"])
def test_a_duration_longer_than_any_trial_names_the_option_and_the_longest(seconds):
    error = refusal(iperf("port=1").replace("=5,", "=V_duration,"), sets=[f"V_duration={seconds}"])
    assert error == (
        f"--set V_duration: c.py:10: start_iperf: duration: `{seconds}` is longer than any trial"
        "\n\nhint: write at most 1152921504; a trial has at most 36 years"
    )
    error = refusal(SMALL, sets=[f"V_duration={seconds}"])
    assert error.startswith(f"--set V_duration: c.py: V_duration: `{seconds}` is longer than any")


# --- Options of iperf ------------------------------------------------------------------------


def iperf(words):
    """`SMALL`, with `words` added to its iperf."""
    return SMALL.replace('duration=5"', f'duration=5, {words}"')


@pytest.mark.parametrize(
    ("options", "connections", "payload_bytes"),
    [
        ("-P 2", 2, 1_470),
        ("-P999 -l 100", 999, 100),
        ("--parallel 3 --len=1K", 3, 1_024),
        ("-P 2 -P 3", 3, 1_470),
    ],
)
def test_the_options_that_are_read_give_no_warning(options, connections, payload_bytes):
    plan = small(text=iperf(f"proto='udp', extra_params_client='{options}'"))
    apps = plan.trials[0].spec.apps
    assert len(apps) == connections
    assert {app.app.params["payload"] for app in apps} == {payload_bytes}
    assert not any("extra_params" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("-P 1000", "`-P 1000` is not between 1 and 999 connections"),
        ("-P 0", "`-P 0` is not between 1 and 999 connections"),
        ("-P -2", "`-P -2` is not between 1 and 999 connections"),
        ("-P 1K", "`-P 1K` is not between 1 and 999 connections"),
        ("-w 4k -l 100000", "`-l 100000` is not between 1 and 65507 bytes"),
        ("-l 64K", "`-l 64K` is not between 1 and 65507 bytes"),
        ("-l x", "`-l x` is not between 1 and 65507 bytes"),
    ],
)
def test_an_option_outside_its_range_is_refused(options, problem):
    error = refusal(iperf(f"proto='udp', extra_params_client='{options}'"))
    assert error.startswith(f"c.py:10: start_iperf: extra_params_client: {problem}"), error


def test_the_writes_of_tcp_may_have_any_length():
    plan = small(text=iperf("extra_params_client='-l 128K'"))
    assert not any("extra_params" in warning for warning in plan.warnings)


def test_options_that_are_not_read_are_said_by_name():
    words = "extra_params_client='-w 64k -P 2 -i', extra_params_server='-P 2'"
    told = [one for one in small(text=iperf(words)).warnings if "extra_params" in one]
    reason = "is not read: only -P and -l of iperf's client are"
    assert told == [
        f"c.py:10: extra_params_{end}: `{options}` {reason}"
        for end, options in (("client", "-w 64k -i"), ("server", "-P 2"))
    ]
