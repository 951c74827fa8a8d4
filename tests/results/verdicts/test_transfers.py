"""Transfers and their fair shares, computed by hand."""

import json
import math

import pytest
from aqmlab import _core
from aqmlab.base.failures import RequestError
from aqmlab.campaign import runner as campaigns
from aqmlab.engines.trial_spec import KindSpec, MeasureSpec, OverheadSpec, WifiSpec
from aqmlab.results.results import load
from msgspec.structs import replace
from support.campaigns import app, campaign_of, grid, spec_of, with_link

RADIO = WifiSpec(
    cell=0, mcs=7, width_mhz=20, short_guard=False, loss=0.0, aggregate=32, airtime_ns=4_096_000,
    driver=124,
)  # fmt: skip


def flow(name, mbit, direction="down", primary=True, **metrics):
    """A row of the table `flows`, with the application's metrics as `own`."""
    numbers = {"throughput_mean_mbit": mbit}
    return {"flow": name, "direction": direction, "primary": primary, **numbers, "own": metrics}


def bulk(name, start_s=0, stop_s=None, **params):
    """A bulk transfer of a trial."""
    made = app(name, start_ns=int(start_s * 1e9), stop_ns=stop_s and int(stop_s * 1e9))
    return replace(made, app=KindSpec(kind="bulk", params=params))


def judged(spec, rows, name):
    """The verdict on the application `name`."""
    judge = _core.Judge()
    flows = [
        (row["flow"], row["direction"], row["primary"],
         [math.nan if row.get(one) is None else row[one] for one in _core.flow_numbers()])
        for row in rows
    ]  # fmt: skip
    own = {row["flow"]: row["own"] for row in rows}
    apps = [
        (flow, metric, value)
        for flow, metrics in own.items()
        for metric, value in metrics.items()
        if value is not None
    ]
    judge.add((0, 1), spec.text(), "{}", flows, apps)
    return {one["app"]: one for one in json.loads(judge.verdicts_json())}[name]


def measured(spec, rows, name):
    """The share, the judged time and the unjudged time of a transfer, if it has them."""
    found = judged(spec, rows, name)
    values = {one["need"]: one["value"] for one in found["findings"]}
    share, ms, time = values["fair share reached"], values["transferred in"], found["time"]
    made = {"share": share, "ms": ms, "time": time and (time["ms"], time["projected"])}
    return {key: value for key, value in made.items() if value is not None}


def share(rows, apps, name="file", rate=(10, 1), **more):
    """The rate of `name` in percent of its fair share; `None` without such a finding."""
    return measured(spec_of("pie", rate, apps, **more), rows, name).get("share")


def test_alone_the_whole_line_is_fair():
    assert share([flow("file", 7)], [bulk("file")]) == pytest.approx(70)


def test_against_one_who_takes_all_an_equal_share_is_fair():
    rows = [flow("file", 1), flow("other", 9)]
    apps = [bulk("file"), bulk("other")]
    assert share(rows, apps) == pytest.approx(20)
    assert share(rows, apps, "other") == pytest.approx(100)


def test_what_goes_the_other_way_takes_no_part_but_acknowledgements_do():
    rows = [flow("file", 6), flow("call", 2, "up"), flow("other", 4, "down", primary=False)]
    apps = [bulk("file"), app("call", "video_call"), bulk("other")]
    assert share(rows, apps) == pytest.approx(100)
    assert measured(spec_of("pie", (10, 1), apps), rows, "other") == {}


def test_others_count_for_as_long_as_they_ran_beside_it():
    # The fair share of the file is 10 Mbit/s while it is alone, for half of its time, and 5 Mbit/s
    # beside the other flow.
    rows = [flow("file", 7.5), flow("other", 5)]
    assert share(rows, [bulk("file"), bulk("other", 5)]) == pytest.approx(100)
    assert share(rows, [bulk("file"), bulk("other", 5, 7.5)]) == pytest.approx(100 * 7.5 / 8.75)
    rows = [flow("file", 7.5), flow("other", 5, completion_time_s=5.0)]
    assert share(rows, [bulk("file"), bulk("other", size=10**8)]) == pytest.approx(100)
    assert share([flow("file", 0)], [bulk("file", 10)]) is None, "it never ran"


def test_only_the_interval_of_the_statistics_counts():
    rows = [flow("file", 10), flow("other", 9)]
    apps = [bulk("file"), bulk("other", 0, 5)]
    interval = {"measure": MeasureSpec(from_ns=5 * 10**9)}
    assert share(rows, apps, **interval) == pytest.approx(100)


def test_a_share_is_over_the_time_in_which_the_tables_say_that_a_flow_was_active():
    def active(from_s, to_s):
        return {"active_from_s": float(from_s), "active_to_s": float(to_s)}

    # The other flow starts after half of the time, whatever start was requested.
    rows = [flow("file", 7.5) | active(0.25, 4.25), flow("other", 5) | active(2.25, 9.0)]
    assert share(rows, [bulk("file"), bulk("other")]) == pytest.approx(100)
    never = [flow("file", 0) | active(3.0, 3.0)]
    assert share(never, [bulk("file")]) is None


def test_where_tables_do_not_say_the_scenario_says_when_a_flow_ran():
    rows = [flow("file", 7.5), flow("other", 5)]
    span = {"duration": 4 * 10**9}
    # The other flow sends from 3 s to 7 s in the first case, and from 1 s to 3 s in the second.
    assert share(rows, [bulk("file"), bulk("other", 3, **span)]) == pytest.approx(750 / 8)
    interval = {"measure": MeasureSpec(from_ns=10**9, to_ns=5 * 10**9)}
    apps = [bulk("file"), bulk("other", 1, 3)]
    assert share(rows, apps, **interval) == pytest.approx(100)
    assert share([flow("file", None)], [bulk("file")]) == 0


