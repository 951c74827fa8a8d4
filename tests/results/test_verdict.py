import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.engines.trial_spec import KindSpec
from aqmlab.results.results import load
from aqmlab.results.verdicts import verdict
from aqmlab.results.verdicts.criteria import CHECKS, checks_for
from aqmlab.results.verdicts.wording import apart, quantity
from msgspec.structs import replace
from support.campaigns import app, campaign_of, grid


def word(kind, limit_ms=None, rate_mbit=None, **measured):
    """The verdict on an application of `kind`, by the worst of its checks."""
    words = [check.word(check.value(measured)) for check in checks_for(kind, limit_ms, rate_mbit)]
    return max(words, key=verdict._ORDER.index)


@pytest.mark.parametrize(
    ("kind", "measured", "expected"),
    [
        ("voip", {"mos_up": 4.3, "mos_down": 4.1, "flow_rtt_p95_ms": 60}, "good"),
        ("voip", {"mos_up": 4.3, "mos_down": 3.7, "flow_rtt_p95_ms": 60}, "tolerable"),
        ("voip", {"mos_up": 4.3, "mos_down": 1.0, "flow_rtt_p95_ms": 60}, "bad"),
        ("video_call", {"flow_rtt_p95_ms": 150, "flow_loss_percent": 0.5}, "good"),
        ("video_call", {"flow_rtt_p95_ms": 150.1, "flow_loss_percent": 0.5}, "tolerable"),
        ("video_call", {"flow_rtt_p95_ms": 50, "flow_loss_percent": 10}, "bad"),
        ("game", {"flow_rtt_p95_ms": 99}, "good"),
        ("game", {"flow_rtt_p95_ms": 200}, "tolerable"),
        ("game", {"flow_rtt_p95_ms": 1000}, "bad"),
        ("iot_high", {"offered_kbit": 100, "delivered_kbit": 99, "flow_rtt_p95_ms": 45}, "good"),
        ("iot_high", {"offered_kbit": 100, "delivered_kbit": 94, "flow_rtt_p95_ms": 45}, "bad"),
        ("iot_high", {"offered_kbit": 100, "flow_rtt_p95_ms": 45}, "bad"),
        ("iot_low", {"offered_kbit": 2, "delivered_kbit": 2, "flow_rtt_p95_ms": 600}, "tolerable"),
        ("iot_low", {"offered_kbit": 2, "delivered_kbit": 2, "flow_rtt_p95_ms": 2700}, "bad"),
        ("dash", {"played_s": 50, "stalled_percent": 0, "flow_rtt_p95_ms": 45}, "good"),
        ("dash", {"played_s": 50, "stalled_percent": 0.5, "flow_rtt_p95_ms": 45}, "tolerable"),
        ("dash", {"played_s": 50, "stalled_percent": 20, "flow_rtt_p95_ms": 45}, "bad"),
        ("dash", {"played_s": 0, "flow_rtt_p95_ms": 45}, "bad"),
        ("web", {"page_load_p50_ms": 1500, "flow_rtt_p95_ms": 300}, "good"),
        ("web", {"page_load_p50_ms": 6000, "flow_rtt_p95_ms": 300}, "bad"),
        ("bulk", {"flow_rtt_p95_ms": 5000, "fair_share_percent": 50}, "good"),
        ("bulk", {"flow_rtt_p95_ms": 5000, "fair_share_percent": 49}, "tolerable"),
        ("bulk", {"flow_rtt_p95_ms": 50, "fair_share_percent": 12}, "bad"),
        ("bulk", {"flow_rtt_p95_ms": 50, "transfer_ms": 15_000}, "good"),
        ("bulk", {"flow_rtt_p95_ms": 50, "transfer_ms": 60_000}, "tolerable"),
        ("bulk", {"flow_rtt_p95_ms": 50, "transfer_ms": 61_000}, "bad"),
        ("ping", {"flow_rtt_p95_ms": 150}, "good"),
        ("irtt", {"flow_rtt_p95_ms": 400}, "tolerable"),
        ("ping", {"flow_rtt_p95_ms": 401}, "bad"),
        ("bulk", {}, "no data"),
        ("something new", {"flow_rtt_p95_ms": 5000}, "good"),
    ],
)
def test_words_follow_the_limits(kind, measured, expected):
    assert word(kind, **measured) == expected if expected != "no data" else True
    if expected == "no data":
        assert {check.word(check.value(measured)) for check in checks_for(kind)} == {"no data"}


