"""Properties of every reader: in limited time, it reads a text or refuses it with a message."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from aqmlab.base.errors import ScenarioError
from aqmlab.planning import planner, teacup
from aqmlab.planning.combinations import Engines
from aqmlab.scenario import merge
from aqmlab.scenario.loading import Found

MOST_BYTES = 20_000
MOST_S = 5.0
"""The maximum processor time for a text of `MOST_BYTES`. A typical text takes milliseconds."""

_MOST_TRIALS = 20
"""The maximum number of planned trials. Each trial may cost a check by the simulator."""

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]


def toml(text: str) -> None:
    """Plans the scenario `text`."""
    layer = merge.from_toml(text, "home.toml")
    layer.data.pop("extends", None)
    asked = planner._Requested((), (), None, None, Engines(("sim",), build=False))
    planner._from_layer(Found(layer, "home", "home.toml", text), asked)


def config(text: str) -> None:
    """Plans the TEACUP config `text`."""
    teacup.read(text, "c.py")


READERS: dict[str, Callable[[str], None]] = {"toml": toml, "config": config}
SEEDS = {
    "toml": ("examples/*.toml", "python/aqmlab/scenario/builtin/[!b]*.toml"),
    "config": ("tests/planning/data/*.py", "examples/teacup/*.py"),
}
_PLACES = {"toml": re.compile(r"home\.toml:\d+"), "config": re.compile(r"c\.py")}


def seeds(reader: str) -> list[bytes]:
    """The texts from which the fuzzer of a reader starts."""
    paths = [path for pattern in SEEDS[reader] for path in sorted(ROOT.glob(pattern))]
    return [path.read_bytes() for path in paths]


def words(reader: str) -> list[str]:
    """The words of the initial texts, from which other texts are made."""
    found = re.findall(rb"[A-Za-z_][A-Za-z0-9_.-]{2,30}", b" ".join(seeds(reader)))
    return sorted({word.decode() for word in found})


@contextmanager
def bounded() -> Iterator[None]:
    """Limits the numbers of planned trials and applications, so that each input is quick."""
    with (
        mock.patch("aqmlab.scenario.sweep._MOST_COMBINATIONS", _MOST_TRIALS),
        mock.patch("aqmlab.scenario.sweep.MOST_TRIALS", _MOST_TRIALS),
        mock.patch("aqmlab.planning.teacup.experiments._MOST", _MOST_TRIALS),
        mock.patch("aqmlab.scenario.merge.MOST_APPS", 200),
    ):
        yield


def check(reader: str, data: bytes) -> None:
    """Raises `AssertionError` if `reader` breaks a property.

    Errors of the reader other than `ScenarioError` are raised unchanged.
    """
    text = data[:MOST_BYTES].decode("utf-8", "replace")
    before_s = time.thread_time()
    try:
        READERS[reader](text)
    except ScenarioError as error:
        said = str(error)
        assert _PLACES[reader].match(said), f"without file and line: {said}"
        assert len(said) < 8_000, f"endless: {said[:200]}"
        assert "\x1b" not in said, f"raw: {said!r}"
    took_s = time.thread_time() - before_s
    assert took_s < MOST_S, f"took {took_s:.1f} s"