def test_a_transfer_both_ways_is_judged_by_the_worse():
    rows = [flow("file", 9, "down"), flow("file", 0.2, "up")]
    assert share(rows, [bulk("file")]) == pytest.approx(20)
    assert share(rows[::-1], [bulk("file")]) == pytest.approx(20)


def test_limits_of_a_timed_transfer_belong_to_it():
    def one(seconds, size):
        spec = spec_of("pie", (10, 1), [bulk("file", size=size)], duration_ns=int(seconds * 1e9))
        return measured(spec, [flow("file", 1)], "file")

    assert one(60, 10**7) == {"ms": 60_000}
    assert "ms" not in one(59.9, 10**7) | one(60, 10**7 + 1)


def test_who_has_the_rest_of_a_fair_share_is_told():
    def because(got, other):
        rows, apps = [flow("file", got), flow("other", other)], [bulk("file"), bulk("other")]
        return judged(spec_of("pie", (10, 1), apps), rows, "file")["because"]

    assert (
        because(3.5, 6.5)
        == "fair share reached 70 % ≥ 50 %, 3.5 of 5 Mbit/s: 1.5 Mbit/s taken by others"
    )
    assert because(3.5, 5.0).endswith("3.5 of 5 Mbit/s: 1.5 Mbit/s unused")
    assert because(3.0, 6.0).endswith("3 of 5 Mbit/s: 1 Mbit/s unused, 1 Mbit/s taken by others")
    assert because(5.0, 5.0) == "fair share reached 100 % ≥ 50 %"


def test_the_least_that_a_link_charges_for_a_packet_counts():
    spec = spec_of("pie", (10, 1), [bulk("file")])
    spec = with_link(spec, 1, overhead=OverheadSpec(minimum=2_000))
    found = measured(spec, [flow("file", 7.5)], "file")
    assert found["share"] == pytest.approx(100)


def test_a_radio_with_a_rate_of_its_own_shares_what_it_carried():
    spec = spec_of("pie", (10, 1), [bulk("file"), bulk("other")])
    spec = with_link(spec, 1, wifi=RADIO)
    found = measured(spec, [flow("file", 1), flow("other", 3)], "file")
    assert found["share"] == pytest.approx(50)


def test_a_line_carries_no_more_than_its_overhead_leaves():
    spec = spec_of("pie", (10, 1), [bulk("file")])
    spec = with_link(spec, 1, overhead=OverheadSpec(bytes=40, atm=True, counted=14))
    found = measured(spec, [flow("file", 10 * 1500 / (33 * 53))], "file")
    assert found["share"] == pytest.approx(100)


def test_what_a_radio_carried_is_shared():
    spec = spec_of("pie", (10, 1), [bulk("file"), bulk("other")])
    spec = with_link(spec, 1, wifi=RADIO, rate_bps=0)
    rows = [flow("file", 1), flow("other", 3)]
    assert measured(spec, rows, "file")["share"] == pytest.approx(50)
    assert measured(spec, rows, "other")["share"] == pytest.approx(100)


def test_a_small_transfer_has_a_time_in_place_of_a_share():
    def one(seconds, *, took=None, **params):
        spec = spec_of("pie", (10, 1), [bulk("file", **params)], duration_ns=int(seconds * 1e9))
        return measured(spec, [flow("file", 1, completion_time_s=took)], "file")

    assert one(10, took=0.4, size=10**6) == {"ms": 400}
    assert one(90, size=10**6) == {"ms": 90_000}, "it had so long, and did not end"
    assert one(10, size=10**6) == {"share": 10}, "it had too little time"
    assert one(10, took=0.4, size=10**6, parallel=11)["share"] == 10
    assert "share" in one(10, took=9, size=10**8)


def test_a_transfer_of_a_size_has_its_time_or_a_projection():
    def one(params, goodput=None, **metrics):
        spec = spec_of("pie", (10, 1), [bulk("file", 2, **params)])
        acknowledgements = flow("file", 0.1, "up", primary=False, **metrics)
        data = flow("file", 8, **metrics) | {"goodput_mbit": goodput}
        return measured(spec, [data, acknowledgements], "file").get("time")

    gigabyte = {"size": 10**9}
    assert one(gigabyte, 8, completion_time_s=7.5) == (7500, False)
    # The transfer read 1 % in eight seconds. The rest takes 990 s at 8 Mbit/s.
    assert one(gigabyte, 8, read_bytes=1e7) == (998_000, True)
    assert one({"size": 10**8, "parallel": 10}, 8, read_bytes=1e7) == (998_000, True)
    assert one(gigabyte, 0, read_bytes=0) is None, "nobody knows"
    assert one({}, 8) is None, "it has no end"


def test_a_spec_that_cannot_be_read_is_said_by_its_trial(tmp_path):
    campaigns.run(campaign_of(grid(("pie",), seeds=(1,))), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    endless = json.loads(results.table("trials")["spec"][0]) | {"duration_ns": float("inf")}
    for damaged in ("{", "[]", json.dumps({"apps": [{"name": "file"}]}), json.dumps(endless)):
        results = load(tmp_path / "out")
        trials = results.table("trials")
        results._frames["trials"] = trials.with_columns(
            spec=trials["spec"].clear(1).fill_null(damaged)
        )
        with pytest.raises(RequestError, match="`trial-0` cannot be read"):
            _ = results.judged
