"""Rows, notices and steps for visitors without knowledge of networks."""

from __future__ import annotations

import re
from typing import Any

from aqmlab.households.line import lines

from .conftest import SMALL

BOTH_WAYS = (
    "person=Anna~telephone-call~game~film-hd&person=Ben~messages&line=vdsl"
    "&tiers=nbn&tier=12%2F1&rtt=20"
)
"""A household with applications in both directions."""


def test_a_row_states_each_direction(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(BOTH_WAYS)
    game = tab.text("#apps-list li:has-text('An online game')")
    assert len(re.findall(r"\d+ kbit/s up, \d+ kbit/s down, 95 %", game)) == 2
    assert "80 kbit/s each way" in tab.text("#apps-list li:has-text('A telephone call')")
    film = tab.text("#apps-list li:has-text('A film in HD')")
    assert re.search(r"^[\d.]+ Mbit/s, 95 %", film, re.MULTILINE)
    rows = tab.page.locator("#apps-list h3").all_inner_texts()
    both = {f"Messaging with pictures, {way} · Ben" for way in ("received", "sent")}
    assert both <= set(rows)


def test_a_chart_shows_the_rate_of_each_direction(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(BOTH_WAYS).idle()  # a later answer would draw the charts again
    for name, titles in {
        "An online game": ["Rate to the internet", "Rate to the home", "Round-trip time"],
        "A film in HD": ["Rate to the home", "Round-trip time"],
    }.items():
        row = tab.page.locator("#apps-list li", has_text=name)
        row.locator("summary").click()
        row.locator("figure").nth(len(titles) - 1).wait_for()
        assert row.locator("figcaption").all_inner_texts() == titles


def test_a_notice_is_visible_beside_the_control_that_causes_it(
    tabs: Any, file_address: str
) -> None:
    tab = tabs(file_address).open()
    page = tab.page
    page.locator("summary:text('Edit as TOML')").click()
    sound = page.locator("#toml").input_value()
    page.locator("#toml").fill(sound.replace('"voip"', '"voipp"'))
    page.get_by_role("button", name="Run this text").click()
    notice = page.locator(".notice")
    notice.wait_for()
    assert "voipp" in notice.inner_text()
    box = notice.bounding_box()
    assert 0 <= box["y"] < page.viewport_size["height"] / 2
    page.locator("#toml").fill(sound.replace("60 s", "6 s"))
    page.get_by_role("button", name="Run this text").click()
    page.locator("#ran li").first.wait_for()
    assert notice.count() == 0


def test_an_album_fills_the_uplink_and_single_photos_do_not(tabs: Any, file_address: str) -> None:
    home = SMALL.replace("cloud-backup", "photo-album").replace("12%2F1", "50%2F20")
    tab = tabs(file_address).open(home)
    row = tab.page.locator("#apps-list li", has_text="An upload of a photo album")
    assert "gets its part of the line" in row.inner_text()
    tab.page.get_by_role("button", name="Less: an upload of a photo album").click()
    tab.page.get_by_role("button", name="More: an upload of single photos").click()
    tab.shown()
    row = tab.page.locator("#apps-list li", has_text="An upload of single photos")
    assert "each photo is sent in time" in row.inner_text()


def test_the_steps_name_the_device_and_the_measured_speed(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(SMALL + "&line=vdsl")
    steps = tab.text("#do-view")
    assert "note the speeds and the delay" in steps
    assert "If the test measures less than 12/1 Mbit/s" in steps
    tab.page.locator("summary:text('Commands for')").click()
    device = lines()["vdsl"].device
    for system, name in {"uci": device.linux, "dnctl": device.bsd}.items():
        tab.page.locator(f"input[name=system][value={system}]").check()
        assert f"such as {name}. Yours" in tab.text("#do-view")


def test_the_queue_stays_at_the_end_of_the_minute(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    tab.page.locator("#moment").focus()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("ArrowLeft")
    tab.page.locator("#play").click()
    tab.page.locator("#play:text('Play')").wait_for()
    end = tab.page.locator("#moment").get_attribute("max")
    assert tab.page.locator("#moment").input_value() == end
