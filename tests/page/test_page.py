"""The page in use in Chromium, from a file and from a static server."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest
from aqmlab.page.choices import choices

from .conftest import SMALL

both = pytest.mark.parametrize("address", ["file", "server"], indirect=True)
"""The page as one file and from a server. A browser loads the two in different ways."""


@both
def test_the_page_opens_with_an_answer(tabs: Any, address: str) -> None:
    tab = tabs(address).open("")
    assert re.match(r"At [\d./]+ Mbit/s, ", tab.text("#headline"))
    assert tab.page.locator("#apps-list li").count() > 4


MOVE_AND_RECORD = """
  window.record = [];
  const move = () => {
    const tier = document.querySelector("#tier");
    tier.value = "4";
    for (const kind of ["input", "change"]) tier.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const Known = window.Worker;
  window.Worker = function (source) {
    const worker = new Known(source);
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message) => {
      if (message.request) {
        const { duration, path } = JSON.parse(JSON.parse(message.request).scenario.json);
        worker.job = [duration === "60 s" ? "minute" : "start"];
        const minute = worker.job[0] === "minute";
        if (minute && !window.record.flat().includes("minute")) setTimeout(move);
        window.record.push(["begins", ...worker.job]);
      }
      post(message);
    };
    const ends = () => worker.job?.length && window.record.push(["ends", ...worker.job.splice(0)]);
    const stop = worker.terminate.bind(worker);
    worker.terminate = () => { ends(); stop(); };
    worker.addEventListener("message", ({ data }) => data.id && ends());
    return worker;
  };
