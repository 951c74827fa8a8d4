"""The line of each key in TOML texts."""

import tomllib

from aqmlab.scenario import toml_positions, toml_writer
from hypothesis import given
from hypothesis import strategies as st

TEXT = '''# a comment with [brackets] = and "quotes"
title = "x # not a comment"
text = """
[not.a.table]
a = 1
"""
[path]
"down".rate = '1 "Mbit/s'  # after
list = [
    1,  # one
    { a = 1, b = [2,
      3] },
]
[[apps]]
name = "a"
[[apps]]
name = "b"
[apps.home]
cc = "c"
'''


def test_every_key_has_its_line():
    lines = toml_positions.lines(TEXT)
    for path, line in {
        ("title",): 2,
        ("text",): 3,
        ("path",): 7,
        ("path", "down", "rate"): 8,
        ("path", "list", 0): 10,
        ("path", "list", 1, "b"): 11,
        ("path", "list", 1, "b", 1): 12,
        ("apps", 0, "name"): 15,
        ("apps", 1, "name"): 17,
        ("apps", 1, "home", "cc"): 19,
    }.items():
        assert lines[path] == line, path
    assert ("a",) not in lines


def paths(value, above=()):
    """Yields every path into a nested value."""
    members = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    for key, member in members:
        yield (*above, key)
        yield from paths(member, (*above, key))


SCALARS = st.one_of(st.text(), st.integers(-(2**63), 2**63 - 1), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_written_reads_back_and_every_key_is_found(table):
    text = toml_writer.write(table)
    assert tomllib.loads(text) == table
    found = toml_positions.lines(text)
    assert set(paths(table)) <= set(found)
