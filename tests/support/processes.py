"""Processes that tests start, such as a real Dask cluster on this machine."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aqmlab.campaign import dask_executor
from aqmlab.campaign import runner as campaigns

HERE = Path(__file__).parent
PACKAGE = Path(campaigns.__file__).parents[2]
SECONDS = 120
"""The time limit in seconds for the start of processes on a busy machine."""


def wait_for(condition, seconds=30):
    """Waits until a condition holds, and fails after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def run_python(code, given=""):
    """Runs Python code in a new process, which must end with status 0; returns what it prints.

    `given` is its standard input.
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Dask:
    """A Dask scheduler and its workers, each in its own process."""

    def __init__(self, folder):
        self._folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(self.file)
        )
        self.workers = []

    def add_worker(self, *more):
        more = [*more, "--nthreads", "1", "--no-nanny", "--scheduler-file", str(self.file)]
        self.workers.append(self._start("worker", *more, "--host", "127.0.0.1"))

    def address(self):
        # Dask writes the file in place, so the file may exist and be empty.
        wait_for(lambda: self.file.is_file() and self.file.read_bytes().endswith(b"}"), SECONDS)
        return json.loads(self.file.read_text())["address"]

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, *arguments):
        env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (HERE, PACKAGE)))}
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
            cwd=self._folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


@pytest.fixture
def dask(tmp_path, monkeypatch):
    """A Dask cluster with two workers."""
    monkeypatch.setattr(dask_executor, "_CONNECT_S", SECONDS)
    folder = tmp_path / "dask"
    folder.mkdir()
    started = Dask(folder)
    started.add_worker()
    started.add_worker()
    started.address()
    yield started
    started.close()
