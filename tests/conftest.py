"""Fixtures and options of every test."""

import pytest
from support.campaigns import home_results as home_results
from support.processes import dask as dask


@pytest.fixture(autouse=True)
def plain_width(monkeypatch):
    """Tables are as wide as they are by default: a runner of tests may say COLUMNS=80."""
    monkeypatch.delenv("COLUMNS", raising=False)
