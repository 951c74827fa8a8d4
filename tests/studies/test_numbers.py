"""The numbers of claims agree with the tables of results."""

import math

import polars as pl
import pytest
from aqmlab.base.failures import RequestError
from aqmlab.studies import statistic
from aqmlab.studies.numbers import Numbers, Unjudged
from aqmlab.studies.trials import Trials

AT = {"qdisc": "FIFO", "rtt": "60 ms"}


@pytest.fixture(scope="module")
def results(ran):
    return ran.results(Trials("home"))


@pytest.fixture(scope="module")
def numbers(results):
    return Numbers(results)


def rows(results, table, **where):
    frame = results.table(table)
    for name, value in {**AT, "seed": 1, **where}.items():
        frame = frame.filter(frame[name] == value)
    return frame


def test_numbers_are_those_of_the_tables(results, numbers):
    flow = rows(results, "flows", flow="call", direction="up")
    loss = numbers.flow("call", "loss_percent", AT, "up")
    assert list(loss) == [1, 2] and loss[1] == flow["loss_percent"][0]
    queue = rows(results, "queues", link="up")
    assert numbers.queue("up", "sojourn_mean_ms", AT)[1] == queue["sojourn_mean_ms"][0]
    assert numbers.summary("jain_up", AT)[1] == rows(results, "summary")["jain_up"][0]
    conns = rows(results, "conns", flow="file")
    assert numbers.conns("file", "segments_sent", AT)[1] == sum(conns["segments_sent"]) > 0
    dropped = rows(results, "queue_drops", link="up")
    assert numbers.drops("up", "file", AT)[1] == sum(dropped.filter(flow="file")["drops"])
    assert numbers.drops("down", "file", AT) == {1: 0.0, 2: 0.0}


def test_a_rate_is_of_windows_that_lie_within_the_span(results, numbers):
    windows = rows(results, "windows", flow="file", direction="up")
    own = windows.filter(windows["t_s"].is_between(1.0, 1.5))["throughput_mbit"]
    assert numbers.rate("file", AT, (0.5, 2.0))[1] == pytest.approx(own.mean())
    assert numbers.rate("file", AT, (0.5, 2.0), take="max")[1] == own.max()
    everything = numbers.rate("file", AT, take="min")[1]
    assert everything == windows["throughput_mbit"].min()
    assert math.isnan(numbers.rate("file", AT, (0.5, 0.6))[1])


def test_round_trips_count_as_often_as_there_are_pairs(results, numbers):
    steps = rows(results, "rtt", flow="file", direction="up")
    mean = (steps["n"] * steps["rtt_mean_ms"]).sum() / steps["n"].sum()
    whole = rows(results, "flows", flow="file", direction="up")
    assert mean == pytest.approx(whole["rtt_mean_ms"][0], rel=0.02)
    assert numbers.rtt("file", AT)[1] == pytest.approx(mean)
    late, early = numbers.rtt("file", AT, (1, 2))[1], numbers.rtt("file", AT, (0, 1))[1]
    assert late > early
    assert numbers.rtt("file", AT, take="max")[1] == steps["rtt_max_ms"].max()
    assert numbers.induced("file", AT, take="min")[1] == steps["rtt_min_ms"].min() - 60
    one = pl.DataFrame({"n": [3, 1], "rtt_p50_ms": [10.0, 90.0]})
    assert statistic.of_rtt(one, 0.5) == 10


def test_points_are_in_order(results, numbers):
    found = numbers.points("windows", "file", "throughput_mbit", AT)[2]
    assert [t_s for t_s, _ in found] == sorted(t_s for t_s, _ in found)
    queue = rows(results, "queue_series", link="up").sort("t_s")
    assert numbers.queued("up", "backlog_packets", AT)[1] == list(
        queue.select("t_s", "backlog_packets").iter_rows()
    )
    cwnd = numbers.points("tcp_series", "file", "cwnd_bytes", AT, "home")[1]
    assert max(value for _, value in cwnd) > 1460
    assert numbers.noted("file", "rr_mbit", AT) == {1: [], 2: []}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda n: n.flow("cal", "loss_percent", AT), "no flow `cal`.*did you mean `call`"),
        (lambda n: n.flow("call", "los_percent", AT, "up"), "did you mean `loss_percent`"),
        (lambda n: n.flow("call", "loss_percent", {"qdics": "FQ"}), "did you mean `qdisc`"),
        (lambda n: n.flow("call", "loss_percent", {"qdisc": "PIE"}), "no trial with qdisc = PIE"),
        (lambda n: n.flow("call", "loss_percent", AT), "match more than one"),
        (lambda n: n.rate("file", {"qdisc": "FQ"}), "match more than one"),
        (lambda n: n.rate("call", AT), "state the direction: down, up"),
        (lambda n: n.flow("call", "loss_percent", AT, "sideways"), "no direction `sideways`"),
        (lambda n: n.rtt("call", AT, direction="upp"), "no direction `upp`.*mean `up`"),
        (lambda n: n.points("tcp_series", "file", "cwnd_bytes", AT, "up"), "no side `up`"),
        (lambda n: n.queue("upp", "sojourn_mean_ms", AT), "no link `upp`.*did you mean `up`"),
    ],
)
def test_a_slip_in_a_claim_is_named(numbers, ask, said):
    with pytest.raises(RequestError, match=f"(?s){said}"):
        ask(numbers)


def test_what_a_trial_did_not_give_leaves_a_claim_unjudged(numbers):
    assert math.isnan(numbers.app("file", "completion_time_s", AT)[1])
    with pytest.raises(Unjudged, match="flow file: carries data up only"):
        numbers.flow("file", "loss_percent", AT, "down")
