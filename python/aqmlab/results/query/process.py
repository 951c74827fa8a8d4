"""SQL queries in a separate process that can be stopped at any time.

DuckDB checks the clock and its memory between steps only. A function within a step may take minutes
or gigabytes for one row. The parent process therefore enforces the time limit, and the kernel
enforces the memory limit.
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

from aqmlab.base.errors import shown
from aqmlab.base.failures import LabError, RequestError
from aqmlab.base.processes import how_ended, python_path
from aqmlab.results.query.campaigns import find
from aqmlab.results.query.output import Note
from aqmlab.results.query.question import DONE, READY, Question
from aqmlab.results.query.sources import CampaignTables

_LONGEST_S = 86_400.0
_TRIES = 5
"""The maximum number of attempts to answer a query."""

_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?([KMGT])(I?)B", re.IGNORECASE)


def memory_bytes(text: str) -> int:
    """The size in `--memory`, in bytes; raises `RequestError` if it is not a size.

    >>> memory_bytes("500MB"), memory_bytes("1.5 GiB")
    (500000000, 1610612736)
    """
    found = _SIZE.fullmatch(text.strip())
    power = "KMGT".index(found[2].upper()) + 1 if found else 0
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** power) if found else 0
    if size == 0:
        problem = f"--memory {shown(text)}: not a size from 1KB to 999999TB"
        raise RequestError(problem, "give a size such as 500MB or 4GB")
    return size


def seconds(value: float) -> float:
    """The time limit in `--timeout`, in seconds; raises `RequestError` if out of range."""
    if not 0.1 <= value <= _LONGEST_S:
        problem = f"--timeout {value:g}: not between 0.1 and {_LONGEST_S:g} seconds"
        raise RequestError(problem, "a query may take at most one day")
    return value


@dataclass(slots=True)
class _Try:
    """The outcome of one attempt to answer a query."""

    found: CampaignTables | None = None
    """The files to query; `None` until they are found."""
    is_answered: bool = False
    """Whether a part of the answer has been passed to the caller."""


def answer(question: Question, note: Note) -> Generator[bytes, None, None]:
    """Yields the bytes of the answer as they arrive; raises `LabError` with a hint.

    Repeats a query that failed before the first byte of the answer if a campaign has since replaced
    files.
    """
    for _ in range(_TRIES - 1):
        attempt = _Try()
        try:
            yield from _answer(question, note, attempt)
        except RequestError:
            if attempt.is_answered or attempt.found is None:
                raise
            if find(Path(question.folder)) == attempt.found:
                raise
        else:
            return
    yield from _answer(question, note, _Try())


def _answer(question: Question, note: Note, attempt: _Try) -> Generator[bytes, None, None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "aqmlab.results.query.answerer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Arrow's own allocators reserve a gigabyte before the first query.
        env={**os.environ, "PYTHONPATH": python_path(), "ARROW_DEFAULT_MEMORY_POOL": "system"},
        process_group=0,  # The parent process handles Ctrl-C.
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    clock = threading.Timer(question.seconds, stop)
    try:
        done = yield from _heard(process, question, clock, note, attempt)
    finally:
        clock.cancel()
        process.kill()
        # The context closes the pipes and waits.
        with contextlib.suppress(BrokenPipeError), process:
            pass
    if done:
        return
    if late.is_set():
        problem = f"the answer takes longer than {question.seconds:g} s"
        raise RequestError(problem, "narrow the query, or raise the limit with --timeout")
    problem = f"the query process {how_ended(process.returncode)}"
    raise RequestError(problem, "it may need more memory: narrow the query, or raise --memory")


def _heard(
    process: subprocess.Popen[bytes],
    question: Question,
    clock: threading.Timer,
    note: Note,
    attempt: _Try,
) -> Generator[bytes, None, bool]:
    """Yields pieces of the answer; returns whether the answer is complete.

    Finds the tables, sends the query to `process`, passes notes to `note`, and starts `clock` when
    the tables are open. Raises `LabError` for an error that `process` reports.
    """
    assert process.stdin is not None and process.stdout is not None
    # The process starts meanwhile.
    attempt.found = find(Path(question.folder))
    asked = (asdict(question), asdict(attempt.found))
    # If the process has died, the caller reports how it ended.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.writelines(json.dumps(line).encode() + b"\n" for line in asked)
        process.stdin.flush()
    for line in process.stdout:
        if not line.endswith(b"\n"):  # The process was killed within a line.
            break
        said = json.loads(line)
        if "bytes" in said:
            attempt.is_answered = True
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
