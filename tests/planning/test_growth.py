"""The time to read a text does not grow with the square of its length.

A reader gets two texts, of which the second is eight times as long. Linear time grows eightfold,
and quadratic time grows 64-fold. Only the ratio of the CPU times counts, so the speed of the
machine does not matter.
"""

import contextlib
import time

import pytest
from aqmlab.base.errors import BadValueError, ScenarioError
from aqmlab.planning import teacup
from aqmlab.planning.teacup import syntax
from aqmlab.planning.teacup.evaluate import Evaluator
from aqmlab.scenario import merge, notation
from aqmlab.scenario.quantities import Duration, Rate

from .test_teacup_small import SMALL

LENGTH, TIMES, MOST = 4_000, 8, 30
CLOCK_S = 0.01
"""Shorter times count as this time, because the clock and caches dominate them."""

HOME = 'path.rate = "1/1 Mbit/s"\napps.a.kind = "ping"\n'


def taken(read, text):
    """The minimum processor time of three readings in seconds, but at least `CLOCK_S`.

    A reading that takes more than 5 s is the last.
    """
    times = []
    for _ in range(3):
        before = time.thread_time()
        with contextlib.suppress(ScenarioError, BadValueError):
            read(text)
        times.append(time.thread_time() - before)
        if times[-1] > 5:
            break
    return max(min(times), CLOCK_S)


def toml(text):
    """Reads a TOML text into a layer, without the later steps of loading."""
    merge.from_toml(HOME + text, "home.toml")


def config(text):
    """Reads the statements of a config."""
    Evaluator("c.py", None, {}).read(text)


def whole_config(text):
    """Reads a config and plans its trials."""
    teacup.read(SMALL.replace("MORE", "").replace("QUEUE", text), "c.py")


def unknown_names(length):
    """Plans a config with many unknown names."""
    teacup.read(lines("TPCONF_a{0} = 1\n")(length) + SMALL.replace("MORE", ""), "c.py")


def lines(form):
    """Returns a function that makes a text of `length // 8` lines of `form`, for any `length`."""
    return lambda length: "".join(form.format(n) for n in range(length // 8))


CASES = {
    "print": (syntax.from_python_2, lambda n: "print" + " " * n),
    "print a": (syntax.from_python_2, lambda n: "print" + " " * n + "x\\"),
    "print tab": (syntax.from_python_2, lambda n: ("print" + "\t" * (n // 10) + "(") * 10),
    "print lines": (config, lines("print 'a' \n")),
    "brackets": (config, lambda n: "x = " + "( " * (n // 2)),
    "brackets and blanks": (config, lambda n: ("x = [" * 70 + " " * (n // 4)) * 4),
    "nots": (config, lambda n: "x = " + ("not " * 70 + " " * (n // 8) + "\n") * 8),
    "names": (config, lines("a{0} = {0}\n")),
    "warnings": (config, lines("f{0}()\n")),
    "quotes": (config, lambda n: "x = " + "'" * n),
    "unknown names": (unknown_names, lambda n: n),
    "rate": (whole_config, lambda n: "rate=" * (n // 5)),
    "rate blanks": (whole_config, lambda n: "rate" + " " * n),
    "words": (whole_config, lambda n: "queue_disc_params='" + "a " * (n // 2) + "'"),
    "toml blanks": (toml, lambda n: "x = 1" + " " * n + "y"),
    "toml keys": (toml, lines("[apps.a{0}]\nkind = 'ping'\n")),
    "toml params": (toml, lines("[apps.a{0}.params]\nkind = 'ping'\n")),
    "toml array": (toml, lambda n: "x = [" + "1," * n + "]"),
    "toml tables": (toml, lines("[[x]]\na = 1\n")),
    "toml vary": (toml, lambda n: "[vary]\ns = [" + "{label = 1, path.rtt = 2}," * (n // 8) + "]"),
    "toml quotes": (toml, lambda n: "x = '" + "'\"" * n),
    "toml equals": (toml, lambda n: "=" * n),
    "rates": (notation.rate_pair, lambda n: "1" + " " * n + "x"),
    "rates 2": (notation.rate_pair, lambda n: "1 Mbit/s" + " " * n + "/" + " " * n + "x"),
    "shares": (notation.rate_pair, lambda n: "1" + "/1" * n + " %"),
    "kind": (notation.kind_table, lambda n: "pfifo " + " ".join(f"a{i}=1" for i in range(n))),
    "duration": (Duration.parse, lambda n: "1" * n + " ms"),
    "duration blanks": (Duration.parse, lambda n: "1" + " " * n + "ms"),
    "rate text": (Rate.parse, lambda n: "1.1" + " " * n + "/" + "1" * n),
}  # fmt: skip


@pytest.mark.usefixtures("teacup_catalogue")
@pytest.mark.parametrize("name", CASES)
def test_a_text_eight_times_as_long_does_not_take_thirty_times_as_long(name):
    read, text = CASES[name]
    short, long = text(LENGTH), text(LENGTH * TIMES)
    assert taken(read, long) / taken(read, short) < MOST
