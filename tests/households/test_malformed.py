"""Malformed households, words, tiers and gateways give a message and status 2, no traceback."""

import pytest
from aqmlab import cli

GOOD = '[people.anna.devices]\nnotebook = ["game"]\n'

FILES = (
    "", "x", "[people", "people = 3", "people = []", "people = 'anna'", "people = {}",
    "[people.anna]", "[people.anna]\ndevices = 3", "[people.anna]\ndevices = []",
    "[people.anna.devices]", "[people.anna.devices]\nnotebook = []",
    "[people.anna.devices]\nnotebook = 3", "[people.anna.devices]\nnotebook = [3]",
    "[people.anna.devices]\nnotebook = [[]]", "[people.anna.devices]\nnotebook = ['gamming']",
    "[people.anna.devices]\nnotebook = ['']", "[people.anna.devices]\nnotebook = [{}]",
    "[people.anna.devices]\nnotebook = [{does = 3}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', count = 0}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', count = 101}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', count = 'x'}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', count = 1.5}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', start = 'soon'}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', start = '3'}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', start = []}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', start = ['1 s', '2 s'], count = 2}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', stop = '0 s'}]",
    "[people.anna.devices]\nnotebook = [{does = 'game', speed = 'x'}]",
    "[people.anna]\nabout = 3\ndevices = {n = ['game']}",
    "[people.anna]\nage = 3\ndevices = {n = ['game']}",
    "[people.'']\ndevices = {n = ['game']}", "[people.'\\u0007']\ndevices = {n = ['game']}",
    f"[people.{'a' * 50}]\ndevices = {{n = ['game']}}",
    "things = 3", "things = ['game']", "[things]", "[things]\ndoor = 'doorbel'",
    "[things]\n'' = 'camera'", "[things]\ndoor = {does = 'camera', count = -1}",
    "line = 'docsi'\n" + GOOD, "line = 3\n" + GOOD, "line = []\n" + GOOD,
    "tier = '50'\n" + GOOD, "tier = 50\n" + GOOD, "tier = '50/20'\n" + GOOD,
    "tier = '50/20 MB/s'\n" + GOOD, "tier = '0/1 Mbit/s'\n" + GOOD, "tier = '90 %'\n" + GOOD,
    "tier = '1/2/3 Mbit/s'\n" + GOOD, "tier = ''\n" + GOOD, "tier = 'fast'\n" + GOOD,
    "rtt = '20'\n" + GOOD, "rtt = 'x'\n" + GOOD, "rtt = -1\n" + GOOD, "rtt = []\n" + GOOD,
    "duration = '0 s'\n" + GOOD, "duration = 'long'\n" + GOOD, "duration = 60\n" + GOOD,
    "seeds = 0\n" + GOOD, "seeds = 'x'\n" + GOOD, "seeds = 1.5\n" + GOOD, "seeds = []\n" + GOOD,
    "ack_share = 'x'\n" + GOOD, "ack_share = '1/0'\n" + GOOD, "ack_share = 2\n" + GOOD,
    "patience = 0\n" + GOOD, "patience = -1\n" + GOOD, "patience = 'x'\n" + GOOD,
    "patience = inf\n" + GOOD, "patience = nan\n" + GOOD, "slips = 3\n" + GOOD,
    "slips = [3]\n" + GOOD, "title = 3\n" + GOOD, "titel = 'x'\n" + GOOD, "source = []\n" + GOOD,
    "scenario = 'boerlage'\n" + GOOD, "scenario = 3\n" + GOOD, "extends = 'hectik'\n" + GOOD,
    "extends = 3\n" + GOOD, "extends = '../hectic'\n" + GOOD, GOOD + "[path]\nrate = '1 Mbit/s'",
    GOOD + "[apps.x]\nkind = 'bulk'", GOOD + "[people.anna.devices]\n", GOOD + "notebook = ['x']",
    "extends = 'hectic'\n[people]\nparent-1 = 'of'", "extends = 'hectic'\n[things]\nradio = 'x'",
    "[people.a.devices]\nx = ['game'" + ", 'game'" * 600 + "]",
    "\n".join(f"[people.p{n}.devices]\nx = ['game']" for n in range(60)),
    "a" + " = {a" * 70 + "}" * 70, GOOD + "\x00", "seeds = 9999999999999999999999\n" + GOOD,
)  # fmt: skip

