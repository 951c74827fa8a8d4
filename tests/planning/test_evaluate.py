"""The reader of TEACUP configs reads or skips statements, and executes nothing."""

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.planning.teacup.evaluate import Evaluator
from hypothesis import given, settings
from hypothesis import strategies as st


def read(text, folder=None, **overrides):
    """The evaluator after it read `text`."""
    evaluator = Evaluator("c.py", folder, overrides)
    evaluator.read(text)
    return evaluator


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 1 + 2 * 3 - 4", 3),
        ("x = 7 / 2", 3),  # Python 2 rounds down
        ("x = 7 / 2.0", 3.5),
        ("x = 7 % 4 // 2", 1),
        ("x = 'a' 'b' + \"c\"", "abc"),
        ("x = [1] + [2] * 2", [1, 2, 2]),
        ("x = [1, 2]\nx += [3]\nx.append(4)\nx.extend([5])", [1, 2, 3, 4, 5]),
        ("a, b = 1, 2\nx = {'k': (a, b)}['k'][1]", 2),
        ("x = range(3)", [0, 1, 2]),
        ("x = [n * 2 for n in xrange(5) if n % 2]", [2, 6]),
        ("x = {k: v for k, v in zip(['a'], [1])}", {"a": 1}),
        ("x = 0\nfor n in range(4):\n    x += n", 6),
        ("x = 1\nif len([1, 2]) == 2 and not False:\n    x = 2\nelse:\n    x = 3", 2),
        ("x = '%s_%03d' % ('a', 7)", "a_007"),
        ("x = '{0}-{b}'.format(1, b='c')", "1-c"),
        ("x = f'{1 + 1}!'", "2!"),
        ("x = ','.join(map(str, [1, 2]))", "1,2"),
        ("x = 'abc'[1:]", "bc"),
        ("d = {}\nd['a'] = 1\nx = d", {"a": 1}),
        (
            "import datetime\nnow = datetime.datetime.today()\nx = now.strftime('%Y%m%d')",
            "20000101",
        ),
        ("print 'hello', 1\nprint\nx = 1", 1),
        ("x = 'a\nb'", "a b"),
        ("if 1:\n\tx = 5", 5),
        ("x = 1 if 2 in [1, 2] else 0", 1),
    ],
)
def test_what_is_read(text, value):
    assert read(text).names["x"] == value


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("def f():\n    return 1", "c.py:1: passed over: `def` is not read"),
        ("\nclass A: pass", "c.py:2: passed over: `class` is not read"),
        ("while True: pass", "c.py:1: passed over: `while` is not read"),
        ("x = open('/etc/passwd')", "c.py:1: passed over: `open()` is not called"),
        ("import subprocess", "c.py:1: passed over: nothing of the module `subprocess` is read"),
        ("import os\nos.system('x')", "c.py:2: passed over: `os.system()` is not called"),
        ("x = __import__('os')", "c.py:1: passed over: `__import__()` is not called"),
        ("x = (1).__class__", "c.py:1: passed over: `.__class__` is not read"),
        ("x = '{0.__class__}'.format(1)", "c.py:1: passed over: this format is not read"),
        ("x = '%99999d' % 1", "c.py:1: passed over: this format is not read"),
        ("x = lambda: 1", "c.py:1: passed over: `lambda` is not read"),
        ("x = 2 ** 99", "c.py:1: passed over: `pow` of these values is not read"),
        ("x = 'a' * 10000000", "c.py:1: passed over: too long"),
        ("x = range(10 ** 9)", "c.py:1: passed over: `pow` of these values is not read"),
        ("x = range(1000000000)", "c.py:1: passed over: this range is not read"),
        ("x = y", "c.py:1: passed over: `y` is not defined"),
        ("x = 1 / 0", "c.py:1: passed over: ZeroDivisionError: integer division or modulo by zero"),
        ("x = [1][7]", "c.py:1: passed over: IndexError: list index out of range"),
        (
            "import os\nif os.environ: x = 1",
            "c.py:2: passed over: the value of this condition is unknown",
        ),
        ("execfile('../x.py')", "c.py:1: passed over: `../x.py` cannot be included"),
    ],
)
def test_what_is_passed_over(text, warning):
    evaluator = read(text)
    assert evaluator.warnings == [warning]
    assert "x" not in evaluator.names


def test_only_neighbours_are_included(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path.parent / "b.py").write_text("y = 1\n")
    (tmp_path / "link.py").symlink_to(tmp_path.parent / "b.py")
    evaluator = read(
        "execfile('a.py')\nexecfile('./a.py')\n"
        "execfile('../b.py')\nexecfile('link.py')\nexecfile('/etc/passwd')\nexecfile('.')",
        folder=tmp_path,
    )
    assert evaluator.names["x"] == 1
    assert "y" not in evaluator.names
    assert [warning.split(":")[1] for warning in evaluator.warnings] == ["3", "4", "5", "6"]


