"""The oracles of the fuzzer, on texts that hypothesis derives from the fuzzer's initial texts."""

import time

import pytest
from aqmlab.base.errors import ScenarioError
from hypothesis import given, settings
from hypothesis import strategies as st

from . import oracles

PIECES = st.sampled_from(
    [
        *(bytes([sign]) for sign in b"\n[]{}=\"',.#\\\x00"),
        *(b"9" * 30, b" " * 2_000, b"[0]" * 500, b"(" * 100, b"-" * 100, b"a." * 70),
        *(b"\xff\xfe", "٣".encode(), b"\x1b[31m", b"print  ", b"nan", b"1e9 h"),
        *(b"vary", b"V_", b"TPCONF_", b"[[x]]\n"),
    ]
) | st.binary(max_size=6)


@settings(max_examples=120, deadline=None)
@given(st.data())
@pytest.mark.parametrize("reader", oracles.READERS)
def test_changed_seeds_are_read_or_refused_in_words_and_soon(reader, data):
    text = data.draw(st.sampled_from(oracles.seeds(reader)))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(PIECES) + text[end:]
    with oracles.bounded():
        oracles.check(reader, text)


def _slow(_):
    started = time.thread_time()
    while time.thread_time() - started < 0.2:
        pass


def _without_a_line(_):
    raise ScenarioError("home.toml", "something is wrong")


def _raw(_):
    raise ScenarioError("home.toml:1", "\x1b[31m")


def _endless(_):
    raise ScenarioError("home.toml:1", "a" * 10_000)


@pytest.mark.parametrize("reader", [_slow, _without_a_line, _raw, _endless])
def test_the_oracle_finds_what_it_looks_for(monkeypatch, reader):
    monkeypatch.setitem(oracles.READERS, "toml", reader)
    monkeypatch.setattr(oracles, "MOST_S", 0.1)
    with pytest.raises(AssertionError):
        oracles.check("toml", b"")
