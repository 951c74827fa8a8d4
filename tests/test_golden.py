"""The optimised module gives the same digests as the tests of the core."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aqmlab import _core

FOLDER = Path(__file__).parent / "golden"
DIGESTS = json.loads((FOLDER / "digests.json").read_text())


@pytest.mark.parametrize("name", DIGESTS)
def test_a_golden_trial_has_its_digest(name: str) -> None:
    spec = (FOLDER / f"{name}.json").read_text()
    assert _core.run(spec)["digest"] == DIGESTS[name]
