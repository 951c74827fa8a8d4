"""Completions that a shell offers after the first letters of a word."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from aqmlab.campaign import runner as campaigns
from aqmlab.scenario.column_names import TrialNames
from hypothesis import given
from hypothesis import strategies as st
from support.campaigns import campaign_of, grid


def offered(words):
    """The words that `aqmlab` offers to bash as completions of the last of `words`."""
    asked = {
        "_AQMLAB_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    program = Path(sys.executable).with_name("aqmlab")
    done = subprocess.run([program], env=os.environ | asked, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_commands_and_options_are_offered():
    assert offered(["aqmlab", "sh"]) == ["show"]
    assert offered(["aqmlab", "export", "--tea"]) == ["--teacup"]


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