def test_a_stated_tolerance_replaces_that_of_the_kind():
    assert word("game", flow_rtt_p95_ms=60) == "good"
    assert word("game", 50, flow_rtt_p95_ms=60) == "bad"
    lost = {"flow_rtt_p95_ms": 60, "flow_loss_percent": 10}
    assert word("video_call", 500, **lost) == "bad", "its other needs stay"


def test_a_stated_tolerance_is_one_check_however_the_kind_is_judged():
    def names(*stated):
        return [check.what for check in checks_for(*stated)]

    assert names("game", 50) == names("game") == ["round trips"]
    assert names("cbr", 50) == ["round trips"]
    assert names("coap", 50) == [*names("coap"), "round trips"]
    (stated,) = checks_for("cbr", 50)
    assert (stated.good, stated.tolerable) == (50, 50)
    assert stated.compared(60) == "60 ms > 50 ms"


def test_what_was_not_measured_or_never_asked_for_is_no_number():
    def value(kind, **measured):
        return checks_for(kind)[0].value(measured)

    assert value("game") is None
    assert value("iot_low", offered_kbit=0.0, delivered_kbit=0.0) is None
    assert value("iot_low", offered_kbit=10.0) == 0
    assert value("iot_low", offered_kbit=10.0, delivered_kbit=9.0) == 90
    assert value("dash", played_s=0.0, stalled_percent=0.0) == 0
    assert value("dash", played_s=5.0) == 100


def test_a_stated_rate_stands_for_what_is_fair():
    measured = {"flow_rtt_p95_ms": 60, "fair_share_percent": 5, "transfer_ms": 90_000}
    fast, slow = {"flow_rate_mbit": 2.0}, {"flow_rate_mbit": 1.9}
    assert word("bulk", None, **measured) == "bad"
    assert word("bulk", None, 2.0, **measured, **fast) == "good"
    assert word("bulk", None, 2.0, **measured, **slow) == "bad"
    assert word("bulk", 50, 2.0, **measured, **fast) == "bad", "its round trips stay"
    assert word("game", None, 2.0, flow_rtt_p95_ms=60, **slow) == "bad", "any kind may need one"
    needed = checks_for("game", None, 2.0)[0]
    assert (needed.what, needed.compared(1.9)) == ("rate", "1.9 Mbit/s < 2 Mbit/s")


def test_limits_are_in_order_and_names_are_told_apart():
    for kind, checks in CHECKS.items():
        assert len({check.what for check in checks}) == len(checks), kind
        for check in checks:
            sign = -1 if check.more_is_better else 1
            assert sign * check.good <= sign * check.tolerable, f"{kind}: {check.what}"


def test_quantities_are_read_at_a_glance():
    for value, unit, text in [
        (2710.4, "ms", "2.7 s"),
        (12_300, "ms", "12 s"),
        (0.4, "ms", "0.4 ms"),
        (0, "%", "0 %"),
        (4.05, "", "4"),
        (12.5, "%", "12.5 %"),
        (1000, "ms", "1 s"),
        (1250.5, "ms", "1.3 s"),
        (99, "%", "99 %"),
        (99.97, "%", "99.97 %"),
        (100, "%", "100 %"),
        (100.4, "%", "100 %"),
        (99.4, "Mbit/s", "99 Mbit/s"),
        (10.4, "", "10"),
        (10, "", "10"),
        (1.04, "", "1"),
        (12_345, "B", "12345 B"),
    ]:
        assert quantity(value, unit) == text