def test_files_that_include_themselves_end(tmp_path):
    (tmp_path / "c.py").write_text("execfile('c.py')\n")
    with pytest.raises(ScenarioError, match="too many files include each other"):
        read("execfile('c.py')", folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nx = (", "c.py:2: this is not Python: '(' was never closed"),
        ("x = 'a", "c.py:1: this is not Python: unterminated string literal (detected at line 1)"),
        ("x = 1\n  y = 2", "c.py:2: this is not Python: unexpected indent"),
        ("(" * 200, "c.py:1: nested deeper than 80"),
        ("x = " + "-" * 100_000 + "1", "c.py:1: nested deeper than 80"),
        ("x = 1\n" * 300_000, "c.py: larger than 1000000 characters"),
        (
            "for a in range(1000):\n  for b in range(1000):\n    x = b",
            "c.py:3: more than 200000 steps to read this config",
        ),
    ],
)
def test_what_ends_the_reading(text, message):
    with pytest.raises(ScenarioError) as caught:
        read(text)
    assert str(caught.value) == message


MUCH = "x = 'a' * 99000\n"
MANY = "x = range(99999)\n"
NESTED = "a = (1,)\n" + "a = (a, a)\n" * 70


@pytest.mark.parametrize(
    "text",
    [
        MUCH + "y = [x + str(i) for i in range(60000)]",
        MUCH + "y = []\nfor i in range(90000): y.append(x * 1 + 'b')",
        MUCH + "y = {}\nfor i in range(60000): y.update({i: 'a' * 90000 + str(i)})",
        MUCH + "y = [list(x) for i in range(60000)]",
        MUCH + "y = [x.replace('a', 'b') for i in range(60000)]",
        MUCH + "y = ''\nfor i in range(60000):\n  y = ''\n  y += x",
        "y = [('%999d' * 90) % ((1,) * 90) for i in range(30000)]",
        MANY + "y = [enumerate(x) for i in range(60000)]",
        MANY + "y = [x[1:] for i in range(60000)]",
        MANY + f"y = zip({', '.join('x' * 200)})",
        MANY + "y = [-1 in x for i in range(60000)]",
        MANY + "y = [sum(x) for i in range(60000)]",
        MANY + "y = [x.count(i) for i in range(60000)]",
        MANY + "for i in range(60000): x.insert(0, x.pop())",
        MUCH + "y = ','.join([x] * 30000)",
        MUCH + "z = x[1:] + 'a'\ny = z in [x] * 90000",
    ],
)
def test_all_that_is_made_and_looked_through_together_is_bounded(text):
    with pytest.raises(ScenarioError, match=r"c\.py:\d: more than 100 MB to read this config"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        MUCH + f"y = f'{'{x}' * 9000}'",
        MUCH + "y = ('{0}' * 30000).format(x)",
        MUCH + "y = ('%s' * 30000) % ((x,) * 30000)",
        NESTED + "b = {}\nb[a] = 1\ny = b",
        NESTED + "y = {}[a]",
        NESTED + "y = a in {}",
        NESTED + "y = dict([(a, 1)])",
        NESTED + "y = {}.get(a)",
        NESTED + "y = [1].index(a)",
        NESTED + "y = {a: 1}",
        NESTED + "y = execfile(a)",
        MANY + "y = {tuple(x): 1}",
        "y = int('9' * 99999)",
    ],
)
def test_what_would_take_for_ever_is_passed_over(text):
    evaluator = read(text)
    assert evaluator.names.get("y", {}) == {}
    assert len(evaluator.warnings) == 1 and len(evaluator.warnings[0]) < 200


def test_nothing_is_rounded_for_ever():
    evaluator = read("x = round(5, -1000000000)\ny = round(2.5, 1000000000)\nz = round(1.25, 1)")
    assert [evaluator.names[name] for name in "xyz"] == [0, 2.5, 1.2]


def test_the_formats_of_configs_are_read():
    evaluator = read("x = '%s_%-5d|%.3f%%' % ('a' * 500, 7, 1.0)\ny = '{:>5}{a}'.format(1, a='b')")
    assert evaluator.names["x"] == "a" * 500 + "_7    |1.000%"
    assert evaluator.names["y"] == "    1b"


