"""The core's table: a mapping of columns."""

from collections.abc import Mapping

import numpy as np
import pytest
from aqmlab._core import Table

COLUMNS = {
    "word": ["x", "y", "x"],
    "value": np.array([1.5, np.nan, -2.0]),
    "count": np.array([1, 2**31, 2**63 - 1], np.uint64),
    "flag": np.array([True, False, True]),
}


def test_a_table_is_the_mapping_from_which_it_was_made():
    table = Table(COLUMNS)
    assert isinstance(table, Mapping)
    assert list(table) == list(table.keys()) == list(COLUMNS) and len(table) == 4
    assert "word" in table and not any(name in table for name in ("words", "\ud800", 1, None))
    assert table.get("words") is None and table.get(1, 5) == 5
    assert table.keys() & {"flag", "flags"} == {"flag"}
    for (name, values), own in zip(table.items(), table.values(), strict=True):
        assert type(values) is type(COLUMNS[name])
        np.testing.assert_array_equal(values, COLUMNS[name], strict=name != "word")
        np.testing.assert_array_equal(values, own)
        np.testing.assert_array_equal(values, table[name])
        np.testing.assert_array_equal(values, table.get(name))
    for name in ("words", 1):
        with pytest.raises(KeyError, match=str(name)):
            table[name]


def test_signed_integers_become_unsigned():
    assert Table({"n": np.array([0, 2**62])})["n"].dtype == np.uint64


PACKED = np.array([(7, 1.5), (8, 2.5)], dtype=[("byte", "u1"), ("value", "f8")])


@pytest.mark.parametrize(
    "values",
    [
        np.arange(10.0)[::3],
        PACKED["value"],
        np.frombuffer(bytes(range(17)), np.uint8)[1:].view(np.uint64),
        np.frombuffer(b"\0\1\2", bool),
        np.array([], np.uint64),
    ],
    ids=["in steps", "in packed structures", "not aligned", "bytes", "empty"],
)
def test_arrays_of_any_layout_are_read(values):
    read = Table({"x": values})["x"]
    assert read.dtype == values.dtype
    assert read.tolist() == [bool(one) if values.dtype == bool else one for one in values.tolist()]


class Repeated(Mapping):
    """A mapping that states an item twice, and a length that nobody has memory for."""

    def __iter__(self):
        return iter(["a", "a"])

    def __len__(self):
        return 2**62

    def __getitem__(self, name):
        return ["x"]


@pytest.mark.parametrize(
    ("columns", "error", "problem"),
    [
        ({"a": ["x"], "b": []}, ValueError, "column `b` has 0 rows, and column `a` has 1"),
        (Repeated(), ValueError, "there are two columns `a`"),
        ({"a": np.array([3, -1])}, ValueError, "column `a` has an integer below 0"),
        ({"a": np.array([2**63], np.uint64)}, ValueError, "or from 2\\^63 on"),
        ({"a": ["x", 1]}, TypeError, "column `a`: allowed are lists of str, and arrays of float64"),
        ({"a": "text"}, TypeError, "column `a`: allowed are"),
        ({"a": ("x", "y")}, TypeError, "column `a`: allowed are"),
        ({"a": np.zeros((2, 2))}, TypeError, "column `a`: allowed are"),
        ({"a": np.zeros(2, np.float32)}, TypeError, "column `a`: allowed are"),
        ({1: ["x"]}, TypeError, "int"),
    ],
)
def test_other_columns_are_refused(columns, error, problem):
    with pytest.raises(error, match=problem):
        Table(columns)