def test_a_value_stands_beside_the_limit_that_decides():
    def said(kind, place, value):
        return checks_for(kind)[place].compared(value)

    assert said("game", 0, 100) == "100 ms ≤ 100 ms"
    assert said("game", 0, 100.2) == "100.2 ms > 100 ms"
    assert said("game", 0, 150) == "150 ms > 100 ms"
    assert said("game", 0, 300) == "300 ms > 200 ms"
    assert said("bulk", 0, 50) == "50 % ≥ 50 %"
    assert said("bulk", 0, 20) == "20 % < 50 %"
    assert said("bulk", 0, 5) == "5 % < 12.5 %"


def test_an_app_is_judged_by_its_worst_flow_and_the_median_seed(home_results):
    found = {(one.label.queue, one.label.rate, one.app): one for one in home_results.verdicts}
    assert len(found) == 3 * 2 * 4
    call = found["pfifo", "12/1", "call"]
    assert (call.word, call.seeds, call.kind) == ("bad", 2, "video_call")
    assert call.deciding.lowest < call.deciding.value < call.deciding.highest
    assert call.sentence == f"call: bad, {call.deciding}"
    assert "round trips 3" in call.sentence and "tolerable up to 400 ms" in call.sentence
    assert call.deciding.brief.endswith("s > 400 ms")
    assert found["fq_codel", "12/1", "call"].word == "good"
    assert found["fq_codel", "12/1", "call"].deciding.brief.endswith("≤ 150 ms")
    assert found["pie", "12/1", "file"].word == "good"
    assert found["pie", "25/5", "file"].word == "tolerable", "for there is more to have"
    assert found["pie", "25/5", "file"].because.startswith("fair share reached 2")
    assert found["pie", "25/5", "file"].because.endswith("% < 50 %")


def test_an_app_that_never_got_through_has_no_good_verdict(tmp_path):
    apps = [app("call", "video_call", ["up"], silent=True, loss=100.0)]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    (found,) = load(tmp_path / "out").verdicts
    assert found.word == "bad" and found.findings[0].word == "no data"


def test_a_transfer_of_a_size_says_how_long_it_takes(tmp_path):
    large, small = (KindSpec(kind="bulk", params={"size": size}) for size in (10**9, 10**6))
    apps = [
        replace(app("backup", metrics={"completion_time_s": 9.5}), app=large),
        replace(app("photo", metrics={"completion_time_s": 1.5}), app=small),
    ]
    campaigns.run(campaign_of(grid(("pie",), apps=apps)), tmp_path / "out", jobs=1)
    results = load(tmp_path / "out")
    backup, photo = results.verdicts
    assert backup.because.endswith("%, 1 GB in 9.5 s") and backup.sentence.endswith(backup.told)
    assert photo.because == "transferred in 1.5 s ≤ 15 s", "as what is judged, and once"
    assert (backup.word, photo.word) == ("bad", "good")
    times = results.table("verdicts").filter(need="transferred in")
    assert times["value"].to_list() == [9500, 1500]
    assert times["verdict"].to_list() == [None, "good"], "no limit is known for so large a one"


def test_what_needs_nothing_is_not_called_good(tmp_path):
    apps = [app("flood", "cbr"), app("ping", "ping", ["up"])]
    campaigns.run(campaign_of(grid(("pfifo",), apps=apps)), tmp_path / "out", jobs=1)
    flood, ping = load(tmp_path / "out").verdicts
    assert (flood.word, flood.because, flood.sentence) == ("no limit", "", "flood: no limit")
    assert ping.word == "bad" and ping.because.endswith("s > 400 ms")
    assert verdict.worst(flood, ping) is ping


def test_a_value_is_never_shown_as_the_limit_that_it_misses() -> None:
    for value, limit, want in [
        (3.9961, 4.0, "3.996"),
        (99.998, 100.0, "99.998"),
        (4.04, 4, "4.04"),
    ]:
        assert apart(value, limit) == want
