"""Questions answered in a process of their own, which can be stopped whatever it does.

DuckDB looks at the clock and counts its memory between one step and the next; within a function one
row may take minutes, or gigabytes. So time is kept from outside, by whoever may kill, and memory
by the kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path

from aqmlab.base.failures import LabError, RequestError
from aqmlab.base.processes import how_ended, python_path
from aqmlab.results.query.output import Note

READY = {"said": "ready"}
"""Is said when the tables are open, from when the time of an answer counts."""

DONE = {"said": "done"}
"""Is said when the answer is whole."""

_LONGEST_S = 86_400.0
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?([KMGT])(I?)B", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which folder, in which form, and what the answer may take."""

    folder: str
    sql: str
    form: str
    memory_bytes: int = 10**9
    seconds: float = 60.0


def memory_bytes(text: str) -> int:
    """A size as it is written for `--memory`; raises `RequestError`.

    >>> memory_bytes("500MB"), memory_bytes("1.5 GiB")
    (500000000, 1610612736)
    """
    found = _SIZE.fullmatch(text.strip())
    power = "KMGT".index(found[2].upper()) + 1 if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if size == 0:
        raise RequestError(f"--memory {text}: not a size", "write it as 500MB or 4GB")
    return size


def seconds(value: float) -> float:
    """How long an answer may take, as `--timeout` has it; raises `RequestError`."""
    if not 0.1 <= value <= _LONGEST_S:
        problem = f"--timeout {value:g}: not between 0.1 and {_LONGEST_S:g} seconds"
        raise RequestError(problem, "a question may take a day at most")
    return value


def answer(question: Question, note: Note) -> Generator[bytes, None, None]:
    """The bytes of the answer, as they are made; raises `LabError` with what helps."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aqmlab.results.query.answerer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Arrow's own allocators set a gigabyte apart before anything is asked.
        env={**os.environ, "PYTHONPATH": python_path(), "ARROW_DEFAULT_MEMORY_POOL": "system"},
        process_group=0,  # Ctrl-C is ours to answer
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    clock = threading.Timer(question.seconds, stop)
    try:
        done = yield from _heard(process, question, clock, note)
    finally:
        clock.cancel()
        process.kill()
        with contextlib.suppress(BrokenPipeError), process:  # which closes the pipes, and waits
            pass
    if done:
        return
    if late.is_set():
        problem = f"the answer takes longer than {question.seconds:g} s"
        raise RequestError(problem, "ask for less, or give more time with --timeout")
    problem = f"the process that answers {how_ended(process.returncode)}"
    raise RequestError(problem, "it may want memory: ask for less, or give more with --memory")


def _heard(
    process: subprocess.Popen[bytes], question: Question, clock: threading.Timer, note: Note
) -> Generator[bytes, None, bool]:
    """Yields what is answered; returns whether that is all of it."""
    from aqmlab.results.query.campaigns import find  # while the process starts

    assert process.stdin is not None and process.stdout is not None
    asked = (asdict(question), asdict(find(Path(question.folder))))
    with contextlib.suppress(BrokenPipeError):  # it died; what it left says no more
        process.stdin.writelines(json.dumps(line).encode() + b"\n" for line in asked)
        process.stdin.flush()
    for line in process.stdout:
        if not line.endswith(b"\n"):  # it was killed at a word
            break
        said = json.loads(line)
        if "bytes" in said:
            yield process.stdout.read(said["bytes"])
        elif "note" in said:
            note(said["note"])
        elif "failed" in said:
            kind = RequestError if said["status"] == RequestError.status else LabError
            raise kind(said["failed"], said["hint"])
        elif said == READY:
            clock.start()
        else:
            return bool(said == DONE)
    return False
