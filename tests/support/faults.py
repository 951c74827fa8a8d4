"""Runs campaigns with faults: a call that changes the folder kills the process or fails.

A trace of one run gives the calls: see `faults.c`.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from aqmlab.campaign.store import chunk_record
from aqmlab.campaign.store.folder import Folder

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Ended:
    """The result of a run: its exit status, its messages, its calls and its trials."""

    status: int
    said: str
    calls: tuple[str, ...]
    """Each call that changed the folder, with its number and its path."""
    ran: tuple[str, ...]
    """Each trial that has begun."""


def library(folder):
    """Compiles the library that makes faults; returns its path.

    Skips the test without Linux or a C compiler.
    """
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are made by a C library for Linux: apt-get install gcc")
    made = folder / "faults.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", made, HERE / "faults.c", "-ldl"]
    subprocess.run(command, check=True)
    return made


class Server:
    """A process that runs small campaigns, each in its own fork."""

    def __init__(self, library):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.small_campaign"],
            env=_environment() | {"LD_PRELOAD": str(library)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder, environment, said):
        """Runs a campaign; returns its status."""
        asked = {"folder": str(folder), "environment": environment, "said": str(said)}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Campaigns:
    """Runs one small campaign repeatedly, each time in a new process."""

    def __init__(self, place, server):
        self.place, self._server = place, server

    def run(self, folder, *, at=None, code=None):
        """Runs the campaign in `folder`, with a fault at call number `at` if `at` is given.

        The process is killed at this call, or this call and the later ones fail with errno `code`.
        Calls that free space do not fail.
        """
        log, runs = self.place / "calls", self.place / "runs"
        for path in (log, runs):
            path.unlink(missing_ok=True)
        said = self.place / "said"
        environment = self._own() | {"FAULT_FOLDER": str(folder), "FAULT_LOG": str(log)}
        if at is not None:
            environment |= {"FAULT_AT": str(at), "FAULT_ERRNO": str(code or 0)}
        status = self._server.run(folder, environment, said)
        return Ended(status, said.read_text(), _lines(log), _lines(runs))

    def kill(self, folder, after_s):
        """Runs the campaign in `folder` and kills it after some seconds."""
        with subprocess.Popen(shlex.split(self.command(folder)), env=self.environment()) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            process.kill()

    def command(self, folder):
        """The command that runs the campaign in `folder`."""
        return shlex.join([sys.executable, "-m", "tests.support.small_campaign", str(folder)])

    def environment(self):
        """The environment in which `command` runs."""
        return _environment() | self._own()

    def _own(self):
        return {
            "XDG_CACHE_HOME": str(self.place / "cache"),
            "FAKE_LOG": str(self.place / "runs"),
            "FAKE_MENDED": str(self.place / "mended"),
        }


def _environment():
    found = (ROOT, ROOT / "python", ROOT / "tests" / "support")
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, found))}


def recorded(folder):
    """The names of the trials with a recorded result in a folder."""
    found = Folder(folder)
    if not found.exists():
        return set()
    manifest = found.manifest()
    names = [entry.id for entry in manifest.trials]
    if manifest.complete:
        return set(names)
    own = {names[int(path.stem)] for path in folder.glob("trials/*.trial")}
    for path in folder.glob("trials/chunk=*.json"):
        record = chunk_record.read(path)
        if record is not None:
            first = 2 * int(path.stem.removeprefix("chunk="))
            own.update(names[first : first + 2])
    return own


def _lines(path):
    return tuple(path.read_text().splitlines()) if path.exists() else ()


def bytes_of(folder):
    """The bytes of every file in a folder, by name."""
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
