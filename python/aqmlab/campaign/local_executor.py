"""An executor that runs trials in processes on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict
from types import TracebackType

from aqmlab.base.processes import (
    how_ended,
    is_stopped,
    last_words,
    out_of_memory_kills,
    python_path,
)
from aqmlab.base.scratch import Scratch
from aqmlab.campaign.executor import AHEAD, ATTEMPTS
from aqmlab.campaign.task import STOPPED, Answer, Moved, Order

_CRASH_NOTE = 200

_MOST_WORKERS = 1024
"""The maximum number of workers on one machine, even if more are requested."""

_HANDLES, _OTHER_HANDLES = 6, 64
"""The maximum number of open files of this process: for each worker, and for everything else."""


class Processes(AbstractContextManager["Processes"]):
    """Worker processes, each driven by its own thread.

    Unlike in `ProcessPoolExecutor`, a process that dies loses only its trial and does not affect
    other processes. The processes run only trials.
    """

    attempts = ATTEMPTS
    is_remote = False

    def __init__(self, jobs: int) -> None:
        jobs = _affordable(jobs)
        self._pool = Pool()
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="aqmlab")
        self.room = jobs * AHEAD

    def submit(self, order: Order, moved: Moved) -> Future[Answer]:
        """Runs a trial in the next free process. `moved` receives the trial's progress."""
        return self._threads.submit(self._pool.run, order, moved)

    def check(self) -> None:
        """Kills stopped workers, so that they are replaced: see `Worker.replace_stopped`."""
        self._pool.replace_stopped()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """Kills all processes immediately, even during a trial."""
        self._pool.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._pool.close()


class Worker:
    """A process that runs one trial at a time, and is replaced after its death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._oom_kills = 0
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._scratch = Scratch()  # a killed worker leaves files
        self._was_stopped = False

    def run(self, order: Order, moved: Moved = lambda _: None) -> Answer:
        """Runs a trial in the process, which it starts if necessary. `moved` receives the progress.

        If the process dies, the answer reports its death.
        """
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
        except (OSError, ValueError):  # the process died, possibly during an answer
            pass
        return self._died(process)

    def replace_stopped(self) -> None:
        """Kills the process if it is stopped at two successive calls.

        The next trial then starts another process. A stopped process (SIGSTOP) does not end and
        does not answer, so the campaign would wait forever.
        """
        with self._lock:
            before, self._was_stopped = self._was_stopped, False
            if self._process is not None:
                self._was_stopped = is_stopped(self._process.pid)
                if before and self._was_stopped:
                    _kill(self._process)

    def kill(self) -> None:
        """Kills the process and its children immediately, and prevents the start of another."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill(self._process)

    def close(self) -> None:
        """Releases all resources. Call it only after `kill`, when no thread waits in `run`."""
        if self._process is not None:
            self._process.wait()
            _close_pipes(self._process)
        self._errors.close()
        self._scratch.cleanup()

    def _running(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._process is None and not self._stopped:
                self._oom_kills = out_of_memory_kills()
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "aqmlab.campaign.worker", self._scratch.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env=_environment(self._scratch.name),
                    process_group=0,  # a virtual machine must end with its worker
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
        if code == -signal.SIGKILL and out_of_memory_kills() > self._oom_kills:
            problem += ", probably for lack of memory"
        note = self._last_words()
        return Answer(failed="died", problem=f"{problem}: {note}" if note else problem)

    def _last_words(self) -> str:
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        self._errors.seek(0)
        self._errors.truncate()
        return last_words(text)[:_CRASH_NOTE]


class Pool:
    """A pool with one worker for each calling thread."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[Worker] = []
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, order: Order, moved: Moved = lambda _: None) -> Answer:
        """Runs a trial in this thread's worker. `moved` receives the progress."""
        with self._lock:
            if self._stopped:
                return STOPPED
            if not hasattr(self._own, "worker"):
                self._own.worker = Worker()
                self._all.append(self._own.worker)
            worker: Worker = self._own.worker
        return worker.run(order, moved)

    def replace_stopped(self) -> None:
        """Calls `Worker.replace_stopped` for all workers."""
        with self._lock:
            workers = list(self._all)
        for worker in workers:
            worker.replace_stopped()

    def kill(self) -> None:
        """Kills all workers immediately, even during a trial, and refuses further trials."""
        with self._lock:
            self._stopped = True
            workers = list(self._all)
        for worker in workers:
            worker.kill()

    def close(self) -> None:
        """Releases all workers. Call it only after `kill`, when no thread waits in `run`."""
        for worker in self._all:
            worker.close()


def _affordable(jobs: int) -> int:
    """The number of workers, at most `jobs`, that the limit on open files permits.

    Raises the soft limit of this process if necessary and possible.
    """
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
    # A worker uses one core. Threads of libraries would compete with other workers.
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
    else:  # Windows, where no worker starts processes
        process.kill()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
