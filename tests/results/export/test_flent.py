import csv
import gzip
import json
import math
from dataclasses import replace

import pytest
from aqmlab.base.failures import RequestError
from aqmlab.results.export import flent, trials
from aqmlab.results.export.flent import sampling
from aqmlab.results.export.flent.tests import Cast, cast_of, choose
from support.campaigns import app

from .conftest import documents, installed_flent, run_flent

needs_flent = pytest.mark.skipif(installed_flent() is None, reason="flent is not installed")

FOUR = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("cast", "test"),
    [
        (Cast(icmp=("p",)), "ping"),
        (Cast(icmp=("p",), udp=("q",)), "ping"),
        (Cast(voip=("v",)), "voip"),
        (Cast(web=("w",)), "http"),
        (Cast(up=FOUR, down=FOUR, icmp=("p",), udp=("q", "r", "s")), "rrul_be"),
        (Cast(up=FOUR, down=FOUR, icmp=("p",), voip=("v",)), "voip-rrul"),
        (Cast(up=FOUR, down=FOUR, icmp=("p",), web=("w",)), "http-rrul"),
        (Cast(up=("a",), voip=("v",)), "voip-1up"),
        (Cast(down=("a",), web=("w",)), "http-1down"),
        (Cast(up=("a",), down=("b",), icmp=("p",)), "tcp_bidirectional"),
        (Cast(up=("a",), icmp=("p",)), "tcp_nup"),
        (Cast(down=FOUR * 3, icmp=("p",)), "tcp_ndown"),
        (Cast(up=("a",)), "rrul_var"),  # Flent's tests of uploads have a probe
        (Cast(up=FOUR, down=FOUR, icmp=("p",), udp=FOUR), "rrul_var"),
        (Cast(up=("a",), icmp=("p",), rest=("game",)), "rrul_var"),
        (Cast(up=("a",), icmp=("p",), dash=("film",)), "rrul_var"),
    ],
)
def test_a_trial_is_given_the_test_that_it_fills(cast, test):
    assert choose(cast).name == test


def test_applications_play_the_part_of_their_kind():
    kinds = {"file": "bulk", "p": "ping", "call": "voip_g729", "sensor": "iot_low"}
    apps = [app(name, kind) for name, kind in kinds.items()]
    cast = cast_of(apps, {("file", "down"), ("sensor", "up")})
    assert cast == Cast(down=("file",), icmp=("p",), voip=("call",), rest=("sensor",))


@pytest.mark.parametrize(
    ("samples", "values"),
    [
        ([], [None, None, None]),
        ([(0.0, 1.0), (0.4, 5.0)], [1.0, 3.0, 5.0]),
        ([(0.25, 1.0), (0.35, 3.0)], [None, 1.0, 3.0]),
        ([(0.0, 1.0), (9.0, 3.0)], [None, None, None]),  # the next sample is over five steps away
        ([(0.0, 1.0)], [1.0, None, None]),
    ],
)
def test_samples_go_onto_the_grid_as_flent_puts_them(samples, values):
    assert sampling.on_grid(samples, [0.0, 0.2, 0.4], 0.2) == values


def test_steps_are_flents_unless_the_trials_are_too_long_for_its_lines():
    assert sampling.grid(1.0, 0.25) == (0.2, [0.0, 0.2, 0.4, 0.6, 0.8])
    assert sampling.grid(4.0, 2.0) == (2.0, [0.0, 2.0])


def test_summaries_leave_out_what_has_no_value():
    assert sampling.summary("sum", [[1.0, None], [2.0, None]]) == [3.0, None]
    assert sampling.summary("avg", [[1.0, 4.0], [2.0, None]]) == [1.5, 4.0]


def test_rrul_has_all_series_of_rrul_be_each_as_long_as_the_time(rrul):
    (document,) = documents(rrul).values()
    series = document["results"]
    names = {f"TCP {way}load BE{n}" for way in ("up", "down") for n in ("", 2, 3, 4)}
    names |= {"TCP totals", "TCP upload sum", "Ping (ms) avg", "Ping (ms) ICMP"}
    names |= {f"Ping (ms) UDP BE{n}" for n in (1, 2, 3)}
    assert names <= set(series)
    assert {len(values) for values in series.values()} == {len(document["x_values"])} == {100}
    about = document["metadata"]
    assert (document["version"], about["NAME"], about["STEP_SIZE"]) == (4, "rrul_be", 0.2)
    assert (about["LENGTH"], about["TOTAL_LENGTH"]) == (10, 20)
    assert flent.file_stem(document) == "rrul_be-2020-01-01T000000.000001.fq_codel_50_10"


def test_what_flent_sees_is_what_the_tables_hold(rrul):
    (document,) = documents(rrul).values()
    flows = {row["flow"]: row for row in rrul.flows.filter(primary=True).to_dicts()}
    about = document["metadata"]["SERIES_META"]
    assert about["TCP upload BE"]["MEAN_VALUE"] == flows["upload-1"]["throughput_mean_mbit"]
    pings = rrul.app_series.filter(flow="ping", metric="rtt_ms")["value"].to_list()
    assert [one["val"] for one in document["raw_values"]["Ping (ms) ICMP"]] == pings
    sums = document["results"]["TCP download sum"]
    assert 40 < sums[75] < 50, "four downloads fill 50 Mbit/s"


