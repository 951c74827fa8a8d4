"""Large scenarios are read, or refused with a message, quickly and in little memory."""

import os

import pytest
from aqmlab.base.errors import ScenarioError
from aqmlab.base.unique_names import Names
from aqmlab.planning import planner
from aqmlab.planning.teacup import syntax
from aqmlab.scenario import sweep
from aqmlab.scenario.model import Scenario
from aqmlab.studies import study
from support import changes as changes_of

HOME = """\
[path]
rate = "12/1 Mbit/s"
[apps.up]
kind = "bulk"
"""


def refusal(path, **changes):
    """The message with which a file is refused."""
    with pytest.raises(ScenarioError) as caught:
        changes_of.load(path, **changes)
    return str(caught.value)


def sparse(path):
    """Makes a sparse file of 200 GB."""
    with path.open("wb") as file:
        file.truncate(200 * 10**9)


@pytest.mark.parametrize("suffix", [".toml", ".py"])
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "cannot be read: it is not a regular file"),
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (lambda path: path.mkdir(), "cannot be read: is a directory"),
        (sparse, "larger than 1000000 bytes"),
        (lambda path: path.write_text("# é" * 300_000), "larger than 1000000 bytes"),
        (lambda path: path.write_bytes(b"\xff"), "is not UTF-8 text"),
    ],
)
def test_a_file_is_read_only_if_it_is_one_and_not_beyond_the_limit(tmp_path, suffix, make, problem):
    path = tmp_path / f"home{suffix}"
    make(path)
    assert refusal(path) == f"{path}: {problem}"


def test_the_same_holds_for_what_is_extended_and_included(tmp_path):
    sparse(tmp_path / "base.toml")
    (tmp_path / "home.toml").write_text('extends = "base.toml"\n')
    assert refusal(tmp_path / "home.toml").endswith("base.toml: larger than 1000000 bytes")
    sparse(tmp_path / "base.py")
    (tmp_path / "home.py").write_text("execfile('base.py')\n")
    assert "`base.py`: larger than 1000000 bytes" in refusal(tmp_path / "home.py")
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(ScenarioError, match="it is not a regular file"):
        study._read(tmp_path / "study.toml")


def toml(tmp_path, text):
    """Writes `text` to a file, and returns the file's path."""
    path = tmp_path / "home.toml"
    path.write_text(text)
    return path


RTTS = ", ".join(f'"{number} ms"' for number in range(1000))
LOSSES = ", ".join(f'"0.{number:03d} %"' for number in range(1000))
ENDLESS_SEEDS = ",".join(["1-100000"] * 90_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'seeds = "{ENDLESS_SEEDS}"\n{HOME}',
            "home.toml:1: seeds: `1-100000,1-100000,1-100000,1-100000,1-100000,1-100000,1-100…`"
            " is not between 1 and 100000 seeds",
        ),
        (
            f"seeds = 100000\n{HOME}[vary]\npath.rtt = [{RTTS}]\npath.loss = [{LOSSES}]\n",
            "home.toml:6: vary: 1000 × 1000 × 100000 seeds are 100000000000 trials,"
            " 1000000 at most",
        ),
        (
            f"{HOME}[vary]\npath.rtt = [{RTTS}]\npath.loss = [{LOSSES}]\n",
            "home.toml:5: vary: 1000 × 1000 are 1000000 combinations, 100000 at most",
        ),
        (
            f"{HOME}count = 1000\nstagger = '1 ms'\n[vary]\npath.rtt = [{RTTS}, '1 s']\n",
            "home.toml:7: vary: 1001 combinations of 1000 applications are 1001000 applications,"
            " 1000000 at most",
        ),
        (
            HOME + "".join(f'[apps.a{n}]\nkind = "bulk"\ncount = 1000\n' for n in range(10)),
            "home.toml:3: apps: 10001 applications are too many, 10000 at most",
        ),
        (
            HOME + "[defaults]\nstart = [" + "'1 s', " * 5001 + "]\n[apps.b]\nkind = 'bulk'\n",
            "home.toml:3: apps: 10002 applications are too many, 10000 at most",
        ),
        (
            "".join(f'[apps.a{n}]\nkind = "bulk"\n' for n in range(20_000)),
            "home.toml:1: apps: 20000 applications are too many, 10000 at most",
        ),
        (
            '[[apps]]\nkind = "bulk"\n' * 20_000,
            "home.toml:1: apps: 20000 applications are too many, 10000 at most",
        ),
        (
            HOME + "[vary]\n" + "".join(f"hosts.h{n}.ecn = [true]\n" for n in range(30_000)),
            "home.toml:5: vary: 30000 loops are too many, 100 at most",
        ),
        (
            HOME + "[vary]\na = [{ " + ", ".join(f"apps.a{n} = 'off'" for n in range(1001)) + "}]",
            "home.toml:6: vary.a: a step sets 1001 values, 1000 at most",
        ),
        ("\nx = " + "[" * 50_000 + "]" * 50_000, "home.toml:2: nested deeper than 60"),
        ("\nx = " + "{a=" * 50_000 + "1" + "}" * 50_000, "home.toml:2: nested deeper than 60"),
        ("\nx." + ".".join("a" * 61) + " = 1", "home.toml:2: nested deeper than 60"),
        ("x = {" + " . ".join("a" * 200_000) + " = 1}", "home.toml:1: nested deeper than 60"),
        ('"="' + ".a" * 200_000 + " = 1", "home.toml:1: nested deeper than 60"),
        ("x = [" + ",".join(f"{{ a{'.b' * 70} = 1 }}" for _ in "ab"), "home.toml:1: nested dee"),
    ],
)
def test_too_much_is_refused_before_anything_is_made_of_it(tmp_path, text, message):
    assert refusal(toml(tmp_path, text)).startswith(message)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1;" * 499_999, 1),
        ("\n\na = [" + "1," * 400_000 + "]", 3),
        ("a = f'" + "{1}" * 300_000 + "'", 1),
        ("'#';" + "1;" * 499_000, 1),
        ("a\n" * 100_000 + "b", 100_001),
    ],
)
def test_a_config_with_too_many_words_is_refused_before_it_is_parsed(
    tmp_path, monkeypatch, text, line
):
    monkeypatch.setattr(syntax.ast, "parse", lambda *_, **__: pytest.fail("it was parsed"))
    path = tmp_path / "config.py"
    path.write_text(text)
    assert refusal(path).startswith(f"config.py:{line}: there are more than 100000 words and signs")


