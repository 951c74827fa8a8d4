"""What holds for every test."""

import pytest


@pytest.fixture(autouse=True)
def plain_width(monkeypatch):
    """Tables are as wide as they are by default: a runner of tests may say COLUMNS=80."""
    monkeypatch.delenv("COLUMNS", raising=False)
