"""Measures how soon the page answers after it is opened, and after its slider has moved.

Prints medians of wall-clock times. The first is the time from the start of the navigation to an
answer for both gateways. There is one more time for each tier of the page's list. It is the time
from the move of the slider to this tier until both gateways have an answer. The browser gets one
core by default, to represent a slow machine. Other programs on the machine lengthen the times.

    python bench/page.py [--cores N] [--rounds N]

Needs `make page`, Chromium and playwright. The status is 3 if any of these is missing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from aqmlab.base.failures import RequestError
from aqmlab.page.builder import one_file
from aqmlab.page.choices import choices

try:
    from playwright import sync_api as playwright
except ImportError:
    playwright = None

SKIPPED = 3
"""The exit status without a measurement, as in `tools/soak.py`."""

# Whether both gateways have an answer at the tier, even if only from the first simulated seconds.
ANSWERED = """(tier) => {
  const headline = document.getElementById("headline");
  return ["quick", "whole"].includes(document.body.dataset.shown) &&
    headline.textContent.startsWith(tier ? `At ${tier},` : "At ");
}"""
FIRST = f"""() => new Promise((done) => {{
  const answered = {ANSWERED};
  const look = () => answered("") ? done(performance.now()) : requestAnimationFrame(look);
  look();
}})"""
MOVED = f"""([place, tier]) => new Promise((done) => {{
  const answered = {ANSWERED};
  const [slider, start] = [document.getElementById("tier"), performance.now()];
  slider.value = String(place);
  slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
  const look = () => answered(tier) ? done(performance.now() - start) : requestAnimationFrame(look);
  requestAnimationFrame(look);
}})"""


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cores", type=int, default=1, help="cores for the browser")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions, each in a fresh page")
    return parser.parse_args()


def round_of(browser: Any, address: str, places: list[int], tiers: list[str]) -> list[float]:
    """The milliseconds to the first answer, and to the answer at each tier.

    `places` are the indices of the tiers in the order in which the slider moves to them.
    """
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(address, wait_until="commit")
    page.wait_for_selector("#headline", state="attached")
    first = page.evaluate(FIRST)
    moved = {place: page.evaluate(MOVED, [place, tiers[place]]) for place in places}
    context.close()
    return [first, *(moved[place] for place in sorted(moved))]


def main() -> int:
    """Prints the measurements, or the reason why there are none."""
    given = arguments()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        text = one_file()
    except RequestError as missing:
        print(f"the page is not measured: {missing}")
        return SKIPPED
    if chromium is None or playwright is None:
        print("the page is not measured: no Chromium or no playwright is installed")
        return SKIPPED
    known = choices()
    tiers = known["tiers"][known["firstTiers"]]["tiers"]
    if hasattr(os, "sched_setaffinity"):  # The browser inherits the affinity of this process.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as driver:
        file = Path(folder) / "page.html"
        file.write_bytes(text)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        # The slider starts at the tier of the first household, so every move is a change.
        own = next(iter(known["households"].values()))["tier"]
        order = sorted(range(len(tiers)), key=lambda place: tiers[place] == own)
        rounds = [
            round_of(browser, file.as_uri(), order, tiers) for _ in range(max(given.rounds, 1))
        ]
        browser.close()
    print(f"median of {len(rounds)} rounds, {given.cores} core(s) for the browser")
    for name, times in zip(["first answer", *tiers], zip(*rounds, strict=True), strict=True):
        print(f"  {name:>16}  {median(times):7.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
