"""A worker process: runs one trial after another and puts each on the disk.

It reads a JSON line per trial from standard input and answers with a JSON line on what was
its standard output; what the simulator prints goes to standard error. It is a program of its
own rather than a fork or a spawned copy of the caller, so that a trial that dies takes nothing
with it, threads of the caller do no harm, and scripts need no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from aqmlab import parts
from aqmlab.engines import load
from aqmlab.failures import DiskError, LabError, describe

Runner = Callable[..., dict[str, Any]]
"""What runs a trial: from its JSON to its digest and tables. Options are keyword arguments."""


def main() -> None:
    """Serves the caller until it closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to answer
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

        def say(answer: dict[str, Any]) -> None:
            answers.write(json.dumps(answer) + "\n")
            answers.flush()

        for line in iter(_listen().get, None):
            say(_serve(json.loads(line), lambda seconds: say({"passed": seconds})))


def _listen() -> queue.SimpleQueue[str | None]:
    """The lines that come in; when the caller is gone, so is this process, at once."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(source: TextIO) -> None:
        for line in source:
            lines.put(line)
        _end(sys.argv[1])

    threading.Thread(target=read, args=(sys.stdin,), daemon=True).start()
    return lines


def _end(scratch: str) -> None:
    """Ends this process and what it has started; removes what it would leave behind."""
    shutil.rmtree(scratch, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _serve(order: dict[str, Any], passed: Callable[[float], None]) -> dict[str, Any]:
    started = time.perf_counter()
    told = {"progress": passed} if order["tells"] else {}
    try:
        run: Runner = load(order["runner"])
        outcome = run(order["spec"], **order["options"], **told)
        data = parts.encode(outcome)
        parts.write_atomically(Path(order["path"]), data)
    except DiskError as error:
        return {"failed": "disk", "problem": error.problem, "hint": error.hint}
    except LabError as error:
        failed = "request" if error.status == 2 else "trial"
        return {"failed": failed, "problem": error.problem, "hint": error.hint}
    except ValueError as error:
        return {"failed": "trial", "problem": str(error)}
    except MemoryError:
        return {"failed": "trial", "problem": "not enough memory"}
    except BaseException as error:
        # A panic of the simulator is no `Exception`, and must fail its trial only.
        return {"failed": "trial", "problem": describe(error)}
    return {"digest": outcome["digest"], "seconds": time.perf_counter() - started}


if __name__ == "__main__":
    main()