def test_a_home_has_a_series_for_each_application(home):
    found = documents(home)
    assert len(found) == 4
    document = found["qdisc=fq_codel,seed=2"]  # with FIFO, possibly no page completes
    assert document["metadata"]["NAME"] == "rrul_var"
    assert document["metadata"]["TEST_PARAMETERS"]["labels"] == "call,sensor,film,pages,file"
    assert {"TCP upload::file", "TCP download::film", "Ping (ms)::UDP sensor"} <= set(
        document["results"]
    )
    assert {"HTTP latency", "Dash", "qdisc_stats_up", "VoIP"} <= set(document["raw_values"])
    assert all(
        "tcp_cwnd" in one or "val" in one for one in document["raw_values"]["TCP upload::file"]
    )


def test_a_call_has_each_datagrams_delay_and_loss(home):
    document = documents(home)["qdisc=pfifo,seed=1"]
    raw = document["raw_values"]["VoIP"]
    lost = sum(one.get("lost", False) for one in raw)
    apps = home.apps.filter(trial="qdisc=pfifo,seed=1", flow="call")
    told = dict(zip(apps["metric"], apps["value"], strict=True))
    assert [one["seq"] for one in raw] == list(range(len(raw)))
    assert len(raw) - lost == told["received_up_packets"]
    delays = sorted(one["owd_up"] for one in raw if not one.get("lost"))
    assert math.isclose(delays[len(delays) // 2], told["owd_up_p50_ms"], rel_tol=0.02)


def test_the_same_trial_gives_the_same_bytes(rrul):
    first, again = (flent.file_bytes(next(iter(documents(rrul).values()))) for _ in range(2))
    assert first == again
    assert json.loads(gzip.decompress(first))["version"] == 4


def test_an_unknown_trial_is_refused_with_what_was_meant(home):
    with pytest.raises(RequestError, match=r"did you mean `qdisc=pfifo,seed=1`"):
        list(trials.read(home, flent.TABLES, ["qdisc=pfifo,seed=10"]))


@needs_flent
@pytest.mark.parametrize("plot", ["all_scaled", "ping_cdf", "tcp_cwnd"])
def test_flent_draws_rrul(rrul, tmp_path, plot):
    (document,) = documents(rrul).values()
    draw(document, plot, tmp_path)


@needs_flent
@pytest.mark.parametrize("plot", ["all_scaled", "voip_delay_loss", "http_delay", "dash"])
def test_flent_draws_a_home(home, tmp_path, plot):
    draw(documents(home)["qdisc=fq_codel,seed=1"], plot, tmp_path)


def draw(document, plot, folder):
    (folder / "one.flent.gz").write_bytes(flent.file_bytes(document))
    said = run_flent("-p", plot, "-o", folder / "one.png", folder / "one.flent.gz")
    assert "o data" not in said, "a plot without any is no plot"
    assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "one.png").stat().st_size > 10_000


@needs_flent
def test_flent_takes_the_seeds_of_a_condition_together(home, tmp_path):
    for document in documents(home).values():
        name = flent.file_stem(document) + flent.SUFFIX
        (tmp_path / name).write_bytes(flent.file_bytes(document))
    files = sorted(tmp_path.glob("*.flent.gz"))
    run_flent("-p", "box_combine", "-o", tmp_path / "box.svg", *files)
    assert (tmp_path / "box.svg").read_text().count("(n=2)") >= 2


@needs_flent
def test_flent_computes_the_summaries_that_we_wrote(rrul, tmp_path):
    (document,) = documents(rrul).values()
    series = document["results"]
    plain = {one: series[one] for one in series if not one.endswith((" sum", " avg", "totals"))}
    ours, flents = (
        values_in_flent({**document, "results": results}, tmp_path) for results in (series, plain)
    )
    assert len(plain) < len(series)
    assert ours.keys() == flents.keys()
    for name, values in ours.items():
        assert values == pytest.approx(flents[name], abs=1e-6, nan_ok=True), name


def values_in_flent(document, folder):
    """The values of each series, as Flent reads them from a file."""
    (folder / "one.flent.gz").write_bytes(flent.file_bytes(document))
    said = run_flent("-f", "csv", folder / "one.flent.gz")
    rows = list(csv.DictReader(said[said.index("rrul_be,") :].splitlines()))
    return {name: [float(row[name] or "nan") for row in rows] for name in rows[0]}


def test_a_seed_that_is_no_time_is_said_in_words(home):
    one = replace(next(trials.read(home, flent.TABLES)), seed=2**62)
    with pytest.raises(RequestError, match="the seed 46"):
        flent.document(home, one)


def test_an_infinite_number_in_a_table_is_refused(rrul):
    one = next(trials.read(rrul, flent.TABLES))
    document = flent.document(rrul, one) | {"results": {"ping": [math.inf]}}
    with pytest.raises(RequestError, match="a table is damaged: it holds an infinite number"):
        flent.file_bytes(document)
