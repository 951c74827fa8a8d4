"""A visitor's own home, speed and names."""

from __future__ import annotations

import re
from typing import Any

import pytest
from aqmlab.households.line import lines
from aqmlab.scenario.model import Scenario
from aqmlab.scenario.quantities import Rate

from .conftest import SMALL

LINK = "person=Anna~telephone-call&tiers=nbn&tier=12%2F1&rtt=20"


def _scenario(tab: Any) -> Scenario:
    return Scenario.from_toml(tab.page.locator("#toml").input_value())


def test_an_own_speed_is_simulated_and_shared(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(LINK)
    tab.page.get_by_label("down", exact=True).fill("37.5")
    tab.page.get_by_label("down", exact=True).press("Enter")
    tab.page.get_by_label("up", exact=True).fill("4")
    tab.page.get_by_label("up", exact=True).press("Enter")
    tab.shown()
    assert tab.text("#headline").startswith("At 37.5/4 Mbit/s, ")
    assert "own=37.5%2F4" in tab.page.url and "tier=37.5%2F4" in tab.page.url
    rows = tab.page.locator(".ladder tbody th").all_inner_texts()
    assert rows == ["12/1", "25/5", "25/10", "37.5/4", "50/20", "100/40"]
    second = tabs(file_address)
    second.page.goto(tab.page.url)
    second.shown()
    assert second.page.get_by_label("up", exact=True).input_value() == "4"
    assert second.page.get_by_role("slider", name="Speed").input_value() == "3"
    assert second.text("#headline").startswith("At 37.5/4 Mbit/s, ")


@pytest.mark.parametrize("kind", sorted(lines()))
def test_the_queue_of_an_own_speed_is_that_of_the_line(
    kind: str, tabs: Any, file_address: str
) -> None:
    tab = tabs(file_address)
    tab.page.goto(
        f"{file_address}#{LINK}&line={kind}&own=17.77%2F0.3".replace("12%2F1", "17.77%2F0.3")
    )
    path = tab.shown() and _scenario(tab).path
    for way, rate in (("down", "17.77 Mbit/s"), ("up", "300 kbit/s")):
        wanted = lines()[kind].fifo(way, Rate.parse(rate))
        made = Scenario.from_dict(
            {
                "path": {"rate": "95 %", "modem": {"rate": rate, "qdisc": wanted}},
                "apps": {"call": {"kind": "voip"}},
            }
        )
        assert getattr(path.modem, way).qdisc == getattr(made.path.modem, way).qdisc


def test_a_line_offers_only_the_speeds_that_it_carries(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(LINK.replace("12%2F1", "100%2F40"))
    tab.page.get_by_label("Kind of line").select_option("adsl")
    tab.shown()
    rows = tab.page.locator(".ladder tbody th").all_inner_texts()
    assert rows == ["12/1"]
    assert lines()["adsl"].limit in tab.text("#tier-choice")
    tab.page.get_by_label("down", exact=True).fill("30")
    tab.page.get_by_label("down", exact=True).press("Enter")
    assert tab.text("#notices").startswith(lines()["adsl"].limit)
    assert tab.page.get_by_label("down", exact=True).input_value() == "12"
    tab.page.get_by_label("Speeds on sale").select_option("us")
    tab.shown()
    assert tab.page.locator(".ladder tbody th").all_inner_texts() == ["24/3.3"]
    tab.page.get_by_label("Kind of line").select_option("docsis")
    assert lines()["adsl"].limit not in tab.text("#tier-choice")


@pytest.mark.parametrize("speed", ["0", "-3", "5000", ""])
def test_a_speed_out_of_bounds_is_refused(speed: str, tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(LINK)
    tab.page.get_by_label("down", exact=True).fill(speed)
    tab.page.get_by_label("down", exact=True).press("Enter")
    assert tab.text("#notices").startswith("A speed is between 0.1 and 1000 Mbit/s here.")
    assert tab.page.get_by_label("down", exact=True).input_value() == "12"
    assert "own=" not in tab.page.url


def test_your_own_begins_with_an_empty_home(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open("")
    tab.page.get_by_label("Start from").select_option("")
    assert tab.page.locator("#home .person").count() == 0
    assert tab.page.locator("#home .thing.on").count() == 0
    assert tab.text("#headline") == "Nobody is at home. Add somebody, or a thing."
    assert "Nobody is at home yet." in tab.text("#home")
    assert tab.text("#reasons") == tab.text("#estimate") == ""
    second = tabs(file_address)
    second.page.goto(tab.page.url)
    assert second.text("#headline") == "Nobody is at home. Add somebody, or a thing."
    assert second.text("#notices") == ""


def test_people_of_one_name_have_numbers(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(LINK)
    for _ in range(3):
        tab.page.get_by_role("button", name="+ Gamer").click()
    names = [box.input_value() for box in tab.page.locator("#home input.name").all()]
    assert names == ["Anna", "Gamer", "Gamer 2", "Gamer 3"]
    tab.page.get_by_label("Name of person 4").fill("Anna")
    tab.page.get_by_label("Name of person 4").press("Enter")
    assert tab.page.get_by_label("Name of person 4").input_value() == "Anna 2"
    tab.shown()
    assert "Anna 2" in tab.text("#apps-list")


def test_the_speaker_has_activities_of_my_own(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(SMALL.replace("Anna", "Me")).idle()
    told = tab.text("#headline") + tab.text("#reasons")
    assert re.search(r"\bmy (online game|telephone call)", told, re.IGNORECASE), told
    assert "Me's" not in told


def test_the_first_headline_is_called_an_estimate(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address)
    tab.page.add_init_script(
        """new MutationObserver(() => {
          const said = document.getElementById("estimate")?.textContent;
          const head = document.getElementById("headline")?.className;
          (globalThis.seen ??= []).push(`${document.body?.dataset.shown} ${head}: ${said}`);
        }).observe(document, { subtree: true, childList: true, attributes: true });"""
    )
    tab.open(SMALL)
    seen = tab.page.evaluate("globalThis.seen")
    early = [one for one in seen if one.startswith("quick ") and "open" not in one]
    assert any("First estimate. The whole minute is still being simulated." in one for one in early)
    assert tab.text("#estimate") == ""


def test_the_queue_opens_at_its_worst_moment(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open().idle()
    slider = tab.page.get_by_role("slider", name="Moment")
    waits = []
    opened = slider.get_attribute("aria-valuetext")
    for place in range(0, int(slider.get_attribute("max")) + 1, 5):
        slider.fill(str(place))
        waits.append(_ms(slider.get_attribute("aria-valuetext")))
    assert _ms(opened) >= max(waits) > 0


def _ms(said: str) -> float:
    """Today's wait in milliseconds, read from a text; 0 if the text states none."""
    found = re.search(r"today ([\d.]+) (ms|s) of", said)
    return float(found[1]) * (1000 if found[2] == "s" else 1) if found else 0.0


def test_a_file_says_that_its_link_works_here_only(tabs: Any, address: str) -> None:
    tab = tabs(address).open(LINK)
    told = "the link works only on this computer" in tab.text("#check-view")
    assert told == address.startswith("file:")


def test_the_list_of_distances_has_the_home_s_own(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(LINK.replace("rtt=20", "rtt=100"))
    distance = tab.page.locator("#rtt")
    assert distance.input_value() == "100"
    assert distance.locator("option").all_inner_texts()[3:] == ["100 ms away", "overseas (150 ms)"]
    tab.page.locator("#preset").select_option("telehealth")
    assert distance.input_value() == "40" and "rtt=40" in tab.shown().page.url
    assert _scenario(tab).path.rtt.ns == 40_000_000


def test_the_least_share_of_a_link_is_the_least_of_the_slider(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(f"{LINK}&better=pie~50~60")
    assert [tab.page.locator(f"#better-{way}").input_value() for way in ("down", "up")] == [
        "50",
        "60",
    ]