def test_brackets_and_dots_in_strings_and_comments_nest_nothing(tmp_path):
    marks = "[{." * 100
    text = (
        f'# {marks}\ntitle = "\\"{marks}" # {marks}\n'
        f'description = """\n{marks}\\""" {marks}"""""\nseeds = \'1\' # {marks}\n'
        f"report.notes = '''\n{marks}'''\n{HOME}"
    )
    assert len(planner.load(toml(tmp_path, text)).trials) == 1


def test_trials_that_want_the_same_name_are_counted_on(tmp_path):
    letters = [chr(ord("一") + number) for number in range(200)]
    steps = ", ".join(
        f'{{ label = "{letter}", path.rtt = "{ms} ms" }}' for ms, letter in enumerate(letters)
    )
    trials = planner.load(toml(tmp_path, f"{HOME}[vary]\nscheme = [{steps}]\n")).trials
    assert [one.id for one in trials[:3]] == [f"scheme=-{n},seed=1" for n in ("", "-2", "-3")]
    assert trials[-1].id == "scheme=--200,seed=1"


def test_many_that_want_the_same_name_take_no_longer_each():
    taken = Names()
    given = [taken.free("a") for _ in range(200_000)]
    assert given[-1] == "a-200000" and len(set(given)) == len(given)
    assert sweep.label_all(["a"] * 100_000 + ["b"])[-2:] == ["a", "b"]


LONG = "a" * 100_000
MANY_DIGITS = "0x" + "f" * 20_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOME.replace("apps.up", f"apps.{LONG}"), "a name is one line of at most 100 characters"),
        (HOME + f"{LONG} = 1\n", "unknown parameter"),
        (HOME + f"[hosts.{LONG}]\n{LONG} = 1\n", "unknown"),
        (HOME + f"[vary]\n{LONG} = [1]\n", "neither the address"),
        (HOME + f"[vary]\npath.{LONG} = [1]\n", "unknown key"),
        (HOME + f"[vary]\napps.{LONG}.x = [1]\n", "unknown application"),
        (HOME + f'home = "{LONG}"\n', "unknown host"),
        (HOME + f'cc = "{LONG}"\n', "unknown parameter"),
        (HOME + f"[[{LONG}]]\n", "unknown key"),
        (f"seeds = {MANY_DIGITS}\n{HOME}", "is not between 1 and 100000 seeds"),
        (f"seeds = [{MANY_DIGITS}]\n{HOME}", "is not between 0 and 9223372036854775807"),
        (f"{HOME}count = {MANY_DIGITS}\n", "is too large for a count"),
        (f"{HOME}start = {MANY_DIGITS}\n", "is not a duration"),
        (f"{HOME}[vary]\npath.rtt = [{MANY_DIGITS}]\n", "is not a duration"),
        (f"{HOME}[vary]\npath.rtt = [{MANY_DIGITS}, {MANY_DIGITS}]\n", "is given twice"),
        (f"title = {MANY_DIGITS}\n{HOME}", "is a number, not text"),
        (f"{HOME}[measure]\npoints = {MANY_DIGITS}\n", "is not at most 1000000"),
        (
            HOME + "".join(f"[hosts.h{n}]\n" for n in range(500)) + '[apps.b]\nkind = "bulk"\n'
            'home = "zzzzz"\n',
            "and 400 more",
        ),
    ],
)
def test_messages_are_not_endless(tmp_path, text, said):
    message = refusal(toml(tmp_path, text))
    assert said in message and len(message) < 1_000 and message.startswith("home.toml:")


def test_links_that_lead_to_each_other_are_refused_with_the_line(tmp_path):
    (tmp_path / "a.toml").symlink_to("b.toml")
    (tmp_path / "b.toml").symlink_to("a.toml")
    message = refusal(toml(tmp_path, 'extends = "a.toml"\n' + HOME))
    assert message.startswith("home.toml:1: extends: `a.toml` is")


@pytest.mark.parametrize("table", ["apps", "hosts", "path", "vary", "measure", "x"])
def test_depth_counts_headers_keys_and_inline_tables_together(tmp_path, table):
    keys = ".".join("a" * 30)
    text = f"{HOME}[{table}.{keys}]\n{keys} = {{{keys} = 1}}\n"
    assert (
        refusal(toml(tmp_path, text))
        == f"home.toml:{len(text.splitlines())}: nested deeper than 60"
    )


def test_values_of_python_are_not_endless_either():
    deep = {}
    for _ in range(3_000):
        deep = {"a": deep}
    home = Scenario(path={"rate": "1/1 Mbit/s"}, apps={"a": {"kind": "ping"}})
    for load in (
        lambda: Scenario.from_dict({"path": {"rate": "1/1 Mbit/s"}, "apps": deep}),
        lambda: Scenario(path={"rate": "1/1 Mbit/s"}, apps=deep),
        lambda: home.but(hosts=deep),
        lambda: home.set("hosts.home", deep),
    ):
        with pytest.raises(ScenarioError, match="nested deeper than 60"):
            load()
