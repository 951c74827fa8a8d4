"""The examples in docstrings give the stated results."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import aqmlab
import pytest

MODULES = [
    found.name
    for found in pkgutil.walk_packages(aqmlab.__path__, "aqmlab.")
    if not found.name.endswith(("__main__", "._core"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0, f"python -m doctest -v shows why in {name}"