WORDS = (
    "", " ", ",", ",,;", "two", "two adults", "adults", "adults in", "one dog barking",
    "0 kids gaming", "99 kids gaming", "-1 kids gaming", "kids gamming", "4k flim", "kids, gaming?",
    "two adults in meetings one teenager gaming", "kids gaming (loudly)", "kids = gaming",
    "99 cameras", "0 cameras", "a b c d", "äöü", "kids gaming\x07", "game " * 1000, "<script>",
    "21 kids gaming", "51 kids gaming, 20 kids gaming", "kids gaming or films", "%s", "{}", "\\",
)  # fmt: skip

TIERS = (
    "", "nb", "25", "25 Mbit/s", "25/5 MB/s", "0/0 Mbit/s", "25/5 Mbit/s,25/5 Mbit/s",
    "25/5/1 Mbit/s", "90/10 %", "1/1 kbit/s", "25/5 Mbit/s,fast", "absent.toml", "99999/1 Gbit/s",
    "a/b Mbit/s",
)  # fmt: skip

TIER_FILES = (
    "", "x", "tiers = 3", "tiers = 'x'", "tiers = []", "tiers = [3]", "tiers = ['25']",
    "tier = ['25/5 Mbit/s']", "tiers = ['25/5 Mbit/s', '25/5 Mbit/s']",
    "tiers = ['25/5 Mbit/s']\nx = 1", "tiers = {a = 1}", "tiers = [[]]", "tiers = ['1/1 bit/s']",
)  # fmt: skip

GATEWAYS = ("", ",", "sqn", "today", "sqm,sqn", "absent.toml", "fq_codel", "sqm;pie")

GATEWAY_FILES = (
    "", "x", "a = 3", "[a]", "[a]\ntitle = 3", "[a]\ntitle = ''", "[a]\ntitle = 'x'\nup = 3",
    "[a]\ntitle = 'x'\nup = {}", "[a]\ntitle = 'x'\nup = {qdisc = 'fq_code'}",
    "[a]\ntitle = 'x'\nup = {qdisc = 'pie', at = 'moon'}",
    "[a]\ntitle = 'x'\nup = {qdisc = 'pie limit=x'}", "[a]\ntitle = 'x'\nleft = 'x'",
    "[today]\ntitle = 'x'",
)  # fmt: skip

OPTIONS = (
    ("--line", ""), ("--line", "docsi"), ("--line", "own"), ("--seeds", "0"), ("--seeds", "x"),
    ("--seeds", ""), ("--seeds", "1.5"), ("--jobs", "0"),
)  # fmt: skip


def _refused(words, capsys) -> None:
    assert cli.status_of(words) == 2, words
    shown = capsys.readouterr()
    assert shown.out == ""
    error = shown.err
    assert error.startswith("error: ") and len(error) < 2_500, error
    assert "Traceback" not in error and "a bug" not in error, error
    assert "nput should be a" not in error and "tuple" not in error, error  # words of Python
    assert len(error.splitlines()[0]) > len("error: "), error


@pytest.mark.parametrize("text", FILES)
def test_a_malformed_household_is_a_sentence(text, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home.toml").write_text(text)
    _refused(["demand", "home.toml"], capsys)


@pytest.mark.parametrize("words", WORDS)
def test_unknown_words_are_a_sentence(words, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(["new", "--", words], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "option",
    [("--tier", "50"), ("--tier", ""), ("--tier", "fast"), ("--line", "dsl"), ("--line", "")],
)
def test_a_wrong_option_of_new_is_a_sentence(option, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(["new", *option, "--", "kid gaming"], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("tiers", TIERS)
def test_malformed_tiers_are_a_sentence(tiers, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(["advise", "home2026-couple", "--tiers", tiers], capsys)


@pytest.mark.parametrize("gateways", GATEWAYS)
def test_malformed_gateways_are_a_sentence(gateways, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(["advise", "home2026-couple", "--gateways", gateways], capsys)


@pytest.mark.parametrize(
    ("option", "text"),
    [("--tiers", text) for text in TIER_FILES] + [("--gateways", text) for text in GATEWAY_FILES],
)
def test_a_malformed_file_of_choices_is_a_sentence(
    option, text, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(text)
    _refused(["advise", "home2026-couple", option, "own.toml"], capsys)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_wrong_option_is_a_sentence(option, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(["advise", "home2026-couple", *option], capsys)


@pytest.mark.parametrize("name", ["hectik", "", ".", "no.toml", "\x00", "boerlage2016-d7"])
@pytest.mark.parametrize("command", ["demand", "advise"])
def test_an_absent_household_is_a_sentence(command, name, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused([command, name], capsys)
