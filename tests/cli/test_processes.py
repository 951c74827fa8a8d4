"""Commands as processes: Ctrl-C, limits of the system, clusters, closed pipes."""

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import aqmlab
import pytest


def in_a_process(*arguments, **more):
    package = Path(aqmlab.__file__).parent.parent
    command = [sys.executable, "-m", "aqmlab", *arguments]
    env = {**os.environ, "PYTHONPATH": str(package), "NO_COLOR": "1"}
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(home):
    arguments = ["run", "home.toml", "--seeds", "40", "--duration", "20 s", "--no-report"]
    arguments += ["--set", "path.rate=50/10 Mbit/s", "--out", "out", "--jobs", "2"]
    process = in_a_process(*arguments, cwd=home, start_new_session=True)
    until = time.monotonic() + 60
    while len(list(home.glob("out/trials/*.trial"))) < 3:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # a terminal also signals the whole group
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert errors.rstrip().endswith("hint: the same command continues from here")
    assert "Traceback" not in errors
    finished = len(list(home.glob("out/trials/*.trial")))
    assert 3 <= finished < 80
    assert not list(home.glob("out/trials/.*"))

    process = in_a_process(*arguments, cwd=home)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert f"{finished} of 80 trials were finished before" in errors


INTERRUPTED = """
import os, signal
from aqmlab import _core, cli
run = _core.run
def interrupted(*arguments, **more):
    os.kill(os.getpid(), signal.SIGINT)
    return run(*arguments, **more)
_core.run = interrupted
cli.main()
"""


def test_ctrl_c_ends_a_capture_at_once_and_leaves_nothing(home):
    more = ["--duration", "3000 s", "--set", "path.rate=1000/500 Mbit/s", "--name", "x"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "pcap", "home.toml", *more],
        env={**os.environ, "PYTHONPATH": str(Path(aqmlab.__file__).parent.parent)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 130 and done.stderr.endswith("error: interrupted\n")
    assert [path.name for path in home.iterdir()] == ["home.toml"]


def test_more_jobs_than_there_may_be_files_are_fewer_jobs(home):
    arguments = ["run", "home.toml", "--seeds", "15", "--jobs", "30", "--out", "out", "--no-report"]
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (90, 90))
    process = in_a_process(*arguments, cwd=home, preexec_fn=few)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0 and "30/30 trials" in errors, errors


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("tcp://", "missing port number"),
        ("nonsense", "missing port number in address 'nonsense'"),
        ("ssh://127.0.0.1:1", "unknown address scheme 'ssh'"),
        ("pipe.json", "pipe.json: it is not a regular file"),
        ("empty.json", "the file names no `address`"),
        ("tcp://x:y", "`tcp://x:y` is not an address with a port number"),
        ("odd.json", "missing port number in address 'odd'"),
    ],
)
def test_an_address_of_no_cluster_is_said_in_words_and_no_more(home, address, problem):
    pytest.importorskip("distributed")
    os.mkfifo(home / "pipe.json")
    (home / "empty.json").write_text("[]")
    (home / "odd.json").write_text('{"address": "odd"}')
    process = in_a_process("run", "home.toml", "--cluster", address, cwd=home)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.startswith(f"error: --cluster {address}: no scheduler can be reached: ")
    assert problem in errors and "Traceback" not in errors


def test_nobody_minds_a_closed_pipe(home):
    for arguments in (["list", "disciplines"], ["--version"]):
        process = in_a_process(*arguments, cwd=home)
        process.stdout.close()
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (1, ""), arguments


def test_ctrl_c_while_the_modules_are_loaded_ends_without_a_traceback(tmp_path):
    (tmp_path / "typer.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    package = Path(aqmlab.__file__).parent.parent
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from aqmlab.cli import main; main(['--version'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{package}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
