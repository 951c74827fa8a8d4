"""The text of a trial does not change, because it is part of the campaign's key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
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
