"""The page models lines and gateways as `aqmlab advise` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aqmlab.advise.cases import GatewayCase, Setup
from aqmlab.advise.choices import Tier, gateways
from aqmlab.households import line as lines
from aqmlab.page.choices import choices
from aqmlab.planning import planner
from aqmlab.scenario.model import Scenario


@pytest.mark.parametrize(("line", "tier"), [("docsis", "50/20 Mbit/s"), ("adsl", "12/1 Mbit/s")])
def test_each_gateway_has_the_links_of_its_case_of_advise(
    line: str, tier: str, tabs: Any, file_address: str, tmp_path: Path
) -> None:
    speed = quote(tier.removesuffix(" Mbit/s"), safe="")
    tab = tabs(file_address).open(f"thing=smart-home~1&line={line}&tiers=nbn&tier={speed}&rtt=20")
    tab.page.get_by_text("Edit as TOML").click()
    tab.page.get_by_role("group", name="Scenario of").get_by_label("the better router").check()
    for name in choices()["gateways"]:
        tab.page.get_by_label("What manages the queue").nth(1).select_option(name)
        tab.shown()
        text = tab.page.locator("#toml").input_value()
        setup = Setup(Scenario.from_toml(text), lines.find(line), gateways())
        share = 95 if setup.gateways[name].shapes else None
        case = setup.whole([GatewayCase(Tier.parse(tier), name, share)], 1)
        assert _links(text, tmp_path) == _links(case.to_toml(), tmp_path), name


def _links(text: str, place: Path) -> object:
    """The links of the first trial of a scenario."""
    file = place / "home.toml"
    file.write_text(text, "utf-8")
    (trial, *_) = planner.load(file, sets=[], seeds=1, duration=None).trials
    return trial.spec.links
