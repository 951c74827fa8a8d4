"""Every test here runs against the small catalogue, unless it asks for the real one."""

import pytest
from aqmlab import catalogue

from . import fake_catalogue


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch):
    """Puts the small catalogue in place of the simulator's."""
    small = catalogue.Catalogue(fake_catalogue.RAW)
    monkeypatch.setattr(catalogue, "load", lambda: small)
    return small
