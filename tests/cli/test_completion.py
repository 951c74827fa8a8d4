"""Completions that a shell offers after the first letters of a word."""

import functools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.cli import status_of
from aqmlab.scenario.column_names import TrialNames
from hypothesis import given
from hypothesis import strategies as st
from support.campaigns import campaign_of, grid


@functools.cache
def script():
    """The script that makes bash complete commands of `aqmlab`."""
    program = Path(sys.executable).with_name("aqmlab")
    asked = {"_AQMLAB_COMPLETE": "source_bash"}
    done = subprocess.run(
        [program], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    return done.stdout


BREAKS = " \t\n\"'><=;|&(:"
"""The characters at which bash splits words, unless a user changes them."""


def offered(words, breaks=BREAKS):
    """The completions that bash receives for the last of `words`.

    If that word holds a character of `breaks`, bash completes only the part after the character.
    """
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    line = " ".join(words)
    call = "_aqmlab_completion aqmlab; printf '%s\\n' \"${COMPREPLY[@]}\""
    lines = f"{script()}\nCOMP_WORDBREAKS={shlex.quote(breaks)}\n{call}"
    asked = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    done = subprocess.run(
        [bash, "--norc", "-c", lines], env=os.environ | asked, capture_output=True, text=True
    )
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_commands_and_options_are_offered():
    assert offered(["aqmlab", "sh"]) == ["show"]
    assert offered(["aqmlab", "export", "--tea"]) == ["--teacup"]


HOME = """
duration = "1 s"
path = { rate = "10/1 Mbit/s" }
apps.probe = { kind = "ping" }
vary.path.qdisc = ["pie", "fq_pie"]
"""


def test_bash_replaces_its_part_of_a_word_with_equals_signs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("home.toml").write_text(HOME)
    assert status_of(["run", "home.toml", "--out", str(tmp_path / "out"), "--no-report"]) == 0
    words = ["aqmlab", "pcap", str(tmp_path / "out"), "--trial"]
    names = ["qdisc=pie,seed=1", "qdisc=fq_pie,seed=1"]
    assert offered([*words, "q"]) == names
    assert offered([*words, "qdisc="]) == ["pie,seed=1", "fq_pie,seed=1"]
    assert offered([*words, "qdisc=fq_pie,s"]) == ["fq_pie,seed=1"]
    assert offered([*words[:-1], "--trial="]) == names
    assert offered([*words, "qdisc=f"], BREAKS.replace("=", "")) == ["qdisc=fq_pie,seed=1"]
    assert offered([*words[:-1], "--trial=q"], BREAKS.replace("=", "")) == [
        f"--trial={name}" for name in names
    ]


def test_words_before_an_incomplete_word_may_hold_spaces_and_equals_signs():
    words = ["aqmlab", "run", "household", "--set", '"path.rtt=10 ms"', "--bri"]
    assert offered(words) == ["--brief"]


@pytest.mark.parametrize("option", ["export", "pcap"])
def test_trials_of_the_folder_are_offered(tmp_path, option):
    campaigns.run(campaign_of(grid(("pie",))), tmp_path / "out", jobs=1)
    words = ["aqmlab", option, str(tmp_path / "out"), "--trial", "tri"]
    assert offered(words) == ["trial-0", "trial-1"]
    assert offered([*words[:-1], "trial-1"]) == ["trial-1"]
    assert offered(["aqmlab", option, str(tmp_path), "--trial", "t"]) == []


_PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+,=-")


@given(st.dictionaries(st.text(max_size=40), st.text(max_size=40) | st.floats(), max_size=3))
def test_names_of_trials_need_no_quotes_in_a_shell(conditions):
    assert set(TrialNames().of(conditions, 1)) <= _PLAIN
