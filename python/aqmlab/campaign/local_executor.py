"""Processes on this machine that run trials, as a standard executor."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from aqmlab.base.processes import how_ended, is_stopped, python_path
from aqmlab.base.scratch import Scratch
from aqmlab.campaign.task import STOPPED, Answer, Moved, Order, perform

_CRASH_NOTE = 200

_AHEAD = 2
"""Trials handed out per worker, so that none waits for the next."""


_MOST_WORKERS = 1024
"""On one machine, whatever is asked for."""

_HANDLES, _OTHER_HANDLES = 6, 64
"""Open files that a worker takes here, also while it is started, and that all else may take."""


class Processes(Executor):
    """Worker processes, each driven by a thread of its own.

    Unlike those of `ProcessPoolExecutor`, they survive each other: of a process that dies, only
    the trial is lost. They run nothing but trials.
    """

    def __init__(self, jobs: int) -> None:
        jobs = _affordable(jobs)
        self._pool = Pool()
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="aqmlab")
        self.room = jobs * _AHEAD

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs `perform(order)` in a process, or `perform(order, moved)`."""
        if fn is not perform:
            raise TypeError(f"these processes run trials, not {fn!r}")
        return self._threads.submit(self._pool.run, *args, **kwargs)

    def check(self) -> None:
        """Replaces workers that somebody has stopped; called now and then while none answers."""
        self._pool.replace_stopped()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends all processes at once, also in the middle of a trial."""
        self._pool.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._pool.close()


class Worker:
    """A process that runs trials, one at a time; a new one is started whenever it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._scratch = Scratch()  # for what a worker that is killed leaves behind
        self._was_stopped = False

    def run(self, order: Order, moved: Moved = lambda _: None) -> Answer:
        """Runs a trial."""
        process = self._running()
        if process is None:
            return STOPPED
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                said = json.loads(line)
                size = said.pop("bytes")
                data = process.stdout.read(size)
                if len(data) < size:
                    break
                if "passed" not in said:
                    return Answer(data, **said)
                moved(said["passed"])
        except (OSError, ValueError):  # it died, maybe in the middle of an answer
            pass
        return self._died(process)

    def replace_stopped(self) -> None:
        """Ends the process if it is stopped now and was when last asked; another takes its place.

        A process that somebody stops (SIGSTOP) neither ends nor answers, and the campaign would
        wait for it for good.
        """
        with self._lock:
            before, self._was_stopped = self._was_stopped, False
            if self._process is not None:
                self._was_stopped = is_stopped(self._process.pid)
                if before and self._was_stopped:
                    _kill(self._process)

    def kill(self) -> None:
        """Ends the process and what it has started at once, and starts no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill(self._process)

    def close(self) -> None:
        """Lets go of everything; only after `kill`, and when nobody waits in `run`."""
        if self._process is not None:
            self._process.wait()
            _close_pipes(self._process)
        self._errors.close()
        self._scratch.cleanup()

    def _running(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._process is None and not self._stopped:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "aqmlab.campaign.worker", self._scratch.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env=_environment(self._scratch.name),
                    process_group=0,  # so that a virtual machine ends with its worker
                )
            return None if self._stopped else self._process

    def _died(self, process: subprocess.Popen[bytes]) -> Answer:
        code = process.wait()
        with self._lock:
            self._process = None
            if self._stopped:
                return STOPPED
        _close_pipes(process)
        problem = f"the process that ran it {how_ended(code)}"
        note = self._last_words()
        return Answer(failed="died", problem=f"{problem}: {note}" if note else problem)

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        self._errors.seek(0)
        self._errors.truncate()
        spoken = [line.strip() for line in lines if line.strip()]
        return spoken[-1][:_CRASH_NOTE] if spoken else ""


class Pool:
    """One worker for each thread that asks."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[Worker] = []
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, order: Order, moved: Moved = lambda _: None) -> Answer:
        """Runs a trial in this thread's worker; `moved` is told how far it is."""
        with self._lock:
            if self._stopped:
                return STOPPED
            if not hasattr(self._own, "worker"):
                self._own.worker = Worker()
                self._all.append(self._own.worker)
            worker: Worker = self._own.worker
        return worker.run(order, moved)

    def replace_stopped(self) -> None:
        """Replaces workers that somebody has stopped."""
        with self._lock:
            workers = list(self._all)
        for worker in workers:
            worker.replace_stopped()

    def kill(self) -> None:
        """Ends all workers at once, also those in the middle of a trial."""
        with self._lock:
            self._stopped = True
            workers = list(self._all)
        for worker in workers:
            worker.kill()

    def close(self) -> None:
        """Lets go of all workers; only after `kill`, and when no thread waits in `run`."""
        for worker in self._all:
            worker.close()


def _affordable(jobs: int) -> int:
    """As many of `jobs` workers as there may be open files for."""
    jobs = min(jobs, _MOST_WORKERS)
    try:
        import resource
    except ImportError:  # Windows
        return jobs
    files = resource.RLIMIT_NOFILE
    now, most = resource.getrlimit(files)
    wanted = _OTHER_HANDLES + jobs * _HANDLES
    if now == resource.RLIM_INFINITY or wanted <= now:
        return jobs
    mine = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(files, (mine, most))
        now = mine
    return max(1, (now - _OTHER_HANDLES) // _HANDLES)


def _environment(scratch: str) -> dict[str, str]:
    # A worker is one core's worth of work; libraries that start threads would only contend.
    return {
        **os.environ,
        "PYTHONPATH": python_path(),
        "OMP_NUM_THREADS": "1",
        "TMPDIR": scratch,
    }


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # Windows, where no worker starts others
        process.kill()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
