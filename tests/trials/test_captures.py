"""The captures of a random trial agree with its tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import captures, scenarios

CHUNK = 10
QUICK = range(0, 80, CHUNK)
SOAK = range(1_000, 2_000, 50)


def differing(numbers: range, folder: Path) -> list[str]:
    """Differences between captures and tables of these random scenarios."""
    return [
        f"scenario {number}: {text}"
        for number in numbers
        for text in captures.violations(
            captures.capture(scenarios.specs(scenarios.table(number))[0], folder)
        )
    ]


@pytest.mark.parametrize("first", QUICK)
def test_captures_agree_with_the_table_of_flows(first: int, tmp_path: Path) -> None:
    assert differing(range(first, first + CHUNK), tmp_path) == []


@pytest.mark.soak
@pytest.mark.parametrize("first", SOAK)
def test_a_thousand_captures_agree_with_the_table_of_flows(first: int, tmp_path: Path) -> None:
    assert differing(range(first, first + 50), tmp_path) == []
