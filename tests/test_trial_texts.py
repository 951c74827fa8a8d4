"""The text of a trial does not change, because it is part of the campaign's key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aqmlab.planning import planner
from aqmlab.planning.overrides import Variation
from aqmlab.planning.plan import condition_digest
from support import texts

DIGESTS = json.loads((Path(__file__).with_name("trial_texts.json")).read_text())
SOURCES = texts.sources()


def test_every_source_has_a_digest() -> None:
    """A new study may lack one: it has no recorded campaigns, and `make golden` adds it later."""
    assert set(DIGESTS) <= set(SOURCES)
    missing = {name.partition("/")[0] for name in set(SOURCES) - set(DIGESTS)}
    recorded = {name.partition("/")[0] for name in DIGESTS}
    assert missing <= {path.name for path in texts.PAPERS.iterdir()} - recorded


@pytest.mark.parametrize("name", DIGESTS)
def test_trials_of_a_source_have_the_texts_of_before(name: str) -> None:
    assert texts.digest(SOURCES[name]) == DIGESTS[name], "`make golden` if the scenario has changed"


def test_trials_that_differ_only_in_their_seed_share_everything_else() -> None:
    plan = planner.load("rrul", vary=[Variation("path.rtt", ("20 ms", "40 ms"))], seeds="7-9")
    for one in plan.trials:
        assert one.text == one.spec.text(), one.id
        assert one.condition_digest == condition_digest(one.spec), one.id
    conditions = {tuple(one.texts.values()) for one in plan.trials}
    assert len({one.condition_digest for one in plan.trials}) == len(conditions) == 2
    assert [one.seed for one in plan.trials[:3]] == [7, 8, 9]
