"""Malformed links give messages, no blank page, and no markup from the link."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

MARKUP = '<img src=x onerror="document.title=1">'


SOUND = (
    "person=Anna~video-meeting~web&thing=camera~2&line=docsis&tier=12%2F1&rtt=20&better=pie~90~95"
)


def _links() -> list[str]:
    """Malformed fragments: fixed texts, long texts, and damaged copies of a valid link."""
    listed = (Path(__file__).parent / "malformed_links.txt").read_text("utf-8").splitlines()
    long = [
        "x" * 5000,
        "x" * 200_000,
        "toml=" + "x" * 12_001,
        "person=" + "%F0%9F%92%A9" * 400,
        "person=" + "~".join(["fly"] * 50),
    ]
    made = [*listed, *long, "&".join(f"person=P{n}~game" for n in range(40))]
    draw = random.Random(1)
    while len(made) < 110:
        at, kind = draw.randrange(len(SOUND)), draw.randrange(3)
        junk = draw.choice(["~", "&", "=", "%", "<", "\u202e", "9", "x"])
        made.append(SOUND[:at] + ("" if kind == 0 else junk) + SOUND[at + (kind < 2) :])
    return made


FOLLOW = """async (links) => {
  const byId = (id) => document.getElementById(id);
  const seen = [];
  for (const link of links) {
    byId("notices").replaceChildren();
    // The page handles this event before the test does.
    const changed = new Promise((done) => addEventListener("hashchange", done, { once: true }));
    location.hash = link;
    await changed;
    seen.push({
      link,
      title: document.title,
      home: byId("home").innerText,
      notices: byId("notices").innerText,
      images: document.querySelectorAll("#people img, #notices img, #home img").length,
    });
  }
  return seen;
}"""
"""Opens links one after another in a page, and returns what the page shows for each.

Each link follows at once, so the page has not yet written the home of the link before to the
address. That must not replace the new link.
"""


def test_a_malformed_link_gives_a_page_and_a_sentence(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    silent = []
    for seen in tab.page.evaluate(FOLLOW, _links()):
        link = seen["link"]
        assert len(seen["home"]) > 100, link
        assert seen["images"] == 0, link
        assert seen["title"] == "A faster line or a better router?"
        if not seen["notices"].startswith("The link"):
            silent.append(link)
    # A damaged link can be a valid link with other content.
    assert len(silent) < 3, silent
    tab.shown()
    assert tab.page.locator("#apps-list li").count() > 0


LINE = '[path]\nrate = "1/1 Mbit/s"\n'
CALL = '[apps]\na = {kind = "voip"}\n'
TEXTS = [
    "", "x", "= 1", "[", "[path", "\x00", "\ud83d", 'a = "\\u0000"', "a = 1979-05-27", "a = nan",
    "a = " + "[" * 20_000, "a.b." * 20_000 + "c = 1", 'duration = "60 s"', LINE,
    '[path]\nrate = "fast"', f'duration = "1e9 h"\n{LINE}{CALL}',
    f'[path]\nrate = "0/0 Mbit/s"\n{CALL}', f'[path]\nrate = "95 %"\n{CALL}',
    f'{LINE}qdisc = "fq_codel limit=-1"\n{CALL}', f'{LINE}[vary]\npath.rtt = ["1 ms"]\n{CALL}',
    LINE + '[apps]\na = {kind = "worm"}', LINE + '[apps]\na = {kind = "voip", count = 100000}',
    LINE + '[apps]\na = {kind = "voip", start = "-1 s"}',
    f'[path]\nrate = "{MARKUP}"\n[apps]\na = 1',
]  # fmt: skip


def test_a_text_that_is_no_scenario_gives_a_sentence(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open()
    tab.page.get_by_text("Edit as TOML").click()
    for text in TEXTS:
        tab.page.get_by_role("button", name="Discard changes").click()
        tab.page.evaluate("() => document.getElementById('notices').replaceChildren()")
        tab.page.locator("#toml").evaluate(
            "(box, text) => { box.value = text; box.dispatchEvent(new Event('input')); }", text
        )
        tab.page.get_by_role("button", name="Run this text").click()
        notice = tab.page.locator("#notices p")
        notice.wait_for()
        assert notice.inner_text().startswith("The text cannot be run. "), text[:80]
        assert tab.page.locator("#apps-list li").count() == 3
    assert tab.page.locator("img").count() == 0


def test_a_name_in_a_link_is_text(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open(f"person={quote(MARKUP)}~game")
    assert tab.page.locator("#home input.name").input_value() == "img srcx onerrordocument"
    assert tab.page.locator("img").count() == 0
    assert tab.page.title() == "A faster line or a better router?"


def test_a_home_in_which_nobody_does_anything_says_so(tabs: Any, file_address: str) -> None:
    tab = tabs(file_address).open("person=Anna~game")
    tab.page.get_by_role("button", name="Remove Anna").click()
    assert tab.text("#headline") == "Nobody is at home. Add somebody, or a thing."