def test_null_bytes_are_refused():
    with pytest.raises(ScenarioError, match="null bytes"):
        read("x = 1\0")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch {0}')",
        "x = __import__('os').system('touch {0}')",
        "import os\nx = os.popen('touch {0}').read()",
        "from os import system\nsystem('touch {0}')",
        "exec \"open('{0}', 'w')\"",
        "exec(\"open('{0}', 'w')\")",
        "eval(\"open('{0}', 'w')\")",
        "x = [c for c in ().__class__.__base__.__subclasses__()]\nopen('{0}', 'w')",
        "x = getattr(__builtins__, 'open')('{0}', 'w')",
        "with open('{0}', 'w') as f: pass",
        "@open('{0}', 'w')\ndef f(): pass",
        "x = '{{0.__init__.__globals__}}'.format(print)\nopen('{0}', 'w')",
        "x = (lambda: open('{0}', 'w'))()",
        "import sys\nsys.path.append('/tmp')\nsys.modules['os'].system('touch {0}')",
    ],
)
def test_nothing_is_executed(tmp_path, text):
    target = tmp_path / "made"
    evaluator = Evaluator("c.py", None, {})
    try:
        evaluator.read(text.format(target))
    except ScenarioError:
        pass
    else:
        assert evaluator.warnings
    assert not target.exists()


def test_lists_that_hold_themselves_are_harmless():
    doubling = "a = [1]\n" + "a = [a, a]\n" * 200
    evaluator = read(
        doubling + "b = str(a)\nc = '%s' % a\nd = a == a\ne = [1]\ne.append(e)\nf = e + e"
    )
    assert not {"b", "c", "d"} & set(evaluator.names)
    assert len(evaluator.names["f"]) == 4


NAMES = st.sampled_from(["a", "b", "TPCONF_x", "str", "env", "now", "range", "round", "dict"])
EXPRESSIONS = st.recursive(
    st.one_of(
        st.integers(-(10**18), 10**18).map(repr),
        st.text(max_size=8).map(repr),
        NAMES,
        st.sampled_from(["[]", "{}", "()", "True", "None", "1.5", "__import__('os')"]),
    ),
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "/", "%", "//", "**", "==", "<", "in", "and", "or"]),
            inner,
        ).map(" ".join),
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.tuples(inner, inner).map(lambda pair: f"{{{pair[0]}: {pair[1]}}}"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]})[{pair[1]}]"),
        st.tuples(NAMES, st.lists(inner, max_size=2)).map(
            lambda pair: f"{pair[0]}({', '.join(pair[1])})"
        ),
        st.tuples(
            inner,
            st.sampled_from(
                ["append", "extend", "join", "format", "index", "keys", "pop", "update", "zfill"]
            ),
            inner,
        ).map(lambda parts: f"({parts[0]}).{parts[1]}({parts[2]})"),
        inner.map(lambda part: f"[a for a in {part}]"),
        inner.map(lambda part: f"-({part})"),
    ),
    max_leaves=8,
)
STATEMENTS = st.one_of(
    st.tuples(NAMES, st.sampled_from(["=", "+=", "*="]), EXPRESSIONS).map(" ".join),
    EXPRESSIONS,
    st.tuples(NAMES, EXPRESSIONS).map(lambda pair: f"for {pair[0]} in {pair[1]}: {pair[0]}"),
    EXPRESSIONS.map(lambda test: f"if {test}: a = 1"),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(STATEMENTS, max_size=8).map("\n".join))
def test_any_statements_are_read_passed_over_or_refused(text):
    evaluator = Evaluator("c.py", None, {})
    try:
        evaluator.read(text)
    except ScenarioError as error:
        assert error.where.startswith("c.py")
    assert all(warning.startswith("c.py:") for warning in evaluator.warnings)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        Evaluator("c.py", None, {}).read(text)
    except ScenarioError as error:
        assert error.where.startswith("c.py")


@pytest.mark.parametrize("text", ["x = 1e400", "x = 1e300 * 1e300", "x = float('nan')"])
def test_a_number_without_bounds_is_passed_over(text):
    # The manifest of a campaign is JSON, which has no notation for such a number.
    evaluator = read(text)
    assert "x" not in evaluator.names
    assert evaluator.warnings == ["c.py:1: passed over: too large a number"]


def test_what_is_too_much_for_the_parser_is_said_in_words():
    with pytest.raises(ScenarioError, match="nested too deeply"):
        read("if 0: pass\n" + "elif 0: pass\n" * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "x" + "[0]" * 900 + " += 1",
        "y = x" + "[0]" * 5_000,
        "y = x" + ".a" * 3_000,
        "y = x" + "()" * 3_000,
        "y = 1" + "+1" * 5_000,
        "if 0:\n x=1\n" + "elif 0:\n x=1\n" * 2_000,
    ],
)
def test_what_is_nested_too_deeply_is_refused_with_a_line(text):
    with pytest.raises(ScenarioError, match=r"^c\.py:\d+: nested too deeply$") as caught:
        Evaluator("c.py", None, {}).read(f"x = [1]\n{text}\n")
    assert not caught.value.where.endswith(":1")
