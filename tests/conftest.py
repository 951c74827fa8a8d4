"""The fixtures that tests of all folders share."""

import pytest
from support.campaigns import home_results as home_results
from support.processes import dask as dask


@pytest.fixture(autouse=True)
def plain_width(monkeypatch):
    """Gives tables their default width, because a test runner may set COLUMNS."""
    monkeypatch.delenv("COLUMNS", raising=False)
