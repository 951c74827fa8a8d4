"""A process that answers one SQL query and may be killed while it runs.

It reads the query and the tables' locations from standard input, one line of JSON each. It writes
lines of JSON to its original standard output. A line with `bytes` is followed by that many bytes of
the answer. It is a separate program for the same reasons as `campaign.worker`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aqmlab.base.failures import LabError, unexpected
from aqmlab.results.query import output
from aqmlab.results.query.question import DONE, READY, Question
from aqmlab.results.query.session import Session
from aqmlab.results.query.sources import CampaignTables

_PIECE_BYTES = 1 << 16
"""The maximum size of the pieces in which an answer is sent."""

_STACK_BYTES = 8 << 20

Say = Callable[..., None]


def main() -> None:
    """Answers the caller's query and ends the process."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

        def say(head: Mapping[str, object], data: bytes = b"") -> None:
            answers.write(json.dumps(head).encode() + b"\n" + data)
            answers.flush()

        _import_heavy()  # The caller is still locating the tables.
        asked, where = sys.stdin.readline(), sys.stdin.readline()
        if not where:  # The caller has ended.
            return
        question, found = Question(**json.loads(asked)), CampaignTables(**json.loads(where))
        threading.Thread(target=_end_with_caller, daemon=True).start()
        say(_tried(question, found, say))
    os._exit(0)  # A thread of Arrow that releases a Python object at the end aborts the process.


def _import_heavy() -> None:
    """Imports DuckDB and, from version 18, pyarrow without numpy.

    The import of numpy takes a third of the start-up time.
    """
    _import_arrow()
    import duckdb  # noqa: F401


def _import_arrow() -> None:
    if int(version("pyarrow").split(".")[0]) < 18:  # These versions need numpy.
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401
    finally:
        del sys.modules["numpy"]


def _tried(question: Question, found: CampaignTables, say: Say) -> Mapping[str, object]:
    try:
        _answer(question, found, say)
    except LabError as error:
        return _failed(error)
    except Exception as error:
        if os.environ.get("AQMLAB_TRACEBACK") == "1":
            traceback.print_exc()
        return _failed(unexpected(error))
    return DONE


def _failed(error: LabError) -> Mapping[str, object]:
    return {"failed": error.problem, "hint": error.hint, "status": error.status}


def _answer(question: Question, found: CampaignTables, say: Say) -> None:
    def note(text: str) -> None:
        say({"note": text})

    folder, memory_bytes = Path(question.folder), question.memory_bytes
    with Session(folder, found, memory_bytes=memory_bytes) as session:
        if session.warning:
            note(session.warning)
        say(READY)
        _bound_memory(question.memory_bytes)
        with session.ask(question.sql) as answer, io.BufferedWriter(_Pieces(say)) as target:
            output.write(answer, question.form, target, note)


def _bound_memory(size_bytes: int) -> None:
    """Limits this process to `size_bytes` beyond its present memory, if the kernel supports that.

    The limit includes an allowance for the stacks of later threads. DuckDB counts the blocks that
    it keeps, but not the rows under construction. The limit is not on address space because threads
    reserve much more address space than they use.
    """
    import pyarrow as pa

    with suppress(ImportError, OSError, ValueError):  # Only Linux accounts memory this way.
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        # an allowance for the stacks of threads that start later
        stacks = (pa.cpu_count() + pa.io_thread_count()) * _STACK_BYTES
        limit = pages * resource.getpagesize() + stacks + size_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _end_with_caller() -> None:
    """Ends this process when the caller ends and its pipe closes."""
    sys.stdin.read()
    os._exit(1)


class _Pieces(io.RawIOBase):
    """A writable file that sends the answer to the caller in pieces."""

    def __init__(self, say: Say) -> None:
        self._say, self._size = say, 0

    def writable(self) -> bool:
        """Always returns `True`."""
        return True

    def tell(self) -> int:
        """The number of bytes sent so far."""
        return self._size

    def write(self, data: Any) -> int:
        """Sends at most one piece of `data`. Returns the number of bytes sent."""
        piece = bytes(memoryview(data)[:_PIECE_BYTES])
        self._say({"bytes": len(piece)}, piece)
        self._size += len(piece)
        return len(piece)


if __name__ == "__main__":
    main()
