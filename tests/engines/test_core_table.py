"""The core's table: a mapping of columns."""

from collections.abc import Mapping

import numpy as np
import pytest
from aqmlab._core import Table

COLUMNS = {
    "word": ["x", "y", "x"],
    "value": np.array([1.5, np.nan, -2.0]),
    "count": np.array([1, 2, 2**63], np.uint64),
    "flag": np.array([True, False, True]),
}


def test_a_table_is_the_mapping_from_which_it_was_made():
    table = Table(COLUMNS)
    assert isinstance(table, Mapping)
    assert list(table) == list(table.keys()) == list(COLUMNS) and len(table) == 4
    assert "word" in table and "words" not in table
    assert table.get("words") is None and table.get("words", 5) == 5
    for (name, values), own in zip(table.items(), table.values(), strict=True):
        assert type(values) is type(COLUMNS[name])
        np.testing.assert_array_equal(values, COLUMNS[name], strict=name != "word")
        np.testing.assert_array_equal(values, own)
        np.testing.assert_array_equal(values, table[name])
        np.testing.assert_array_equal(values, table.get(name))
    with pytest.raises(KeyError, match="words"):
        table["words"]


def test_signed_integers_become_unsigned():
    assert Table({"n": np.array([0, 2**62])})["n"].dtype == np.uint64


def test_columns_in_steps_of_an_array_are_read():
    np.testing.assert_array_equal(Table({"x": np.arange(10.0)[::3]})["x"], [0, 3, 6, 9])


@pytest.mark.parametrize(
    ("columns", "error", "problem"),
    [
        ({"a": ["x"], "b": []}, ValueError, "column `b` has 0 rows, and column `a` has 1"),
        ({"a": np.array([3, -1])}, ValueError, "column `a` has a negative integer"),
        ({"a": ["x", 1]}, TypeError, "column `a`: allowed are lists of str, and arrays of float64"),
        ({"a": "text"}, TypeError, "column `a`: allowed are"),
        ({"a": np.zeros((2, 2))}, TypeError, "column `a`: allowed are"),
        ({"a": np.zeros(2, np.float32)}, TypeError, "column `a`: allowed are"),
        ({1: ["x"]}, TypeError, "int"),
    ],
)
def test_other_columns_are_refused(columns, error, problem):
    with pytest.raises(error, match=problem):
        Table(columns)