"""
"""Records the begin and end of all trials, and moves the slider when the first minute begins."""


def test_no_trial_of_a_minute_delays_the_first_answer_at_another_tier(
    tabs: Any, file_address: str
) -> None:
    tab = tabs(file_address)
    tab.page.add_init_script(MOVE_AND_RECORD)
    tab.open()
    assert tab.page.locator("#tier").input_value() == "4"
    record = tab.page.evaluate("record")
    starts = [at for at, one in enumerate(record) if one == ["begins", "start"]]
    assert len(starts) == 4, "the start of a minute with two gateways at two tiers"
    for at in starts:
        before = record[:at]
        assert before.count(["begins", "minute"]) == before.count(["ends", "minute"])


def test_every_tier_is_compared_and_concluded_in_sentences(tabs: Any, address: str) -> None:
    tab = tabs(address).open().idle()
    assert tab.page.locator(".ladder .open").count() == 0
    sentences = tab.page.locator("#reasons p.about-tier").all_inner_texts()
    assert len(sentences) == 2
    assert sentences[0].startswith("With today's router, ")


def test_a_household_is_built_by_picking_people_and_things(tabs: Any, address: str) -> None:
    tab = tabs(address).open()
    page = tab.page
    page.get_by_role("button", name="+ Gamer").click()
    group = page.get_by_role("group", name="What Gamer does")
    group.get_by_label("telephone call").check()
    page.get_by_role("button", name="More: a security camera").click()
    tab.shown()
    rows = page.locator("#apps-list h3").all_inner_texts()
    assert {"An online game · Gamer", "A telephone call · Gamer", "A security camera"} <= set(rows)
    page.get_by_role("button", name="Remove Gamer").click()
    tab.shown()
    assert not any("Gamer" in row for row in page.locator("#apps-list h3").all_inner_texts())


def test_a_dragged_tier_moves_the_answer_and_the_link(tabs: Any, address: str) -> None:
    tab = tabs(address).open()
    tiers = choices()["tiers"]["nbn"]["tiers"]
    for place in (0, len(tiers) - 1):
        tab.page.get_by_role("slider", name="Speed").fill(str(place))
        tab.shown()
        assert tiers[place] in tab.text("#headline")
        number = tiers[place].removesuffix(" Mbit/s").replace("/", "%2F")
        assert f"tier={number}" in tab.page.url
        assert tab.page.get_by_role("slider", name="Speed").input_value() == str(place)


def test_verdicts_are_words_and_marks(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    badges = tab.page.locator("#apps-list .badge")
    words = set(badges.all_inner_texts())
    assert words <= {"good", "tolerable", "bad", "no needs", "no data"}
    assert {"good", "bad"} <= words
    assert tab.page.locator("#apps-list .badge svg").count() == badges.count()


def test_the_minute_of_an_application_is_drawn_for_both_gateways(
    tabs: Any, file_address: str
) -> None:
    tab = tabs(file_address).open().idle()  # a later answer would draw the charts again
    tab.page.locator("details.minute summary").first.click()
    charts = tab.page.locator("details.minute[open] .chart")
    charts.nth(2).wait_for()  # the event that draws them follows the click
    assert charts.count() == 3
    for number in range(3):
        assert "Today at most" in charts.nth(number).get_attribute("aria-label")
        assert charts.nth(number).locator("canvas").bounding_box()["width"] > 200


def test_the_queue_plays_pauses_and_is_scrubbed(tabs: Any, address: str) -> None:
    tab = tabs(address).open()
    slider = tab.page.get_by_role("slider", name="Moment")
    play = tab.page.get_by_role("button", name="Play")
    slider.fill("300")
    assert re.match(r"30\.0 s: today .* of waiting", slider.get_attribute("aria-valuetext"))
    play.click()
    tab.page.wait_for_timeout(500)
    tab.page.get_by_role("button", name="Pause").click()
    stopped = int(slider.input_value())
    assert stopped > 300
    tab.page.wait_for_timeout(200)
    assert int(slider.input_value()) == stopped
    tab.page.get_by_role("group", name="Direction").get_by_label("to the home").check()
    assert tab.page.locator("#tank-today").get_attribute("aria-label").startswith("Today: ")


@both
def test_a_shared_link_opens_the_same_household(tabs: Any, address: str) -> None:
    first = tabs(address).open()
    first.page.get_by_role("button", name="+ Student").click()
    first.page.get_by_role("button", name="More: a security camera").click()
    first.page.get_by_label("Kind of line").select_option("vdsl")
    first.page.get_by_label("What manages the queue").nth(1).select_option("pie")
    first.page.get_by_role("slider", name="Shaped up").fill("88")
    first.shown()
    first.idle()
    link = first.page.locator("#link").input_value()
    second = tabs(address)
    second.page.goto(link)
    second.idle()
    assert second.page.locator("#link").input_value() == link
    for part in ("#line", "#tier-choice", "#headline", "#reasons", "#apps-list", "#ladder"):
        assert second.text(part) == first.text(part)


def test_the_settings_of_today_and_of_the_better_gateway_count(tabs: Any, address: str) -> None:
    tab = tabs(address).open(f"{SMALL}&today=sqm~95~95&better=sqm~95~95").idle()
    cells = tab.page.locator(".ladder td").all_inner_texts()
    assert len(cells) == 10
    assert cells[::2] == cells[1::2]
    words = r"(all \d+ good|\d+\s(good|tolerable|bad)(, \d+\s(tolerable|bad))*)"
    assert all(re.fullmatch(words, cell.strip()) for cell in cells), cells
    other = tabs(address).open(f"{SMALL}&today=today&better=sqm~95~95").idle()
    cells = other.page.locator(".ladder td").all_inner_texts()
    assert cells[::2] != cells[1::2]


def test_edited_toml_runs_and_a_wrong_one_is_answered_with_a_sentence(
    tabs: Any, file_address: str
) -> None:
    tab = tabs(file_address).open()
    tab.page.get_by_text("Edit as TOML").click()
    box = tab.page.get_by_label("Scenario", exact=True)
    before = tab.text("#digest")
    box.fill(box.input_value().replace('rtt = "20 ms"', 'rtt = "35 ms"'))
    tab.page.get_by_role("button", name="Run this text").click()
    tab.idle()
    assert re.fullmatch("[0-9a-f]{16}", tab.text("#digest"))
    assert tab.text("#digest") != before
    assert tab.page.locator("#ran li").count() == 3
    box.fill('[path]\nrate = "fast"')
    tab.page.get_by_role("button", name="Run this text").click()
    tab.idle()
    assert "The text cannot be run." in tab.text("#notices")


@both
def test_an_edited_text_is_in_the_link_and_runs_where_the_link_opens(
    tabs: Any, address: str
) -> None:
    first = tabs(address).open()
    first.page.get_by_text("Edit as TOML").click()
    box = first.page.get_by_label("Scenario", exact=True)
    text = box.input_value().replace('rtt = "20 ms"', 'rtt = "35 ms" # “ä” & ~\n')
    box.fill(text)
    link = first.page.locator("#link").input_value()
    assert link == first.page.url
    first.page.get_by_role("button", name="Run this text").click()
    first.page.locator("#ran li").first.wait_for()
    second = tabs(address)
    second.page.goto(link)
    second.page.get_by_text("Edit as TOML").click()
    second.page.locator("#ran li").first.wait_for()
    assert second.page.locator("#toml").input_value() == text
    assert re.fullmatch("[0-9a-f]{16}", first.text("#digest"))
    assert second.text("#digest") == first.text("#digest")
    assert second.page.locator("#ran li").count() == 3
    assert second.text("#notices") == ""
    second.page.get_by_role("button", name="Discard changes").click()
    assert "toml=" not in second.page.url
    assert second.page.locator("#toml").input_value() != text


def test_a_text_too_long_for_a_link_says_so(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    tab.page.get_by_text("Edit as TOML").click()
    tab.page.get_by_label("Scenario", exact=True).fill("#" * 12_001)
    assert "too long for a link" in tab.text("#check-view")
    assert "toml=" not in tab.page.url


def test_a_stated_tolerance_of_an_activity_is_judged(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open("person=Anna~ecg&tiers=nbn&tier=12/1")
    tab.page.get_by_text("Edit as TOML").click()
    assert 'tolerances = { anna-ecg = "300 ms" }' in tab.page.locator("#toml").input_value()
    assert "round trips" in tab.text("#apps-list")


def test_the_page_says_that_it_does_not_search_for_a_share(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(f"{SMALL}&better=sqm~95~95")
    told = "aqmlab advise tries 98 %, 95 % and 90 % of the line"
    assert told in " ".join(tab.text("#line").split())
    tab.page.get_by_label("What manages the queue").nth(1).select_option("modem-pie")
    assert "advise" not in tab.text("#line")


def test_the_keyboard_alone_suffices(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    keyboard = tab.page.keyboard
    keyboard.press("Tab")
    assert _focused(tab) == "Skip to the answer"
    tab.page.get_by_role("slider", name="Speed").focus()
    before = tab.text("#headline")
    keyboard.press("End")
    tab.shown()
    assert tab.text("#headline") != before
    assert _focused_id(tab) == "tier"
    tab.page.get_by_role("button", name="More: an upload of single photos").focus()
    keyboard.press("Enter")
    tab.shown()
    assert tab.page.get_by_label("an upload of single photos: 1").count() == 1
    assert _focused(tab) == "+"  # the focus stays
    tab.page.locator("#moment").focus()
    keyboard.press("Home")  # the queue opens at its worst moment, which may be the last
    tab.page.locator("#play").focus()
    keyboard.press("Space")
    assert tab.text("#play") == "Pause"
    keyboard.press("Space")
    assert tab.text("#play") == "Play"


def test_every_control_is_reached_by_tab(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    reached = set()
    for _ in range(150):
        tab.page.keyboard.press("Tab")
        reached.add(_focused_id(tab))
    wanted = {"preset", "tier", "line-kind", "rtt", "today-kind", "better-kind", "play", "moment"}
    assert wanted <= reached


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_at_any_width(scheme: str, tabs: Any, file_address: str) -> None:
    tab = tabs(file_address, color_scheme=scheme).open()
    tab.page.locator("details.minute summary").first.click()
    tab.page.get_by_text("Edit as TOML").click()
    for width in (1280, 768, 360):
        tab.page.set_viewport_size({"width": width, "height": 800})
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_axe_finds_no_violation(scheme: str, width: int, tabs: Any, file_address: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # The rules are evaluated in the page, whose policy would block axe's own script.
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    tab = tabs(file_address, bypass_csp=True, **options).open()
    tab.page.get_by_role("button", name="+ Student").click()
    tab.page.locator("details.minute summary").first.click()
    tab.page.get_by_text("Edit as TOML").click()
    tab.shown()
    found = axe.Axe().run(tab.page)
    assert found.violations_count == 0, found.generate_report()


def test_the_page_is_one_file_below_two_megabytes(built: Any) -> None:
    assert (built / "page.html").stat().st_size < 2_000_000


def test_no_script_parses_text_as_markup() -> None:
    assets = resources.files("aqmlab.page") / "assets"
    scripts = [one for one in assets.iterdir() if one.name.endswith(".js")]
    assert len(scripts) > 10
    parsing = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert [one.name for one in scripts if re.search(parsing, one.read_text("utf-8"))] == []


def test_settings_to_paste_have_the_rates_of_the_tier(tabs: Any, file_address: str) -> None:
    link = "person=Anna~game&thing=cloud-backup~1&tiers=nbn&tier=50/20&better=sqm~90~80"
    tab = tabs(file_address).open(link)
    assert "download 45 Mbit/s, upload 16 Mbit/s" in tab.text("#do-view ol")
    tab.page.get_by_text("Commands for OpenWrt").click()
    assert "sqm.wan.download='45000'" in tab.text("#do-view pre")
    assert "sqm.wan.upload='16000'" in tab.text("#do-view pre")
    tab.page.get_by_role("group", name="System").get_by_label("Linux").check()
    assert "htb rate 16000kbit" in tab.text("#do-view pre")
    tab.page.get_by_label("What manages the queue").nth(1).select_option("modem-pie")
    assert "nothing to set" in tab.shown().text("#do-view")


def test_nothing_is_to_do_where_the_present_router_is_enough(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open("person=Anna~telephone-call&tiers=nbn&tier=50/20")
    assert "Mbit/s, everything is good with the router that you have." in tab.text("#headline")
    assert tab.text("#do-view") == "Nothing. What you have is enough at 50/20 Mbit/s."


def test_numbers_of_the_answer_are_details(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open().idle()
    assert "opinion score" not in tab.text("#reasons") + tab.text("#headline")
    tab.page.get_by_text("In detail").click()
    assert "opinion score" in tab.text("#reasons")


def test_a_narrow_screen_shows_the_answer_first(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address, viewport={"width": 360, "height": 800}).open()
    tops = [tab.page.locator(one).bounding_box()["y"] for one in ("#headline", "#home", "#ladder")]
    assert tops == sorted(tops)


def _focused(tab: Any) -> str:
    return str(tab.page.evaluate("document.activeElement.innerText"))


def _focused_id(tab: Any) -> str:
    return str(tab.page.evaluate("document.activeElement.id"))
