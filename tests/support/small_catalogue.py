"""Fixtures that replace the simulator's catalogue by a small catalogue."""

import pytest
from aqmlab.engines import core_check
from aqmlab.scenario import catalogue

from . import fake_catalogue, fake_teacup


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch):
    """Replaces the simulator's catalogue by the small one, and omits the checks of the core."""
    small = catalogue.Catalogue(fake_catalogue.RAW)
    monkeypatch.setattr(core_check, "refusal", lambda _: None)
    monkeypatch.setattr(catalogue, "load", lambda: small)
    return small


@pytest.fixture
def teacup_catalogue(monkeypatch):
    """Replaces the catalogue by the kinds to which TEACUP's words refer."""
    kinds = catalogue.Catalogue(fake_teacup.RAW)
    monkeypatch.setattr(catalogue, "load", lambda: kinds)
