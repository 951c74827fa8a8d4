"""The rates that Armitage et al. (2017, VI) and Boerlage and Collom (2016) print."""

import json

import pytest
from aqmlab import cli
from aqmlab.households import loading
from aqmlab.households.demand import demand_of

# Armitage et al. (2017, VI-D) print these rates in Mbit/s by category.
HECTIC = (
    ("streaming", "down", 7.46),
    ("tolerant", "down", 8.8),
    ("sensitive", "down", 0.6),
    ("tolerant", "up", 1.3),
    ("sensitive", "up", 0.3),
)


@pytest.mark.parametrize(("category", "way", "printed"), HECTIC)
def test_the_hectic_household_needs_what_vi_d_prints_by_category(category, way, printed) -> None:
    assert demand_of(loading.load("hectic")).data_mbit(way, category) == pytest.approx(printed)


def test_the_hectic_household_needs_16_9_down_and_2_0_up() -> None:
    demand = demand_of(loading.load("hectic"))
    assert round(demand.total_mbit("down"), 1) == 16.9
    assert round(demand.total_mbit("up"), 1) == 2.0
    assert round(demand.acks_mbit("up"), 1) == 0.4


def test_footnote_24s_share_would_make_it_1_9_up() -> None:
    hectic = loading.load("hectic")
    demand = demand_of(type(hectic)(**(hectic.to_dict() | {"ack_share": "1/47"})))
    assert round(demand.acks_mbit("up"), 2) == 0.35
    assert round(demand.total_mbit("up"), 1) == 1.9
    assert any("1/47" in slip for slip in hectic.slips)


def test_films_in_4k_need_26_down_and_0_65_up_more() -> None:
    plain, heavy = (demand_of(loading.load(one)) for one in ("hectic", "hectic-4k"))
    assert heavy.data_mbit("down") - plain.data_mbit("down") == pytest.approx(26)
    assert heavy.acks_mbit("up") - plain.acks_mbit("up") == pytest.approx(0.65)


def test_three_streams_of_iview_need_less_both_ways() -> None:
    plain, light = (demand_of(loading.load(one)) for one in ("hectic", "hectic-iview"))
    assert light.data_mbit("down", "streaming") == pytest.approx(3 * 1.5 + 0.96)
    assert all(light.total_mbit(way) < plain.total_mbit(way) for way in ("down", "up"))


def test_twice_the_patience_halves_what_can_wait() -> None:
    plain, calm = (demand_of(loading.load(one)) for one in ("hectic", "hectic-patient"))
    for way in ("down", "up"):
        assert calm.data_mbit(way, "tolerant") == plain.data_mbit(way, "tolerant") / 2
        assert calm.data_mbit(way, "sensitive") == plain.data_mbit(way, "sensitive")
    assert calm.data_mbit("down", "streaming") == plain.data_mbit("down", "streaming")


@pytest.mark.parametrize(
    ("activity", "down", "up"),
    [  # from Armitage et al., VI-C
        ("iview", 1.5, 0), ("netflix-hd-2016", 5, 0), ("netflix-4k-2016", 25, 0),
        ("stan-1080p", 7.5, 0), ("music", 0.32, 0), ("web-2016", 3, 0), ("download-2016", 5, 0),
        ("upload-2016", 0, 0.5), ("notification-received", 0.2, 0), ("notification-sent", 0, 0.2),
        ("game", 0.1, 0.1), ("audio-call-2016", 0.1, 0.1), ("video-call-2016", 0.5, 0.2),
    ],
)  # fmt: skip
def test_an_activity_needs_what_vi_c_prints(activity, down, up) -> None:
    home = loading.Household(things={"one": [activity]})
    demand = demand_of(home)
    assert (demand.data_mbit("down"), demand.data_mbit("up")) == pytest.approx((down, up))


@pytest.mark.parametrize(
    ("activity", "down", "up"),
    [  # The values in kbit/s come from Boerlage and Collom (2016, Table III).
        ("boerlage-netflix-sd", 3000, 40), ("boerlage-netflix-hd", 5000, 65),
        ("boerlage-web", 1500, 20), ("boerlage-email", 300, 300), ("boerlage-movie", 8000, 105),
        ("boerlage-cloud", 3000, 3000), ("boerlage-updates", 3000, 40),
        ("boerlage-game", 25, 25), ("boerlage-voip", 100, 100),
    ],
)  # fmt: skip
def test_a_service_needs_what_table_iii_prints(activity, down, up) -> None:
    demand = demand_of(loading.Household(things={"one": [activity]}))
    assert demand.total_mbit("down") * 1000 == pytest.approx(down)
    assert demand.total_mbit("up") * 1000 == pytest.approx(up)


@pytest.mark.parametrize(
    ("template", "down", "up"),
    [("low", 7825, 3385), ("moderate", 10825, 3425), ("high", 20825, 3530)],
)
def test_a_template_needs_what_tables_iv_to_vi_print(template, down, up) -> None:
    demand = demand_of(loading.load(f"boerlage2016-{template}"))
    assert demand.total_mbit("down") * 1000 == pytest.approx(down)
    assert demand.total_mbit("up") * 1000 == pytest.approx(up)


def test_table_iiis_rate_of_netflix_in_hd_makes_another_sum_than_table_vis() -> None:
    high = loading.load("boerlage2016-high")
    text = high.to_toml().replace("boerlage-netflix-hd-vi", "boerlage-netflix-hd")
    assert demand_of(loading.Household.from_toml(text)).total_mbit("up") * 1000 == pytest.approx(
        3555
    )
    assert any("3555" in slip for slip in high.slips)


@pytest.mark.parametrize(
    ("number", "printed"),
    [(1, (21, 4)), (2, (19, 7)), (3, (29, 7)), (4, (30, 11)), (5, (53, 11)), (6, (51, 14))],
)
def test_a_demographic_needs_what_iii_c_prints(number, printed) -> None:
    assert demand_of(loading.load(f"boerlage2016-d{number}")).rounded_up() == printed


def test_each_profile_of_telsyte_has_its_number_of_applications() -> None:
    sizes = {"hectic": (12, 19), "suburban": (7, 13), "city": (11, 15), "shared": (8, 12)}
    for name, both in sizes.items():
        for year, size in zip((2016, 2020), both, strict=True):
            assert len(loading.load(f"telsyte-{name}-{year}").uses()) == size, (name, year)


def test_the_command_prints_the_sums_and_the_slips(capsys) -> None:
    assert cli.status_of(["demand", "hectic"]) == 0
    shown = capsys.readouterr().out
    assert all(number in shown for number in ("7.46", "8.80", "16.89", "2.01", "A slip of"))
    assert cli.status_of(["demand", "hectic", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["down"]["total_mbit"] == pytest.approx(16.8925)
    assert len(told["parts"]) == 16
