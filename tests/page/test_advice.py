"""The page concludes as `aqmlab advise` does from the same runs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aqmlab.advise.bench import Bench
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import TODAY, Tier, gateways, offer
from aqmlab.advise.conclusion import AppWords, Conclusion, Runs, concluded
from aqmlab.households import line as lines
from aqmlab.page.choices import choices
from aqmlab.scenario.model import Scenario

TIERS, SHARE = "nbn", 95
PASTIMES = ["video-meeting", "telephone-call", "game", "music", "web", "messages", "ecg"]
THINGS = ["cloud-backup", "photo-sync", "camera", "smart-home"]


class Home:
    """A random household that a visitor can build on the page."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        pastimes = draw.sample(PASTIMES, draw.randint(2, 4))
        half = len(pastimes) // 2
        self.people = {"Anna": pastimes[:half], "Jonas": pastimes[half:]}
        self.things = draw.sample(THINGS, draw.randint(1, 2))
        self.line = draw.choice(["docsis", "adsl", "gpon"])
        self.tiers = offer(TIERS, None, lines.find(self.line)).tiers
        self.tier = str(draw.choice(self.tiers))
        self.better = draw.choice(["sqm", "sqm-up", "modem-pie", "codel"])

    def fragment(self) -> str:
        """The fragment of a link to the household."""
        people = [f"person={'~'.join([name, *does])}" for name, does in self.people.items()]
        things = [f"thing={does}~1" for does in self.things]
        tier = quote(self.tier.removesuffix(" Mbit/s"), safe="")
        rest = [f"line={self.line}", f"tiers={TIERS}", f"tier={tier}", "rtt=20"]
        return "&".join([*people, *things, *rest, f"better={self.better}~{SHARE}~{SHARE}"])

    def apps(self) -> list[AppWords]:
        """The applications with their users."""
        known = choices()["activities"]
        owned = [(who, one) for who, does in self.people.items() for one in does]
        return [
            AppWords(f"{who.lower()}-{app}" if who else app, who, known[does]["title"])
            for who, does in [*owned, *(("", does) for does in self.things)]
            for app in known[does]["apps"]
        ]

    def concluded(self, toml: str, place: Path) -> Conclusion:
        """The conclusion of `advise` from the page's scenario."""
        better = {TODAY: gateways()[TODAY], "better": gateways()[self.better]}
        setup = Setup(Scenario.from_toml(toml), lines.find(self.line), better)
        cases = [
            GatewayCase(tier, name, SHARE if better[name].shapes else None)
            for tier in self.tiers
            for name in better
        ]
        bench = Bench(setup.whole(cases, 3), "page", cases, place, 1)
        bench.run([(case, bench.seeds) for case in cases])
        outcomes = bench.outcomes(cases, bench.seeds)
        found = {
            name: {case.tier: one for case, one in outcomes.items() if case.gateway == name}
            for name in better
        }
        return concluded(setup, Runs(self.tiers, Tier.parse(self.tier), self.apps(), found))


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 12))]
)
def test_a_random_household_gets_the_sentences_of_advise(
    seed: int, tabs: Any, file_address: str, tmp_path: Path
) -> None:
    home = Home(seed)
    tab = tabs(file_address)
    tab.page.set_default_timeout(300_000)
    tab.open(home.fragment()).idle()
    tab.page.get_by_text("Edit as TOML").click()
    conclusion = home.concluded(tab.page.locator("#toml").input_value(), tmp_path / "runs")
    said = tab.page.locator("#reasons p").all_text_contents()
    assert said == [one.text for one in conclusion.sentences], home.fragment()
    assert tab.text("#headline") == conclusion.headline
    assert len(said) > 2
