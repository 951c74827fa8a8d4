"""However much is asked for, it is read or refused with a message, soon and in little memory."""

import os

import pytest
from aqmlab import plan
from aqmlab.errors import ScenarioError
from aqmlab.studies import study

HOME = """\
[path]
rate = "12/1 Mbit/s"
[apps.up]
kind = "bulk"
"""


def refusal(path, **changes):
    """The message with which a file is refused."""
    with pytest.raises(ScenarioError) as caught:
        plan.load(path, **changes)
    return str(caught.value)


def sparse(path):
    """A file that is said to hold 200 GB, and takes no room."""
    with path.open("wb") as file:
        file.truncate(200 * 10**9)


@pytest.mark.parametrize("suffix", [".toml", ".py"])
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.mkdir(), "cannot be read: is a directory"),
        (sparse, "larger than 1000000 bytes"),
        (lambda path: path.write_text("# é" * 300_000), "larger than 1000000 bytes"),
        (lambda path: path.write_bytes(b"\xff"), "this is not text in UTF-8"),
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
    assert "`base.py` cannot be read: larger than 1000000 bytes" in refusal(tmp_path / "home.py")
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(ScenarioError, match="is not a regular file"):
        study._read(tmp_path / "study.toml")
